//! What a program sees of the machine: the same everywhere, so that a schedule
//! from one machine fits on another.

use super::{affinity::PROCESSORS, interpose};
use crate::{control, engine::ENGINE, real::real, thread::Thread};
use bohr_event::ThreadIndex;
use core::ffi::c_long;

/// Process number that the program sees; threads have the numbers behind it.
pub const PROCESS: i32 = 4200;

/// The number of the running thread, as the program sees it.
pub fn thread_number() -> i32 {
    PROCESS + ENGINE.current().index.0 as i32
}

/// The thread whose number this is.
pub fn numbered(number: i32) -> Option<ThreadIndex> {
    let mut found = None;
    ENGINE.each_live(|thread| {
        if PROCESS + thread.index.0 as i32 == number {
            found = Some(thread.index);
        }
    });
    found
}

/// As much of a name as the kernel keeps.
pub fn padded(name: &[u8]) -> [u8; 16] {
    let mut padded = [0; 16];
    let kept = name.len().min(padded.len() - 1);
    padded[..kept].copy_from_slice(&name[..kept]);
    padded
}

unsafe extern "C" {
    static program_invocation_short_name: *const core::ffi::c_char;
}

/// What a thread is called: as the program, unless somebody has said otherwise.
pub fn name(thread: &Thread) -> [u8; 16] {
    match thread.name.get() {
        // SAFETY: the C library sets it before anything of the program runs.
        [0, ..] => padded(unsafe { crate::system::text(program_invocation_short_name) }.to_bytes()),
        name => name,
    }
}

interpose! {
    fn getpid() -> i32 {
        if !control::is_on() {
            return crate::system::process_number();
        }
        PROCESS
    }

    fn gettid() -> i32 {
        if !control::is_on() {
            return crate::system::thread_number();
        }
        thread_number()
    }

    fn getppid() -> i32 {
        if !control::is_on() {
            let get = real!(fn getppid() -> i32);
            // SAFETY: passes on the call.
            return unsafe { get() };
        }
        PROCESS - 1
    }

    fn get_nprocs() -> i32 {
        PROCESSORS as i32
    }

    fn get_nprocs_conf() -> i32 {
        PROCESSORS as i32
    }

    fn sysconf(name: i32) -> c_long {
        if control::is_on() && [libc::_SC_NPROCESSORS_ONLN, libc::_SC_NPROCESSORS_CONF].contains(&name) {
            return PROCESSORS as c_long;
        }
        let get = real!(fn sysconf(i32) -> c_long);
        // SAFETY: passes on what the program passed.
        unsafe { get(name) }
    }

    fn pthread_setname_np(thread: libc::pthread_t, name: *const libc::c_char) -> i32 {
        if !control::is_on() {
            let set = real!(fn pthread_setname_np(libc::pthread_t, *const libc::c_char) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { set(thread, name) };
        }
        // SAFETY: the program passes a name.
        let name = unsafe { crate::system::text(name) }.to_bytes();
        match (ENGINE.by_handle(thread), padded(name)) {
            (None, _) => libc::ESRCH,
            (_, padded) if name.len() >= padded.len() => libc::ERANGE,
            (Some(thread), padded) => {
                thread.name.set(padded);
                0
            }
        }
    }

    fn pthread_getname_np(thread: libc::pthread_t, room: *mut u8, length: usize) -> i32 {
        if !control::is_on() {
            let get = real!(fn pthread_getname_np(libc::pthread_t, *mut u8, usize) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { get(thread, room, length) };
        }
        let Some(thread) = ENGINE.by_handle(thread) else {
            return libc::ESRCH;
        };
        let name = name(thread);
        if length < name.len() {
            return libc::ERANGE;
        }
        // SAFETY: the program has that much room there.
        unsafe { room.copy_from_nonoverlapping(name.as_ptr(), name.len()) };
        0
    }

    fn getloadavg(averages: *mut f64, count: i32) -> i32 {
        if !control::is_on() {
            let get = real!(fn getloadavg(*mut f64, i32) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { get(averages, count) };
        }
        let count = count.clamp(0, 3);
        // SAFETY: the program has room for that many.
        unsafe { core::ptr::write_bytes(averages, 0, count as usize) };
        count
    }
}
