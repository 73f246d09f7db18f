//! Waiting for several descriptors at once: `poll`, `select`, `epoll`.

use super::{caller, cancel, interpose};
use crate::{
    clock::CLOCK,
    control,
    descriptors::{Check, any_from_outside, is_ready},
    dispatch,
    engine::{ENGINE, Woken},
    objects::OBJECTS,
    outside,
    readiness::{self, Entries, Events, Sets as AskedSets},
    real::real,
    signals::{self, Handled},
    system,
    thread::{Interruptible, Wait},
};
use bohr_event::{EventKind, Operation};
use core::ffi::c_void;

/// Waits until the check says yes or the time is up; false if the handler of a
/// signal has ended the wait. The call that follows asks the kernel without
/// waiting and tells the program what is ready.
pub fn wait_until(check: &Check<'_>, receive: Operation, deadline: u64) -> bool {
    // Also where it does not wait: what it is told may come from outside.
    ENGINE.note_strange();
    let wait = Wait::Check(&raw const *check as usize);
    match ENGINE.announce_interruptible(receive, wait, deadline, Interruptible::Always) {
        Woken::Cancelled => cancel::act(),
        Woken::Interrupted => false,
        Woken::Ready | Woken::Expired => true,
    }
}

/// Something comes in somewhere. What is sent to any stream may be it.
pub fn of_any(place: u64) -> Operation {
    Operation::on_streams(EventKind::Receive, OBJECTS.place(place))
}

/// What a thread did before it had somebody wait for a descriptor, that one knows.
fn note_registration(operation: i32, place: u64) {
    if operation != libc::EPOLL_CTL_DEL {
        ENGINE.step(Operation::on_streams(EventKind::Send, OBJECTS.place(place)));
    }
}

/// What a call answers that the handler of a signal has ended.
pub const INTERRUPTED: isize = -(libc::EINTR as isize);

/// Does something with another mask, if there is one. Signals that it lets
/// through are handled first, and end the call.
unsafe fn masked(mask: *const c_void, action: impl FnOnce() -> isize) -> isize {
    // SAFETY: null, or a set of the program, whose first word holds all signals.
    let Some(mask) = (unsafe { mask.cast::<u64>().as_ref() }) else {
        return action();
    };
    let thread = ENGINE.current();
    let before = thread.mask.replace(*mask);
    let answer = match signals::deliver(thread, 0) {
        Handled::Nothing => action(),
        Handled::Restarts | Handled::Interrupts => INTERRUPTED,
    };
    thread.mask.set(before);
    signals::deliver(thread, 0);
    answer
}

fn milliseconds(timeout: i32) -> u64 {
    match u64::try_from(timeout) {
        Ok(timeout) => CLOCK.now().saturating_add(timeout * 1_000_000),
        Err(_) => u64::MAX,
    }
}

unsafe fn span(time: *const libc::timespec) -> u64 {
    // SAFETY: null, or a time of the program.
    unsafe { time.as_ref() }.map_or(u64::MAX, |time| CLOCK.after(time))
}

/// Nobody is at the other end of what stands for the world outside, and what was to be
/// known of it is told.
fn is_looked_at(descriptor: i32) -> bool {
    !outside::goes_nowhere(descriptor)
}

fn poll_now(entries: *mut libc::pollfd, count: u64) -> isize {
    if outside::is_given() {
        // SAFETY: the program's entries, which live on while it waits.
        return unsafe { Entries::new(entries, count) }.ask(&is_looked_at);
    }
    // SAFETY: the program's entries, which live on while it waits.
    unsafe {
        system::call(
            libc::SYS_poll,
            [entries as usize, count as usize, 0, 0, 0, 0],
        )
    }
}

fn poll_until(entries: *mut libc::pollfd, count: u64, deadline: u64, place: u64) -> isize {
    let check = Check {
        has_come: &|| poll_now(entries, count) != 0,
        // SAFETY: the program's entries, which live on while it waits.
        from_outside: &|| any_from_outside(unsafe { Entries::new(entries, count) }.descriptors()),
    };
    match wait_until(&check, of_any(place), deadline) {
        true => poll_now(entries, count),
        false => INTERRUPTED,
    }
}

