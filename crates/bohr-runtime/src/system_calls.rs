//! System calls by number, whoever makes them: the program by `syscall`, or the C
//! library behind all names that can be shadowed. What can wait goes to the
//! engine; what tells about the machine or the time gets an answer that is the
//! same in every run.

mod accounts;
pub mod copies;
mod duplicates;
pub mod limits;
mod machine_files;
mod meetings;
mod patience;
mod queues;
mod signals;

use crate::{
    clock::{CLOCK, timespec},
    descriptors::{self, Kind},
    engine::ENGINE,
    interpose::{
        affinity, futex::Futex, input_output, machine, pieces::Means, process, random, time,
    },
    output, system, verdict,
};
use core::ffi::c_void;

/// What a call answers that the handler of a signal has ended.
const INTERRUPTED: isize = -(libc::EINTR as isize);

/// Whether a call does nothing but let the threads of the program wait for each other.
pub fn is_between_threads(number: i64) -> bool {
    matches!(
        number,
        libc::SYS_futex | libc::SYS_sched_yield | libc::SYS_nanosleep | libc::SYS_clock_nanosleep
    )
}

/// The answer to a call, a negative error number where it is one; `None` if it is
/// for the kernel alone.
pub fn answer(number: i64, arguments: [usize; 6], place: u64) -> Option<isize> {
    let [first, second, third, fourth, ..] = arguments;
    match number {
        libc::SYS_futex => Futex::new(arguments, place).call_if_known(),
        libc::SYS_read if descriptors::kind(first as i32) == Kind::Chance => {
            Some(chance(second, third))
        }
        libc::SYS_getrandom => Some(chance(first, second)),
        libc::SYS_read
        | libc::SYS_readv
        | libc::SYS_recvfrom
        | libc::SYS_recvmsg
        | libc::SYS_recvmmsg
        | libc::SYS_splice
        | libc::SYS_tee
        | libc::SYS_accept
        | libc::SYS_accept4 => match input_output::await_input(first as i32, place) {
            true => None,
            false => Some(INTERRUPTED),
        },
        libc::SYS_write | libc::SYS_writev => {
            if let Some(answer) = write_in_pieces(number, arguments, place) {
                return Some(answer);
            }
            let mut arguments = arguments;
            if number == libc::SYS_write {
                arguments[2] = output::legible(first as i32, second, third);
                if arguments[2] == 0 && third > 0 {
                    return Some(-(libc::EFAULT as isize));
                }
            }
            // SAFETY: what the caller asked for.
            let answer = unsafe { system::call(number, arguments) };
            output::note_written(first as i32, usize::try_from(answer).unwrap_or(0));
            Some(answer)
        }
        libc::SYS_nanosleep => Some(sleep(first, second, place)),
        libc::SYS_clock_nanosleep if second == 0 => Some(sleep(third, fourth, place)),
        libc::SYS_wait4 => {
            process::await_child(first as i32, third as i32, place);
            None
        }
        libc::SYS_waitid => {
            process::await_news(first as u32, second as i32, fourth as i32, place);
            None
        }
        libc::SYS_prctl => name(first as i32, second),
        libc::SYS_exit_group => {
            verdict::exited(first as i32 & 0xff, || ());
            None
        }
        _ => signals::answer(number, arguments, place)
            .or_else(|| affinity::answer(number, arguments))
            .or_else(|| machine_files::answer(number, arguments))
            .or_else(|| queues::answer(number, arguments, place))
            .or_else(|| patience::answer(number, arguments, place))
            .or_else(|| meetings::answer(number, arguments, place))
            .or_else(|| duplicates::answer(number, arguments))
            .or_else(|| limits::answer(number, arguments))
            .or_else(|| accounts::answer(number, arguments)),
    }
}

/// A write that may wait in the middle; `None` for others.
fn write_in_pieces(number: i64, arguments: [usize; 6], place: u64) -> Option<isize> {
    let [descriptor, start, length, ..] = arguments;
    let descriptor = descriptor as i32;
    // SAFETY: the caller's buffer, or pieces.
    let answer = unsafe {
        match number {
            libc::SYS_write => {
                let buffer = (start as *const c_void, length);
                input_output::buffer_in_pieces(descriptor, buffer, Means::Write, place)
            }
            _ => {
                let vector = (start as *const libc::iovec, length);
                input_output::vector_in_pieces(descriptor, vector, Means::Write, place)
            }
        }
    }?;
    match answer {
        // SAFETY: `errno` is always there.
        -1 => Some(-unsafe { *libc::__errno_location() } as isize),
        written => Some(written),
    }
}

fn chance(buffer: usize, length: usize) -> isize {
    // SAFETY: the caller wants the bytes there.
    unsafe { random::fill(buffer as *mut c_void, length) };
    length as isize
}

fn sleep(span: usize, left: usize, place: u64) -> isize {
    // SAFETY: the caller passes a time, and room for the rest or nothing.
    unsafe {
        let rest = time::sleep_until(CLOCK.after(&*(span as *const libc::timespec)), place);
        if left != 0 {
            *(left as *mut libc::timespec) = timespec(rest);
        }
        if rest == 0 { 0 } else { INTERRUPTED }
    }
}

/// The running thread's name, which the kernel would keep for the carrier.
fn name(option: i32, text: usize) -> Option<isize> {
    let thread = ENGINE.current();
    match option {
        libc::PR_SET_NAME => {
            // SAFETY: the program passes a name.
            let name = unsafe { system::text(text as *const _) };
            thread.name.set(machine::padded(name.to_bytes()));
        }
        libc::PR_GET_NAME => {
            // SAFETY: the program has room for sixteen bytes there.
            unsafe { *(text as *mut [u8; 16]) = machine::name(thread) };
        }
        _ => return None,
    }
    Some(0)
}
