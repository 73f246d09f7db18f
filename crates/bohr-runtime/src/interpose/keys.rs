//! Thread-specific data. Values stay where the C library keeps them, in each
//! fiber's own thread-local storage; the runtime only remembers destructors,
//! since no fiber's thread ever ends for the C library.

use super::interpose;
use crate::{carrier::CarrierOnly, real::real};
use core::{cell::RefCell, ffi::c_void};

type Destructor = unsafe extern "C-unwind" fn(*mut c_void);

/// `PTHREAD_KEYS_MAX`.
const KEYS: usize = 1024;
/// `PTHREAD_DESTRUCTOR_ITERATIONS`.
const ROUNDS: usize = 4;

static DESTRUCTORS: CarrierOnly<RefCell<[Option<Destructor>; KEYS]>> =
    CarrierOnly::new(RefCell::new([None; KEYS]));

fn destructor(key: usize) -> Option<Destructor> {
    DESTRUCTORS.borrow()[key]
}

/// Runs the destructors of the thread that ends.
pub fn destroy() {
    let any = |_| (0..KEYS).filter_map(destroy_one).count() > 0;
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
                DESTRUCTORS.borrow_mut()[*key as usize] = destructor;
            }
            error
        }
    }

    fn pthread_key_delete(key: libc::pthread_key_t) -> i32 {
        if let Some(slot) = DESTRUCTORS.borrow_mut().get_mut(key as usize) {
            *slot = None;
        }
        let delete = real!(fn pthread_key_delete(libc::pthread_key_t) -> i32);
        // SAFETY: passes on what the program passed.
        unsafe { delete(key) }
    }
}