fn answered(answer: isize) -> i32 {
    if answer < 0 {
        // SAFETY: `errno` is always there.
        unsafe { *libc::__errno_location() = -answer as i32 };
        return -1;
    }
    answer as i32
}

/// The sets of a `select`.
#[derive(Clone, Copy)]
struct Sets([*mut libc::fd_set; 3]);

impl Sets {
    /// Asks the kernel with copies, so that the program's sets stay as they are.
    unsafe fn any_ready(self, count: i32) -> bool {
        // SAFETY: null or sets of the program.
        let mut copies = unsafe { self.0.map(|set| set.as_ref().copied()) };
        let [reads, writes, errors] = copies
            .each_mut()
            .map(|copy| copy.as_mut().map_or(0, |copy| &raw mut *copy as usize));
        // SAFETY: reads and writes the copies.
        unsafe { select_now(count, [reads, writes, errors]) != 0 }
    }
}

unsafe fn select_now(count: i32, [reads, writes, errors]: [usize; 3]) -> isize {
    let no_time = libc::timeval {
        tv_sec: 0,
        tv_usec: 0,
    };
    let time = &raw const no_time as usize;
    if outside::is_given() {
        let sets = [reads, writes, errors].map(|set| set as *mut _);
        // SAFETY: the caller passes sets or nothing.
        unsafe { AskedSets::new(count, sets) }.keep(&is_looked_at);
    }
    // SAFETY: the caller passes sets or nothing.
    unsafe {
        system::call(
            libc::SYS_select,
            [count as usize, reads, writes, errors, time, 0],
        )
    }
}

fn select_until(count: i32, sets: [*mut libc::fd_set; 3], deadline: u64, place: u64) -> isize {
    let asked = Sets(sets);
    let check = Check {
        // SAFETY: the program's sets, which live on while it waits.
        has_come: &|| unsafe { asked.any_ready(count) },
        // SAFETY: as above.
        from_outside: &|| any_from_outside(unsafe { AskedSets::new(count, sets) }.descriptors()),
    };
    if !wait_until(&check, of_any(place), deadline) {
        return INTERRUPTED;
    }
    // SAFETY: as above.
    unsafe { select_now(count, sets.map(|set| set as usize)) }
}

fn epoll_until(epoll: i32, events: *mut c_void, most: i32, deadline: u64, place: u64) -> isize {
    let check = Check {
        has_come: &|| is_ready(epoll, libc::POLLIN),
        from_outside: &|| any_from_outside(core::iter::once(epoll)),
    };
    if !wait_until(&check, of_any(place), deadline) {
        return INTERRUPTED;
    }
    let arguments = [epoll as usize, events as usize, most as usize, 0, 0, 0];
    // SAFETY: the program's room for events.
    unsafe { system::call(libc::SYS_epoll_wait, arguments) }
}

/// What `poll` answers under its name; by number, it is not recorded.
fn poll_by_name(entries: *mut libc::pollfd, count: u64, deadline: u64, place: u64) -> isize {
    // SAFETY: the program's entries, which live on while it waits.
    let asked = unsafe { Entries::new(entries, count) };
    let given = readiness::answer(&asked, deadline, place);
    given.unwrap_or_else(|| poll_until(entries, count, deadline, place))
}

fn select_by_name(count: i32, sets: [*mut libc::fd_set; 3], deadline: u64, place: u64) -> isize {
    // SAFETY: the program's sets, which live on while it waits.
    let asked = unsafe { AskedSets::new(count, sets) };
    let given = readiness::answer(&asked, deadline, place);
    given.unwrap_or_else(|| select_until(count, sets, deadline, place))
}

fn epoll_by_name(epoll: i32, events: *mut c_void, most: i32, deadline: u64, place: u64) -> isize {
    let asked = Events::new(epoll, events.cast(), most);
    let given = readiness::answer(&asked, deadline, place);
    given.unwrap_or_else(|| epoll_until(epoll, events, most, deadline, place))
}

