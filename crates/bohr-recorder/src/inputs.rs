//! What the program gets from outside and no other run would get again: time and
//! randomness. Each thread writes down what it got.

use crate::real::real;
use crate::thread::{Thread, keeping_errno, known};
use bohr_event::inputs::{MAIN_WORD, number_words, random_words, time_word};
use bohr_event::recording::Stream;
use core::ffi::c_void;
use core::slice;
use libc::{clockid_t, time_t, timespec, timeval};

const SECOND: u64 = 1_000_000_000;

/// The base of `timespec_get` that every system has.
const UTC: i32 = 1;

/// Looks up what an allocator may call while it is at work, where looking it up
/// would allocate.
pub fn prepare() {
    let mut time = timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: a place for the time.
    unsafe { clock_gettime(libc::CLOCK_REALTIME, &raw mut time) };
}

/// `main` begins.
pub fn begin_main() {
    write(|thread| thread.append(Stream::Inputs, MAIN_WORD));
}

/// The calling thread writes something down, if it is one that does.
pub fn write(words: impl FnOnce(Thread)) {
    if let Some(thread) = known() {
        keeping_errno(|| words(thread));
    }
}

fn write_time(nanoseconds: u64) {
    write(|thread| thread.append(Stream::Inputs, time_word(nanoseconds)));
}

fn write_number(number: u64) {
    write(|thread| number_words(number, |word| thread.append(Stream::Inputs, word)));
}

/// # Safety
/// So many bytes must have been written there.
unsafe fn write_random(buffer: *const c_void, length: usize) {
    // SAFETY: the caller's promise.
    let bytes = unsafe { slice::from_raw_parts(buffer.cast::<u8>(), length) };
    write(|thread| random_words(bytes, |word| thread.append(Stream::Inputs, word)));
}

/// Shadows the C library's.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn clock_gettime(clock: clockid_t, time: *mut timespec) -> i32 {
    let real = real!(fn clock_gettime(clockid_t, *mut timespec) -> i32);
    // SAFETY: passes on what the program passed, and reads what it got.
    unsafe {
        let result = real(clock, time);
        if result == 0 {
            write_time((*time).tv_sec as u64 * SECOND + (*time).tv_nsec as u64);
        }
        result
    }
}

/// Shadows the C library's.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn timespec_get(time: *mut timespec, base: i32) -> i32 {
    let real = real!(fn timespec_get(*mut timespec, i32) -> i32);
    // SAFETY: passes on what the program passed, and reads what it got.
    unsafe {
        let result = real(time, base);
        if result == UTC {
            write_time((*time).tv_sec as u64 * SECOND + (*time).tv_nsec as u64);
        }
        result
    }
}

/// Shadows the C library's.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn gettimeofday(time: *mut timeval, zone: *mut c_void) -> i32 {
    let real = real!(fn gettimeofday(*mut timeval, *mut c_void) -> i32);
    // SAFETY: passes on what the program passed, and reads what it got.
    unsafe {
        let result = real(time, zone);
        if let Some(time) = time.as_ref().filter(|_| result == 0) {
            write_time(time.tv_sec as u64 * SECOND + time.tv_usec as u64 * 1000);
        }
        result
    }
}

/// Shadows the C library's.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn time(seconds: *mut time_t) -> time_t {
    let real = real!(fn time(*mut time_t) -> time_t);
    // SAFETY: passes on what the program passed.
    let now = unsafe { real(seconds) };
    write_time(now as u64 * SECOND);
    now
}

/// Shadows the C library's.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn getrandom(buffer: *mut c_void, length: usize, flags: u32) -> isize {
    let real = real!(fn getrandom(*mut c_void, usize, u32) -> isize);
    // SAFETY: passes on what the program passed, and reads what it got.
    unsafe {
        let result = real(buffer, length, flags);
        if result > 0 {
            write_random(buffer, result as usize);
        }
        result
    }
}

/// Shadows the C library's.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn getentropy(buffer: *mut c_void, length: usize) -> i32 {
    let real = real!(fn getentropy(*mut c_void, usize) -> i32);
    // SAFETY: passes on what the program passed, and reads what it got.
    unsafe {
        let result = real(buffer, length);
        if result == 0 {
            write_random(buffer, length);
        }
        result
    }
}

/// Shadows the C library's.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn arc4random() -> u32 {
    let real = real!(fn arc4random() -> u32);
    // SAFETY: passes on the call.
    let number = unsafe { real() };
    write_number(number.into());
    number
}

/// Shadows the C library's.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn arc4random_uniform(bound: u32) -> u32 {
    let real = real!(fn arc4random_uniform(u32) -> u32);
    // SAFETY: passes on what the program passed.
    let number = unsafe { real(bound) };
    write_number(number.into());
    number
}

/// Shadows the C library's.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn arc4random_buf(buffer: *mut c_void, length: usize) {
    let real = real!(fn arc4random_buf(*mut c_void, usize));
    // SAFETY: passes on what the program passed, and reads what it got.
    unsafe {
        real(buffer, length);
        write_random(buffer, length);
    }
}

/// Shadows `std::random_device::_M_getval`: from the processor or from a file, it is chance,
/// and comes from the system here, so that it is one call and no other.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn _ZNSt13random_device9_M_getvalEv(_device: *mut c_void) -> u32 {
    let get = real!(fn getrandom(*mut c_void, usize, u32) -> isize);
    let mut number = 0u32;
    // SAFETY: fills the number, which takes less than the system gives at once.
    unsafe { get((&raw mut number).cast(), size_of::<u32>(), 0) };
    write_number(number.into());
    number
}

/// Shadows the C library's, whose state all threads share.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn rand() -> i32 {
    let real = real!(fn rand() -> i32);
    // SAFETY: passes on the call.
    let number = unsafe { real() };
    write_number(number as u64);
    number
}

/// Shadows the C library's, whose state all threads share.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn random() -> i64 {
    let real = real!(fn random() -> i64);
    // SAFETY: passes on the call.
    let number = unsafe { real() };
    write_number(number as u64);
    number
}
