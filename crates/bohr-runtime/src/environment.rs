//! The arguments and environment of the program: where the explorer's name
//! stands, and what must not differ from run to run.

use crate::system;
use alloc::{ffi::CString, format, vec::Vec};
use bohr_event::control::{CONTROL_VARIABLE, LIBRARIES_VARIABLE};
use core::{
    ffi::{CStr, c_char},
    ptr,
};

/// Variables that exist only because of bohr.
const TRACES: [&[u8]; 5] = [
    b"BOHR_CONTROL=",
    b"BOHR_BEGUN_AGAIN=",
    b"BOHR_LIBRARIES=",
    b"LD_PRELOAD=",
    b"LD_BIND_NOW=",
];

/// Makes the loader bind all symbols at once: else every run would do it again.
const BIND_NOW: &CStr = c"LD_BIND_NOW=1";

/// Has threads of OpenMP wait without spinning. They would for a time by the clock, in
/// code where nothing tells of it: every run would take that long.
const WAIT_IDLY: &CStr = c"OMP_WAIT_POLICY=passive";

/// Variables by which users say themselves how they wait.
const WAITING: [&[u8]; 3] = [b"OMP_WAIT_POLICY=", b"KMP_BLOCKTIME=", b"GOMP_SPINCOUNT="];

/// Parts of the names of libraries of OpenMP.
const OPENMP: [&[u8]; 3] = [b"libomp.so", b"libgomp.so", b"libiomp5.so"];

/// Smallest stack of the main thread.
const SMALLEST_STACK: usize = 8 << 20;
/// Largest: an unlimited stack gets this much.
const LARGEST_STACK: usize = 1 << 30;

/// The strings of a null-terminated array.
///
/// # Safety
/// `array` must be one, of C strings.
unsafe fn strings(array: *mut *mut c_char) -> impl Iterator<Item = &'static CStr> {
    let mut position = 0;
    core::iter::from_fn(move || {
        // SAFETY: the array ends with a null pointer, and we stop there.
        let text = unsafe { *array.add(position) };
        position += 1;
        // SAFETY: what is not null is a C string.
        (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) })
    })
}

/// The name under which the explorer listens.
///
/// # Safety
/// `variables` must be the program's environment.
pub unsafe fn control_name(variables: *mut *mut c_char) -> Option<Vec<u8>> {
    // SAFETY: the caller vouches for it.
    unsafe { value(variables, CONTROL_VARIABLE) }.map(<[u8]>::to_vec)
}

/// Which libraries are taken from elsewhere when the program loads them.
///
/// # Safety
/// `variables` must be the program's environment.
pub unsafe fn libraries(variables: *mut *mut c_char) -> Option<&'static str> {
    // SAFETY: the caller vouches for it.
    let list = unsafe { value(variables, LIBRARIES_VARIABLE) }?;
    core::str::from_utf8(list).ok()
}

/// By which the program tells itself, as it begins again, where its connection is.
const AGAIN_VARIABLE: &str = "BOHR_BEGUN_AGAIN";

/// The connection of a program that has begun again.
///
/// # Safety
/// `variables` must be the program's environment.
pub unsafe fn earlier_channel(variables: *mut *mut c_char) -> Option<i32> {
    // SAFETY: the caller vouches for it.
    let said = unsafe { value(variables, AGAIN_VARIABLE) }?;
    core::str::from_utf8(said).ok()?.parse().ok()
}

/// What tells of it.
pub fn begun_again(descriptor: i32) -> CString {
    let text = format!("{AGAIN_VARIABLE}={descriptor}");
    CString::new(text).unwrap_or_default()
}

/// Where the strings are.
///
/// # Safety
/// `array` must be a null-terminated array of C strings.
pub unsafe fn pointers(array: *mut *mut c_char) -> Vec<*const c_char> {
    // SAFETY: the caller vouches for it.
    unsafe { strings(array) }.map(CStr::as_ptr).collect()
}

/// The value of a variable.
///
/// # Safety
/// `variables` must be the program's environment.
unsafe fn value(variables: *mut *mut c_char, name: &str) -> Option<&'static [u8]> {
    // SAFETY: the caller vouches for it.
    let mut variables = unsafe { strings(variables) };
    variables.find_map(|variable| {
        let rest = variable.to_bytes().strip_prefix(name.as_bytes())?;
        rest.strip_prefix(b"=")
    })
}

