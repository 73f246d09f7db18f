//! Processes that the target starts itself: they run uncontrolled, and that is
//! said.

use super::{caller, cancel, interpose};
use crate::{
    control,
    descriptors::Check,
    dispatch,
    engine::{ENGINE, Woken, operation},
    neighbours, notices,
    real::real,
    system,
    thread::Wait,
};
use bohr_event::{EventKind, control::Notice};
use core::{
    ffi::{c_char, c_void},
    mem::MaybeUninit,
};

/// The C library's `fork`. Control is off in the child, also for the handlers that
/// `pthread_atfork` has registered for it: the system call arrives in
/// [`crate::system_calls::copies`]. Those for the parent run under control, and the
/// child's find the calling thread as the only one, which it is.
fn fork_process() -> i32 {
    let fork = real!(fn fork() -> i32);
    if control::is_dispatching() {
        dispatch::resume();
        // SAFETY: passes on the call.
        return unsafe { fork() };
    }
    if control::is_on() {
        notices::note(Notice::Process);
    }
    // SAFETY: as above.
    let child = dispatch::directly(|| unsafe { fork() });
    match child {
        0 => control::end(),
        1.. => neighbours::note(child),
        _ => {}
    }
    child
}

/// Waits until a child has ended, or there is none to wait for; the real call
/// that follows does not block.
pub fn await_child(process: i32, options: i32, place: u64) {
    let (kind, id) = match process {
        1.. => (libc::P_PID, process),
        0 | -1 => (libc::P_ALL, 0),
        _ => (libc::P_PGID, -process),
    };
    let news = options & (libc::WSTOPPED | libc::WCONTINUED) | libc::WEXITED;
    await_news(kind, id, options & libc::WNOHANG | news, place);
}

/// The same with what `waitid` is asked.
pub fn await_news(kind: u32, id: i32, options: i32, place: u64) {
    if options & libc::WNOHANG != 0 {
        return;
    }
    let is_there_news = || is_there_news(kind, id, options);
    let check = Check::of_anybody(&is_there_news);
    let wait = Wait::Check(&raw const check as usize);
    let waiting = operation(EventKind::External, 0, place);
    if ENGINE.announce_cancellable(waiting, wait, u64::MAX) == Woken::Cancelled {
        cancel::act();
    }
}

/// Whether a wait would end at once.
fn is_there_news(kind: u32, id: i32, options: i32) -> bool {
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    let options = options | libc::WNOHANG | libc::WNOWAIT;
    let address = info.as_mut_ptr() as usize;
    let arguments = [kind as usize, id as usize, address, options as usize, 0, 0];
    // SAFETY: writes the information, and leaves the child as it is.
    unsafe {
        let answer = system::try_call(libc::SYS_waitid, arguments);
        answer.is_err() || info.assume_init().si_pid() != 0
    }
}

interpose! {
    fn waitpid(process: i32, status: *mut i32, options: i32) -> i32 {
        if control::is_on() {
            await_child(process, options, caller());
        }
        let wait = real!(fn waitpid(i32, *mut i32, i32) -> i32);
        // SAFETY: passes on what the program passed.
        dispatch::directly(|| unsafe { wait(process, status, options) })
    }

    fn wait(status: *mut i32) -> i32 {
        if control::is_on() {
            await_child(-1, 0, caller());
        }
        let wait = real!(fn wait(*mut i32) -> i32);
        // SAFETY: passes on what the program passed.
        dispatch::directly(|| unsafe { wait(status) })
    }

    fn wait4(process: i32, status: *mut i32, options: i32, usage: *mut c_void) -> i32 {
        if control::is_on() {
            await_child(process, options, caller());
        }
        let wait = real!(fn wait4(i32, *mut i32, i32, *mut c_void) -> i32);
        // SAFETY: passes on what the program passed.
        dispatch::directly(|| unsafe { wait(process, status, options, usage) })
    }

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
        dispatch::directly(|| unsafe { spawn(process, path, actions, attributes, arguments, variables) })
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
        dispatch::directly(|| unsafe { spawn(process, path, actions, attributes, arguments, variables) })
    }

    fn system(command: *const c_char) -> i32 {
        notices::note(Notice::Process);
        let run = real!(fn system(*const c_char) -> i32);
        // SAFETY: passes on what the program passed.
        dispatch::directly(|| unsafe { run(command) })
    }

    fn popen(command: *const c_char, mode: *const c_char) -> *mut c_void {
        notices::note(Notice::Process);
        let open = real!(fn popen(*const c_char, *const c_char) -> *mut c_void);
        // SAFETY: passes on what the program passed.
        dispatch::directly(|| unsafe { open(command, mode) })
    }
}
