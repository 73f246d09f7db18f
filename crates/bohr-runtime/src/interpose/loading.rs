//! Libraries that the program loads itself: of those that have a profile, `dlopen` loads
//! the profile. Who calls it decides where the loader looks for a name, so the call goes
//! on to the C library's function by a jump, with the program's own return address.

use crate::{real::real, system};
use alloc::{boxed::Box, ffi::CString, string::String, vec::Vec};
use core::{
    arch::naked_asm,
    ffi::{CStr, c_char, c_void},
    mem::MaybeUninit,
    sync::atomic::{AtomicBool, AtomicPtr, Ordering},
};

/// What is loaded in the place of a library.
struct StandIn {
    library: Option<Identity>,
    /// File name of the library: what a program may ask for without a folder.
    name: String,
    profile: CString,
}

/// Device and number of a file.
type Identity = (u64, u64);

/// Written once, before the program can load anything.
static STAND_INS: AtomicPtr<Vec<StandIn>> = AtomicPtr::new(core::ptr::null_mut());

/// Whether the program has loaded anything.
static USED: AtomicBool = AtomicBool::new(false);

/// Takes over the explorer's list: lines, by turns a library and its profile.
pub fn take_list(list: &str) {
    let lines: Vec<&str> = list.lines().collect();
    let stand_in = |pair: &[&str]| {
        let [library, profile] = pair else {
            return None;
        };
        Some(StandIn {
            library: identity(&CString::new(*library).ok()?),
            name: library.rsplit('/').next().unwrap_or(library).into(),
            profile: CString::new(*profile).ok()?,
        })
    };
    let all = lines.chunks(2).filter_map(stand_in).collect();
    STAND_INS.store(Box::leak(Box::new(all)), Ordering::Release);
}

/// Whether there may be more objects than the loader brought in with the program.
pub fn has_loaded() -> bool {
    USED.load(Ordering::Relaxed)
}

/// What to load where the program asks for this.
fn wanted(asked: &CStr) -> Option<&'static CStr> {
    // SAFETY: null, or a list that stays as it is.
    let all = unsafe { STAND_INS.load(Ordering::Acquire).as_ref() }?;
    let found = match asked.to_bytes().contains(&b'/') {
        true => {
            let file = identity(asked)?;
            all.iter().find(|one| one.library == Some(file))
        }
        false => all
            .iter()
            .find(|one| one.name.as_bytes() == asked.to_bytes()),
    };
    found.map(|one| one.profile.as_c_str())
}

fn identity(path: &CStr) -> Option<Identity> {
    let mut status = MaybeUninit::<libc::stat>::zeroed();
    let (path, at) = (path.as_ptr() as usize, status.as_mut_ptr() as usize);
    // SAFETY: reads the path and writes the status, which is valid as zeroes, too.
    let status = unsafe {
        system::try_call(libc::SYS_stat, [path, at, 0, 0, 0, 0]).ok()?;
        status.assume_init()
    };
    Some((status.st_dev, status.st_ino))
}

/// How the call goes on: both come back in registers.
#[repr(C)]
struct Call {
    name: *const c_char,
    function: usize,
}

extern "C" fn call(asked: *const c_char) -> Call {
    USED.store(true, Ordering::Relaxed);
    let load = real!(fn dlopen(*const c_char, i32) -> *mut c_void);
    let name = match asked.is_null() {
        true => None,
        // SAFETY: the program passes null or a C string.
        false => wanted(unsafe { CStr::from_ptr(asked) }),
    };
    Call {
        name: name.map_or(asked, CStr::as_ptr),
        function: load as usize,
    }
}

#[unsafe(no_mangle)]
#[unsafe(naked)]
unsafe extern "C" fn dlopen() {
    naked_asm!(
        "push rsi",
        "call {call}",
        "pop rsi",
        "mov rdi, rax",
        "jmp rdx",
        call = sym call,
    )
}
