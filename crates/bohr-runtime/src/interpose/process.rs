//! Processes that the target starts itself: they run uncontrolled, and that is
//! said.

use super::interpose;
use crate::{control, notices, real::real};
use bohr_event::control::Notice;
use core::ffi::{c_char, c_void};

/// The C library's `fork`, and control is off in the child. Its child handlers
/// find the calling thread as the only one, which it is.
fn fork_process() -> i32 {
    if control::is_on() {
        notices::note(Notice::Process);
    }
    let fork = real!(fn fork() -> i32);
    // SAFETY: passes on the call.
    let child = unsafe { fork() };
    if child == 0 {
        control::end();
    }
    child
}

interpose! {
    fn fork() -> i32 {
        fork_process()
    }

    fn vfork() -> i32 {
        // A child that shares the stack with us would run our frames.
        fork_process()
    }

    fn posix_spawn(
        process: *mut i32,
        path: *const c_char,
        actions: *const c_void,
        attributes: *const c_void,
        arguments: *const *mut c_char,
        variables: *const *mut c_char,
    ) -> i32 {
        notices::note(Notice::Process);
        let spawn = real!(fn posix_spawn(
            *mut i32,
            *const c_char,
            *const c_void,
            *const c_void,
            *const *mut c_char,
            *const *mut c_char,
        ) -> i32);
        // SAFETY: passes on what the program passed.
        unsafe { spawn(process, path, actions, attributes, arguments, variables) }
    }

    fn posix_spawnp(
        process: *mut i32,
        path: *const c_char,
        actions: *const c_void,
        attributes: *const c_void,
        arguments: *const *mut c_char,
        variables: *const *mut c_char,
    ) -> i32 {
        notices::note(Notice::Process);
        let spawn = real!(fn posix_spawnp(
            *mut i32,
            *const c_char,
            *const c_void,
            *const c_void,
            *const *mut c_char,
            *const *mut c_char,
        ) -> i32);
        // SAFETY: passes on what the program passed.
        unsafe { spawn(process, path, actions, attributes, arguments, variables) }
    }

    fn system(command: *const c_char) -> i32 {
        notices::note(Notice::Process);
        let run = real!(fn system(*const c_char) -> i32);
        // SAFETY: passes on what the program passed.
        unsafe { run(command) }
    }

    fn popen(command: *const c_char, mode: *const c_char) -> *mut c_void {
        notices::note(Notice::Process);
        let open = real!(fn popen(*const c_char, *const c_char) -> *mut c_void);
        // SAFETY: passes on what the program passed.
        unsafe { open(command, mode) }
    }
}