unsafe fn short_span(time: *const libc::timeval) -> u64 {
    // SAFETY: null, or a time of the program.
    unsafe { time.as_ref() }.map_or(u64::MAX, |time| {
        let span = time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000;
        CLOCK.now().saturating_add(span)
    })
}

/// The answer to one of these calls that the program makes by number; `None` if it
/// is none of them.
pub fn answer(number: i64, arguments: [usize; 6], place: u64) -> Option<isize> {
    let [first, second, third, fourth, fifth, sixth] = arguments;
    let sets = [second, third, fourth].map(|set| set as *mut libc::fd_set);
    let poll = |deadline| poll_until(first as *mut _, second as u64, deadline, place);
    let epoll = |deadline| {
        epoll_until(
            first as i32,
            second as *mut _,
            third as i32,
            deadline,
            place,
        )
    };
    // SAFETY: what the program passed, as the kernel wants it.
    Some(unsafe {
        match number {
            libc::SYS_poll => poll(milliseconds(third as i32)),
            libc::SYS_ppoll => masked(fourth as *const _, || poll(span(third as *const _))),
            libc::SYS_select => {
                select_until(first as i32, sets, short_span(fifth as *const _), place)
            }
            libc::SYS_pselect6 => {
                // A set behind another pointer.
                let mask = (sixth as *const *const c_void).as_ref();
                masked(mask.copied().unwrap_or(core::ptr::null()), || {
                    select_until(first as i32, sets, span(fifth as *const _), place)
                })
            }
            libc::SYS_epoll_ctl => {
                note_registration(second as i32, place);
                return None;
            }
            libc::SYS_epoll_wait => epoll(milliseconds(fourth as i32)),
            libc::SYS_epoll_pwait => {
                masked(fifth as *const _, || epoll(milliseconds(fourth as i32)))
            }
            libc::SYS_epoll_pwait2 => masked(fifth as *const _, || epoll(span(fourth as *const _))),
            _ => return None,
        }
    })
}

