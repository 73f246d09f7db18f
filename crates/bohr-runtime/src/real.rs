//! The C library's own functions under the names that the runtime shadows.

use core::{
    ffi::CStr,
    sync::atomic::{AtomicUsize, Ordering},
};

/// The next definition of a symbol behind ours, looked up once per place of use.
///
/// ```ignore
/// let unlock = real!(fn pthread_mutex_unlock(*mut c_void) -> i32);
/// ```
macro_rules! real {
    (fn $name:ident($($argument:ty),* $(,)?) $(-> $result:ty)?) => {{
        static FOUND: core::sync::atomic::AtomicUsize = core::sync::atomic::AtomicUsize::new(0);
        const NAME: &core::ffi::CStr =
            match core::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => panic!("a name holds no zero byte"),
            };
        let address = $crate::real::find(&FOUND, NAME);
        // SAFETY: the C library's function of this name has this type.
        unsafe {
            core::mem::transmute::<usize, unsafe extern "C-unwind" fn($($argument),*) $(-> $result)?>(address)
        }
    }};
}
pub(crate) use real;

/// Version of the condition functions since 2003; the symbols without a version
/// lead to their predecessors.
const CONDITIONS: &CStr = c"GLIBC_2.3.2";

/// The address of the next definition of `name`, remembered in `found`.
pub fn find(found: &AtomicUsize, name: &CStr) -> usize {
    match found.load(Ordering::Relaxed) {
        0 => {
            let address = look_up(name);
            found.store(address, Ordering::Relaxed);
            address
        }
        address => address,
    }
}

fn look_up(name: &CStr) -> usize {
    // SAFETY: look-ups with valid names.
    let address = unsafe {
        match libc::dlvsym(libc::RTLD_NEXT, name.as_ptr(), CONDITIONS.as_ptr()) as usize {
            0 => libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) as usize,
            address => address,
        }
    };
    assert!(address != 0, "the C library has no function {name:?}");
    address
}
