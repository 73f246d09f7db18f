//! Which files threads came by, and what they were told about them: at solving time,
//! they may be gone.

use crate::outside::{self, note, result};
use crate::real::real;
use crate::thread::{keeping_errno, known};
use bohr_event::inputs::{Opened, Question};
use core::ffi::c_char;
use libc::{FILE, c_int, c_uint};

/// A thread has got a descriptor, or not.
pub fn opened(descriptor: c_int, peer: &[u8]) -> c_int {
    if known().is_some() {
        let result = result(descriptor as isize);
        keeping_errno(|| {
            let status = outside::status(descriptor);
            let opened = status.map(|status| Opened {
                mode: status.st_mode,
                size: status.st_size as u64,
            });
            let opened = opened.unwrap_or_default();
            note(Question::Open, result, &[&opened.bytes(), peer]);
        });
    }
    descriptor
}

/// Shadows functions of the C library that open a file.
macro_rules! shadow_opens {
    ($(fn $name:ident($($argument:ident: $kind:ty),*);)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $name($($argument: $kind),*) -> c_int {
            let real = real!(fn $name($($kind),*) -> c_int);
            // SAFETY: passes on what the program passed; where there is no mode, nobody
            // looks at what is in its register.
            opened(unsafe { real($($argument),*) }, &[])
        }
    )*};
}

shadow_opens! {
    fn open(path: *const c_char, flags: c_int, mode: u32);
    fn open64(path: *const c_char, flags: c_int, mode: u32);
    fn openat(folder: c_int, path: *const c_char, flags: c_int, mode: u32);
    fn openat64(folder: c_int, path: *const c_char, flags: c_int, mode: u32);
    // What checked builds call.
    fn __open_2(path: *const c_char, flags: c_int);
    fn __open64_2(path: *const c_char, flags: c_int);
    fn __openat_2(folder: c_int, path: *const c_char, flags: c_int);
    fn __openat64_2(folder: c_int, path: *const c_char, flags: c_int);
}

/// Shadows functions of the C library that open a file for buffered use.
macro_rules! shadow_streams {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $name(path: *const c_char, how: *const c_char) -> *mut FILE {
            let real = real!(fn $name(*const c_char, *const c_char) -> *mut FILE);
            // SAFETY: passes on what the program passed, and asks what it got.
            unsafe {
                let stream = real(path, how);
                let descriptor = match stream.is_null() {
                    true => -1,
                    false => libc::fileno(stream),
                };
                opened(descriptor, &[]);
                stream
            }
        }
    )*};
}

shadow_streams! { fopen fopen64 }

/// A thread was told what a file is like.
fn told(returned: c_int, bytes: &[u8]) -> c_int {
    if known().is_some() {
        let result = result(returned as isize);
        keeping_errno(|| note(Question::Status, result, &[bytes]));
    }
    returned
}

/// Shadows functions of the C library that tell what a file is like; the last of the
/// arguments in front of the bar is where.
macro_rules! shadow_statuses {
    ($(fn $name:ident($($argument:ident: $kind:ty),* | $($rest:ident: $more:ty),*);)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $name(
            $($argument: $kind,)*
            status: *mut libc::stat
            $(, $rest: $more)*
        ) -> c_int {
            let real = real!(fn $name($($kind,)* *mut libc::stat $(, $more)*) -> c_int);
            // SAFETY: passes on what the program passed, and reads what it got.
            unsafe {
                let returned = real($($argument,)* status $(, $rest)*);
                let length = if returned == 0 { size_of::<libc::stat>() } else { 0 };
                told(returned, outside::bytes(status.cast(), length))
            }
        }
    )*};
}

shadow_statuses! {
    fn stat(path: *const c_char |);
    fn stat64(path: *const c_char |);
    fn lstat(path: *const c_char |);
    fn lstat64(path: *const c_char |);
    fn fstatat(folder: c_int, path: *const c_char | flags: c_int);
    fn fstatat64(folder: c_int, path: *const c_char | flags: c_int);
}

/// Shadows the C library's.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn access(path: *const c_char, mode: c_int) -> c_int {
    let real = real!(fn access(*const c_char, c_int) -> c_int);
    // SAFETY: passes on what the program passed.
    told(unsafe { real(path, mode) }, &[])
}

/// Bytes of what `statx` tells.
const STATX: usize = 256;

/// Shadows the C library's. With an empty path it asks for an open file, which there
/// will be.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn statx(
    folder: c_int,
    path: *const c_char,
    flags: c_int,
    mask: c_uint,
    status: *mut libc::statx,
) -> c_int {
    let real = real!(fn statx(c_int, *const c_char, c_int, c_uint, *mut libc::statx) -> c_int);
    // SAFETY: passes on what the program passed, and reads what it got.
    unsafe {
        let returned = real(folder, path, flags, mask, status);
        if path.is_null() || *path == 0 {
            return returned;
        }
        let length = if returned == 0 { STATX } else { 0 };
        told(returned, outside::bytes(status.cast(), length))
    }
}