/// If the program was not started for it, starts it again with addresses that
/// are not random and symbols bound at once. Comes back if it was, or with an
/// error where the system does not allow it.
///
/// # Safety
/// Both must be the program's own arrays.
pub unsafe fn restart_prepared(
    arguments: *mut *mut c_char,
    variables: *mut *mut c_char,
) -> Result<(), i32> {
    // SAFETY: the caller vouches for it.
    let bound = unsafe { strings(variables) }.any(|variable| variable == BIND_NOW);
    let fixed = fix_addresses();
    if bound {
        return fixed;
    }
    // SAFETY: as above.
    let waits = unsafe { strings(variables) }.any(|variable| {
        let said = |name: &&[u8]| variable.to_bytes().starts_with(name);
        WAITING.iter().any(said)
    });
    let idly = (!waits && uses_openmp()).then_some(WAIT_IDLY.as_ptr());
    // SAFETY: as above.
    let mut extended: Vec<*const c_char> = unsafe { strings(variables) }
        .map(CStr::as_ptr)
        .chain([BIND_NOW.as_ptr()])
        .chain(idly)
        .chain([ptr::null()])
        .collect();
    let path = c"/proc/self/exe".as_ptr() as usize;
    let arguments = [
        path,
        arguments as usize,
        extended.as_mut_ptr() as usize,
        0,
        0,
        0,
    ];
    // SAFETY: replaces this process, or does nothing.
    unsafe { system::try_call(libc::SYS_execve, arguments) }.map(|_| ())
}

/// Whether a library of OpenMP is loaded.
fn uses_openmp() -> bool {
    unsafe extern "C" fn look(
        info: *mut libc::dl_phdr_info,
        _: libc::size_t,
        found: *mut libc::c_void,
    ) -> i32 {
        // SAFETY: the loader passes a description, and `uses_openmp` its result.
        let (name, found) =
            unsafe { (system::text((*info).dlpi_name), &mut *found.cast::<bool>()) };
        let name = name.to_bytes();
        let is_it = |part: &&[u8]| name.windows(part.len()).any(|window| window == *part);
        *found |= OPENMP.iter().any(is_it);
        0
    }
    let mut found = false;
    // SAFETY: the callback gets what it is called with.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut found).cast()) };
    found
}

/// Asks the kernel for addresses that are the same at every start; in force
/// from the next start on.
fn fix_addresses() -> Result<(), i32> {
    const ASK: usize = 0xffff_ffff;
    let personality = |value| {
        // SAFETY: asks for or sets an attribute of this process.
        unsafe { system::try_call(libc::SYS_personality, [value, 0, 0, 0, 0, 0]) }
    };
    let wanted = personality(ASK)? | libc::ADDR_NO_RANDOMIZE as usize;
    personality(wanted)?;
    if personality(ASK)? == wanted {
        Ok(())
    } else {
        Err(libc::EPERM)
    }
}

/// Takes what exists only because of bohr out of the environment: programs that
/// the target starts run without it.
///
/// # Safety
/// `variables` must be the program's environment.
pub unsafe fn remove_traces(variables: *mut *mut c_char) {
    // SAFETY: the caller vouches for it.
    let kept: Vec<*mut c_char> = unsafe { strings(variables) }
        .filter(|variable| {
            !TRACES
                .iter()
                .any(|trace| variable.to_bytes().starts_with(trace))
        })
        .map(|variable| variable.as_ptr().cast_mut())
        .chain([ptr::null_mut()])
        .collect();
    // SAFETY: the array holds at least as many entries.
    unsafe { ptr::copy_nonoverlapping(kept.as_ptr(), variables, kept.len()) };
}

unsafe extern "C" {
    static mut environ: *mut *mut c_char;
}

/// Copies arguments and environment to where they lie in every run; gives the
/// addresses of the new arrays.
///
/// # Safety
/// Both must be the program's own arrays.
pub unsafe fn settle(
    count: i32,
    arguments: *mut *mut c_char,
    variables: *mut *mut c_char,
) -> (usize, usize) {
    // SAFETY: the caller vouches for both; `environ` leads to the same strings.
    unsafe {
        let arguments = copied(strings(arguments).take(count as usize));
        let variables = copied(strings(variables));
        environ = variables as *mut *mut c_char;
        (arguments, variables)
    }
}

/// A copy of the strings and of their array, which stays for good.
fn copied(strings: impl Iterator<Item = &'static CStr>) -> usize {
    let pointers: Vec<*mut c_char> = strings
        .map(|text| {
            let copy = text.to_bytes_with_nul().to_vec().leak();
            copy.as_mut_ptr().cast()
        })
        .chain([ptr::null_mut()])
        .collect();
    pointers.leak().as_ptr() as usize
}

/// How large the main thread's stack may grow.
pub fn stack_limit() -> usize {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    let arguments = [
        0,
        libc::RLIMIT_STACK as usize,
        0,
        &raw mut limit as usize,
        0,
        0,
    ];
    // SAFETY: writes the limit.
    unsafe { system::call(libc::SYS_prlimit64, arguments) };
    let wanted = usize::try_from(limit.rlim_cur).unwrap_or(usize::MAX);
    wanted.clamp(SMALLEST_STACK, LARGEST_STACK) & !4095
}

/// The bytes by which the kernel gives every process something of its own, from
/// which programs seed their hash tables: the same in every process.
pub fn fix_random_bytes() {
    // SAFETY: looks at what the kernel passed to this process.
    let bytes = unsafe { libc::getauxval(libc::AT_RANDOM) } as *mut u8;
    if !bytes.is_null() {
        // SAFETY: 16 bytes on the stack of the process; the C library has taken
        // from them what it needs.
        unsafe { crate::interpose::random::fill(bytes.cast(), 16) };
    }
}
