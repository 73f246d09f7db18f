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
        let address = $crate::real::find($crate::real::entry!($name));
        // SAFETY: the C library's function of this name has this type.
        unsafe {
            core::mem::transmute::<usize, unsafe extern "C-unwind" fn($($argument),*) $(-> $result)?>(address)
        }
    }};
}

/// The same of a function that younger C libraries have.
macro_rules! real_if_any {
    (fn $name:ident($($argument:ty),* $(,)?) $(-> $result:ty)?) => {{
        $crate::real::known($crate::real::entry!($name)).map(|address| {
            // SAFETY: as above.
            unsafe {
                core::mem::transmute::<usize, unsafe extern "C-unwind" fn($($argument),*) $(-> $result)?>(address)
            }
        })
    }};
}

/// The entry of a function in the table by which the template looks it up for all its
/// runs.
macro_rules! entry {
    ($name:ident) => {{
        static FOUND: core::sync::atomic::AtomicUsize = core::sync::atomic::AtomicUsize::new(0);
        const NAME: &core::ffi::CStr =
            match core::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes())
            {
                Ok(name) => name,
                Err(_) => panic!("a name holds no zero byte"),
            };
        #[used]
        #[unsafe(link_section = "bohr_real")]
        static ENTRY: $crate::real::Entry = $crate::real::Entry {
            name: NAME.as_ptr(),
            found: &FOUND,
        };
        &ENTRY
    }};
}
pub(crate) use {entry, real, real_if_any};

/// Version of the condition functions since 2003; the symbols without a version
/// lead to their predecessors.
const CONDITIONS: &CStr = c"GLIBC_2.3.2";

/// A function that is used somewhere.
#[repr(C)]
pub struct Entry {
    /// Its name.
    pub name: *const core::ffi::c_char,
    /// Its address, once it has been looked up.
    pub found: &'static AtomicUsize,
}

/// The address of the next definition.
#[inline]
pub fn find(entry: &Entry) -> usize {
    match entry.found.load(Ordering::Relaxed) {
        0 => {
            // SAFETY: names are C strings that stay.
            let name = unsafe { CStr::from_ptr(entry.name) };
            let address =
                look_up(name).unwrap_or_else(|| panic!("the C library has no function {name:?}"));
            entry.found.store(address, Ordering::Relaxed);
            address
        }
        address => address,
    }
}

/// The address of the next definition, if the template has found one.
pub fn known(entry: &Entry) -> Option<usize> {
    match entry.found.load(Ordering::Relaxed) {
        0 => None,
        address => Some(address),
    }
}

// SAFETY: names are constants.
unsafe impl Sync for Entry {}

unsafe extern "C" {
    // The linker defines these for sections whose names are identifiers.
    #[link_name = "__start_bohr_real"]
    static FIRST: Entry;
    #[link_name = "__stop_bohr_real"]
    static END: Entry;
}

/// Looks up all functions of the table; what the program's libraries do not have
/// stays unknown until it is needed.
pub fn find_all() {
    let mut entry = &raw const FIRST;
    while entry < &raw const END {
        // SAFETY: the section holds whole entries between the two.
        unsafe {
            if let Some(address) = look_up(CStr::from_ptr((*entry).name)) {
                (*entry).found.store(address, Ordering::Relaxed);
            }
            entry = entry.add(1);
        }
    }
}

/// The value of a variable of one word that the C library has under this name, if it does.
pub fn constant(name: &CStr) -> Option<usize> {
    // SAFETY: a look-up with a valid name, of a variable that the library never changes.
    unsafe {
        let address = libc::dlsym(libc::RTLD_NEXT, name.as_ptr());
        address.cast::<usize>().as_ref().copied()
    }
}

/// A look-up that fails allocates and frees the words for it, which must not
/// happen inside an allocator: a version is asked for only where there are two.
fn look_up(name: &CStr) -> Option<usize> {
    // SAFETY: look-ups with valid names.
    let address = unsafe {
        let mut address = core::ptr::null_mut();
        if name.to_bytes().starts_with(b"pthread_cond_") {
            address = libc::dlvsym(libc::RTLD_NEXT, name.as_ptr(), CONDITIONS.as_ptr());
        }
        if address.is_null() {
            address = libc::dlsym(libc::RTLD_NEXT, name.as_ptr());
        }
        address as usize
    };
    (address != 0).then_some(address)
}
