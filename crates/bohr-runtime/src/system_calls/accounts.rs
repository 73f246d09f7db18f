//! What the kernel keeps accounts of: time that was used, memory, load. The
//! answers are those of a machine on which nothing else happens, in virtual time.

use crate::{clock::CLOCK, system};

/// Nanoseconds of a tick of `times`.
const TICK: u64 = 10_000_000;
const SECOND: u64 = 1_000_000_000;

/// Answers a call; `None` if it is none of these.
pub fn answer(number: i64, arguments: [usize; 6]) -> Option<isize> {
    let [first, ..] = arguments;
    // SAFETY: the program passes room for what it asks for, or nothing.
    unsafe {
        match number {
            libc::SYS_times => Some(times((first as *mut libc::tms).as_mut())),
            libc::SYS_getrusage => Some(usage(number, arguments)),
            libc::SYS_sysinfo => Some(information(number, arguments)),
            _ => None,
        }
    }
}

fn times(used: Option<&mut libc::tms>) -> isize {
    if let Some(used) = used {
        *used = libc::tms {
            tms_utime: (CLOCK.read(libc::CLOCK_PROCESS_CPUTIME_ID) / TICK) as libc::clock_t,
            tms_stime: 0,
            tms_cutime: 0,
            tms_cstime: 0,
        };
    }
    (CLOCK.read(libc::CLOCK_MONOTONIC) / TICK) as isize
}

/// The kernel says whether the question is one.
unsafe fn usage(number: i64, arguments: [usize; 6]) -> isize {
    // SAFETY: the caller answers for it.
    unsafe {
        let answer = system::call(number, arguments);
        if let (0, Some(usage)) = (answer, (arguments[1] as *mut libc::rusage).as_mut()) {
            let used = CLOCK.read(libc::CLOCK_PROCESS_CPUTIME_ID);
            *usage = core::mem::zeroed();
            usage.ru_utime.tv_sec = (used / SECOND) as i64;
            usage.ru_utime.tv_usec = (used % SECOND / 1000) as i64;
        }
        answer
    }
}

/// How much memory there is stays true; how much of it is used is nobody's business.
unsafe fn information(number: i64, arguments: [usize; 6]) -> isize {
    // SAFETY: the caller answers for it.
    unsafe {
        let answer = system::call(number, arguments);
        if let (0, Some(information)) = (answer, (arguments[0] as *mut libc::sysinfo).as_mut()) {
            information.uptime = (CLOCK.read(libc::CLOCK_MONOTONIC) / SECOND) as i64;
            information.loads = [0; 3];
            information.freeram = information.totalram / 2;
            information.freeswap = information.totalswap;
            information.freehigh = information.totalhigh;
            (information.sharedram, information.bufferram) = (0, 0);
            information.procs = 1;
        }
        answer
    }
}