interpose! {
    fn epoll_ctl(epoll: i32, operation: i32, descriptor: i32, event: *mut c_void) -> i32 {
        if control::is_on() {
            note_registration(operation, caller());
        }
        let change = real!(fn epoll_ctl(i32, i32, i32, *mut c_void) -> i32);
        readiness::register((epoll, operation, descriptor), event.cast(), |operation, event| {
            // SAFETY: passes on what the program passed, or a copy of it.
            dispatch::directly(|| unsafe { change(epoll, operation, descriptor, event.cast()) })
        })
    }

    fn poll(entries: *mut libc::pollfd, count: u64, timeout: i32) -> i32 {
        if !control::is_on() {
            let poll = real!(fn poll(*mut libc::pollfd, u64, i32) -> i32);
            // SAFETY: passes on what the program passed.
            return dispatch::in_passing(|| unsafe { poll(entries, count, timeout) });
        }
        answered(poll_by_name(entries, count, milliseconds(timeout), caller()))
    }

    fn ppoll(
        entries: *mut libc::pollfd,
        count: u64,
        time: *const libc::timespec,
        mask: *const c_void,
    ) -> i32 {
        if !control::is_on() {
            let poll = real!(fn ppoll(*mut libc::pollfd, u64, *const libc::timespec, *const c_void) -> i32);
            // SAFETY: passes on what the program passed.
            return dispatch::in_passing(|| unsafe { poll(entries, count, time, mask) });
        }
        let place = caller();
        // SAFETY: the program's time and mask.
        answered(unsafe { masked(mask, || poll_by_name(entries, count, span(time), place)) })
    }

    // What checked builds call.
    fn __poll_chk(entries: *mut libc::pollfd, count: u64, timeout: i32, room: usize) -> i32 {
        if !control::is_on() {
            let poll = real!(fn __poll_chk(*mut libc::pollfd, u64, i32, usize) -> i32);
            // SAFETY: passes on what the program passed.
            return dispatch::in_passing(|| unsafe { poll(entries, count, timeout, room) });
        }
        answered(poll_by_name(entries, count, milliseconds(timeout), caller()))
    }

    fn __ppoll_chk(
        entries: *mut libc::pollfd,
        count: u64,
        time: *const libc::timespec,
        mask: *const c_void,
        room: usize,
    ) -> i32 {
        if !control::is_on() {
            let poll = real!(fn __ppoll_chk(
                *mut libc::pollfd,
                u64,
                *const libc::timespec,
                *const c_void,
                usize,
            ) -> i32);
            // SAFETY: passes on what the program passed.
            return dispatch::in_passing(|| unsafe { poll(entries, count, time, mask, room) });
        }
        let place = caller();
        // SAFETY: the program's time and mask.
        answered(unsafe { masked(mask, || poll_by_name(entries, count, span(time), place)) })
    }

    fn select(
        count: i32,
        reads: *mut libc::fd_set,
        writes: *mut libc::fd_set,
        errors: *mut libc::fd_set,
        time: *mut libc::timeval,
    ) -> i32 {
        if !control::is_on() {
            let select = real!(fn select(
                i32,
                *mut libc::fd_set,
                *mut libc::fd_set,
                *mut libc::fd_set,
                *mut libc::timeval,
            ) -> i32);
            // SAFETY: passes on what the program passed.
            return dispatch::in_passing(|| unsafe { select(count, reads, writes, errors, time) });
        }
        // SAFETY: null, or a time of the program.
        let deadline = unsafe { short_span(time) };
        answered(select_by_name(count, [reads, writes, errors], deadline, caller()))
    }

    fn pselect(
        count: i32,
        reads: *mut libc::fd_set,
        writes: *mut libc::fd_set,
        errors: *mut libc::fd_set,
        time: *const libc::timespec,
        mask: *const c_void,
    ) -> i32 {
        if !control::is_on() {
            let select = real!(fn pselect(
                i32,
                *mut libc::fd_set,
                *mut libc::fd_set,
                *mut libc::fd_set,
                *const libc::timespec,
                *const c_void,
            ) -> i32);
            // SAFETY: passes on what the program passed.
            return dispatch::in_passing(|| unsafe { select(count, reads, writes, errors, time, mask) });
        }
        let place = caller();
        let sets = [reads, writes, errors];
        // SAFETY: the program's time and mask.
        answered(unsafe { masked(mask, || select_by_name(count, sets, span(time), place)) })
    }

    fn epoll_wait(epoll: i32, events: *mut c_void, most: i32, timeout: i32) -> i32 {
        if control::is_on() {
            return answered(epoll_by_name(epoll, events, most, milliseconds(timeout), caller()));
        }
        let wait = real!(fn epoll_wait(i32, *mut c_void, i32, i32) -> i32);
        // SAFETY: passes on what the program passed.
        dispatch::in_passing(|| unsafe { wait(epoll, events, most, timeout) })
    }

    fn epoll_pwait(epoll: i32, events: *mut c_void, most: i32, timeout: i32, mask: *const c_void) -> i32 {
        if control::is_on() {
            let (deadline, place) = (milliseconds(timeout), caller());
            // SAFETY: the program's mask.
            return answered(unsafe { masked(mask, || epoll_by_name(epoll, events, most, deadline, place)) });
        }
        let wait = real!(fn epoll_pwait(i32, *mut c_void, i32, i32, *const c_void) -> i32);
        // SAFETY: passes on what the program passed.
        dispatch::in_passing(|| unsafe { wait(epoll, events, most, timeout, mask) })
    }

    fn epoll_pwait2(
        epoll: i32,
        events: *mut c_void,
        most: i32,
        time: *const libc::timespec,
        mask: *const c_void,
    ) -> i32 {
        if control::is_on() {
            let place = caller();
            // SAFETY: the program's time and mask.
            return answered(unsafe { masked(mask, || epoll_by_name(epoll, events, most, span(time), place)) });
        }
        let wait = real!(fn epoll_pwait2(i32, *mut c_void, i32, *const libc::timespec, *const c_void) -> i32);
        // SAFETY: passes on what the program passed.
        dispatch::in_passing(|| unsafe { wait(epoll, events, most, time, mask) })
    }
}
