//! The C library's own functions under the names that are shadowed here.

use core::ffi::{CStr, c_void};
use core::sync::atomic::{AtomicPtr, Ordering};

/// The next definition of a symbol behind ours, looked up once per place of use.
macro_rules! real {
    (fn $name:ident($($argument:ty),* $(,)?) $(-> $result:ty)?) => {{
        static FOUND: core::sync::atomic::AtomicPtr<core::ffi::c_void> =
            core::sync::atomic::AtomicPtr::new(core::ptr::null_mut());
        const NAME: &core::ffi::CStr =
            match core::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => panic!("a name holds no zero byte"),
            };
        let address = $crate::real::find(&FOUND, NAME);
        // SAFETY: the C library's function of this name has this type.
        unsafe {
            core::mem::transmute::<
                *mut core::ffi::c_void,
                unsafe extern "C-unwind" fn($($argument),*) $(-> $result)?,
            >(address)
        }
    }};
}
pub(crate) use real;

/// Version of the condition functions since 2003; the symbols without a version
/// lead to their predecessors.
const CONDITIONS: &CStr = c"GLIBC_2.3.2";

/// The address of the next definition.
///
/// # Panics
/// If the C library does not have it: then nobody can have called it.
#[inline]
pub fn find(found: &AtomicPtr<c_void>, name: &CStr) -> *mut c_void {
    let known = found.load(Ordering::Relaxed);
    if !known.is_null() {
        return known;
    }
    let next = look_up(name);
    assert!(!next.is_null(), "the C library has no function {name:?}");
    found.store(next, Ordering::Relaxed);
    next
}

#[cold]
fn look_up(name: &CStr) -> *mut c_void {
    // SAFETY: terminated names.
    unsafe {
        if name.to_bytes().starts_with(b"pthread_cond_") {
            let newer = libc::dlvsym(libc::RTLD_NEXT, name.as_ptr(), CONDITIONS.as_ptr());
            if !newer.is_null() {
                return newer;
            }
        }
        libc::dlsym(libc::RTLD_NEXT, name.as_ptr())
    }
}
