//! Calls that wait where nobody can look: locks on files, and the semaphores and
//! queues of System V. Each is made without waiting, again and again, with a
//! little virtual time in between, so that whoever it waits for can go on.
//!
//! A wait that never ends is found as spinning, not as a deadlock.

use super::INTERRUPTED;
use crate::{
    clock::{CLOCK, timespec},
    engine::{ENGINE, operation},
    interpose::time,
    system,
};
use alloc::vec::Vec;
use bohr_event::EventKind;

/// Virtual nanoseconds between two attempts.
const PAUSE: u64 = 1_000_000;

const NO_WAIT: usize = libc::IPC_NOWAIT as usize;

const MOST_OPERATIONS: usize = 500;

const WOULD_BLOCK: isize = -(libc::EAGAIN as isize);

/// Where the call waits: one object for all of them, so that whatever was done
/// before one comes before what is done after another.
const OBJECT: usize = 0;

/// Answers a call that can wait or end a wait; `None` if it is none of these.
pub fn answer(number: i64, arguments: [usize; 6], place: u64) -> Option<isize> {
    let [first, second, third, fourth, fifth, _] = arguments;
    let (position, hasty, waits) = match number {
        libc::SYS_flock => {
            let at_once = libc::LOCK_NB | libc::LOCK_UN;
            let hasty = second | libc::LOCK_NB as usize;
            (1, hasty, second as i32 & at_once == 0)
        }
        libc::SYS_fcntl => match second as i32 {
            libc::F_SETLKW => (1, libc::F_SETLK as usize, true),
            libc::F_OFD_SETLKW => (1, libc::F_OFD_SETLK as usize, true),
            libc::F_SETLK | libc::F_OFD_SETLK => (1, second, false),
            _ => return None,
        },
        libc::SYS_msgsnd => (3, fourth | NO_WAIT, fourth & NO_WAIT == 0),
        libc::SYS_msgrcv => (4, fifth | NO_WAIT, fifth & NO_WAIT == 0),
        libc::SYS_semop => return Some(semaphores(arguments, u64::MAX, place)),
        libc::SYS_semtimedop => {
            // SAFETY: null, or a time of the program.
            let time = unsafe { (fourth as *const libc::timespec).as_ref() };
            let deadline = time.map_or(u64::MAX, |time| CLOCK.after(time));
            return Some(semaphores([first, second, third, 0, 0, 0], deadline, place));
        }
        _ => return None,
    };
    let mut changed = arguments;
    changed[position] = hasty;
    let deadline = if waits { u64::MAX } else { 0 };
    Some(insist(number, changed, deadline, place))
}

/// Makes the call until it need not wait, or the time is up.
fn insist(number: i64, arguments: [usize; 6], deadline: u64, place: u64) -> isize {
    ENGINE.step(operation(EventKind::Send, OBJECT, place));
    loop {
        // SAFETY: what the program asked for, without waiting.
        let answer = unsafe { system::call(number, arguments) };
        let waits = match answer {
            // No message, in the words of System V.
            _ if answer == -(libc::ENOMSG as isize) => true,
            // A lock on a part of a file that somebody else has.
            _ if answer == -(libc::EACCES as isize) => number == libc::SYS_fcntl,
            _ => answer == WOULD_BLOCK,
        };
        if !waits || CLOCK.now() >= deadline {
            ENGINE.step(operation(EventKind::Receive, OBJECT, place));
            return answer;
        }
        let next = CLOCK.now().saturating_add(PAUSE).min(deadline);
        if time::sleep_until(next, place) != 0 {
            return INTERRUPTED;
        }
    }
}

/// Operations on semaphores. If some of them may not wait, none does: the kernel
/// does not tell which one would have to.
fn semaphores(arguments: [usize; 6], deadline: u64, place: u64) -> isize {
    let [_, operations, count, ..] = arguments;
    // More are refused by the kernel, too.
    if count > MOST_OPERATIONS {
        return -(libc::E2BIG as isize);
    }
    // SAFETY: the program passes so many operations.
    let wishes = unsafe { core::slice::from_raw_parts(operations as *const libc::sembuf, count) };
    let patient = |wish: &&libc::sembuf| i32::from(wish.sem_flg) & libc::IPC_NOWAIT == 0;
    if wishes.iter().filter(patient).count() < count {
        let nothing = timespec(0);
        // SAFETY: what the program asked for, for no time at all.
        return unsafe { system::call(libc::SYS_semtimedop, timed(arguments, &nothing)) };
    }
    let hasty: Vec<libc::sembuf> = wishes
        .iter()
        .map(|wish| libc::sembuf {
            sem_flg: wish.sem_flg | libc::IPC_NOWAIT as i16,
            ..*wish
        })
        .collect();
    let arguments = [arguments[0], hasty.as_ptr() as usize, count, 0, 0, 0];
    insist(libc::SYS_semop, arguments, deadline, place)
}

fn timed(arguments: [usize; 6], time: &libc::timespec) -> [usize; 6] {
    let [first, second, third, ..] = arguments;
    [
        first,
        second,
        third,
        core::ptr::from_ref(time) as usize,
        0,
        0,
    ]
}
