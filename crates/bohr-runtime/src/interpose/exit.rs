//! The ways in which a program ends: by itself, by an assertion, by a panic.

use super::{caller, interpose};
use crate::{
    carrier::CarrierOnly, control, objects::OBJECTS, policy, real::real, signals, system, threads,
    verdict,
};
use bohr_event::FailureKind;
use core::{
    cell::Cell,
    ffi::{CStr, c_char, c_void},
};

/// What the program gave to `exit`.
#[unsafe(link_section = "bohr_hot")]
static CODE: CarrierOnly<Cell<i32>> = CarrierOnly::new(Cell::new(0));

/// The exit code, as far as it is known.
pub fn code() -> i32 {
    CODE.get()
}

/// Vendor and language of exceptions that are Rust panics; older versions of
/// Rust have the bytes the other way round.
const RUST_PANICS: [u64; 2] = [
    u64::from_le_bytes(*b"MOZ\0RUST"),
    u64::from_be_bytes(*b"MOZ\0RUST"),
];

/// Text for people.
unsafe fn words(text: *const c_char) -> alloc::borrow::Cow<'static, str> {
    // SAFETY: the caller passes null or a C string.
    let text: &'static CStr = unsafe { system::text(text) };
    text.to_string_lossy()
}

interpose! {
    fn exit(code: i32) -> ! {
        CODE.set(code & 0xff);
        let exit = real!(fn exit(i32) -> !);
        // SAFETY: passes on the call; the last handler writes the verdict.
        unsafe { exit(code) }
    }

    fn _exit(code: i32) -> ! {
        if control::is_on() {
            threads::ends_process();
            verdict::exited(code & 0xff, || ());
        }
        system::exit(code)
    }

    fn _Exit(code: i32) -> ! {
        if control::is_on() {
            threads::ends_process();
            verdict::exited(code & 0xff, || ());
        }
        system::exit(code)
    }

    fn quick_exit(code: i32) -> ! {
        if control::is_on() {
            threads::ends_process();
            verdict::exited(code & 0xff, || ());
        }
        let exit = real!(fn quick_exit(i32) -> !);
        // SAFETY: passes on the call.
        unsafe { exit(code) }
    }

    fn abort() -> ! {
        let place = caller();
        if control::is_on() && !signals::is_caught(libc::SIGABRT) {
            verdict::fail_at(FailureKind::Abort, "aborted", Some(OBJECTS.place(place)), 0);
        }
        let abort = real!(fn abort() -> !);
        // SAFETY: passes on the call.
        unsafe { abort() }
    }

    fn __assert_fail(
        expression: *const c_char,
        file: *const c_char,
        line: u32,
        function: *const c_char,
    ) -> ! {
        let place = caller();
        // SAFETY: the macro passes strings.
        let message = unsafe {
            verdict::assertion_message(&words(expression), &words(file), line, &words(function))
        };
        system::say(&message);
        system::say("\n");
        if control::is_on() {
            verdict::fail_at(FailureKind::Assertion, &message, Some(OBJECTS.place(place)), 0);
        }
        let abort = real!(fn abort() -> !);
        // SAFETY: as the real function does.
        unsafe { abort() }
    }

    fn _Unwind_RaiseException(exception: *mut u64) -> i32 {
        let place = caller();
        // SAFETY: an exception object begins with its class.
        let class = unsafe { *exception };
        if control::is_on() && RUST_PANICS.contains(&class) && policy::get().panics_fail {
            let place = OBJECTS.place(place);
            verdict::fail_at(FailureKind::Panic, "a thread panicked", Some(place), 0);
        }
        let raise = real!(fn _Unwind_RaiseException(*mut c_void) -> i32);
        // SAFETY: passes on the call; our frames hold nothing to drop.
        unsafe { raise(exception.cast()) }
    }
}
