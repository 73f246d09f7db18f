//! Thread-specific data. Values stay where the C library keeps them, in each
//! fiber's own thread-local storage; the runtime only remembers destructors,
//! since no fiber's thread ever ends for the C library.

use super::interpose;
use crate::{carrier::CarrierOnly, real::real};
use alloc::vec::Vec;
use core::{cell::RefCell, ffi::c_void};

/// Called with the value that a thread leaves behind.
pub type Destructor = unsafe extern "C-unwind" fn(*mut c_void);

/// `PTHREAD_DESTRUCTOR_ITERATIONS`.
const ROUNDS: usize = 4;

/// By key; as long as the highest key with a destructor wants it.
#[unsafe(link_section = "bohr_hot")]
static DESTRUCTORS: CarrierOnly<RefCell<Vec<Option<Destructor>>>> =
    CarrierOnly::new(RefCell::new(Vec::new()));

fn destructor(key: usize) -> Option<Destructor> {
    DESTRUCTORS.borrow().get(key).copied().flatten()
}

/// Notes the destructor of a key.
pub fn remember(key: usize, destructor: Option<Destructor>) {
    let mut destructors = DESTRUCTORS.borrow_mut();
    if destructors.len() <= key && destructor.is_some() {
        destructors.resize(key + 1, None);
    }
    if let Some(slot) = destructors.get_mut(key) {
        *slot = destructor;
    }
}

/// Runs the destructors of the thread that ends.
pub fn destroy() {
    let keys = || 0..DESTRUCTORS.borrow().len();
    let any = |_| keys().filter_map(destroy_one).count() > 0;
    // A destructor may set values again; there is an end to that.
    (0..ROUNDS).take_while(|&round| any(round)).count();
}

fn destroy_one(key: usize) -> Option<()> {
    let destructor = destructor(key)?;
    let key = key as libc::pthread_key_t;
    // SAFETY: the key exists, or the C library says that it has no value.
    unsafe {
        let value = libc::pthread_getspecific(key);
        if value.is_null() {
            return None;
        }
        libc::pthread_setspecific(key, core::ptr::null());
        destructor(value);
    }
    Some(())
}

interpose! {
    fn pthread_key_create(key: *mut libc::pthread_key_t, destructor: Option<Destructor>) -> i32 {
        let create = real!(fn pthread_key_create(*mut libc::pthread_key_t, Option<Destructor>) -> i32);
        // SAFETY: passes on what the program passed, and reads the key it wanted.
        unsafe {
            let error = create(key, destructor);
            if error == 0 {
                remember(*key as usize, destructor);
            }
            error
        }
    }

    fn pthread_key_delete(key: libc::pthread_key_t) -> i32 {
        remember(key as usize, None);
        let delete = real!(fn pthread_key_delete(libc::pthread_key_t) -> i32);
        // SAFETY: passes on what the program passed.
        unsafe { delete(key) }
    }
}
