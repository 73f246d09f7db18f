//! What threads are told by `poll`, `select` and `epoll`: where there is something, and
//! for whom. Events of `epoll` go by descriptors in the log, since the words that a
//! program has put beside those may be addresses.

use crate::outside::{note_ready, result};
use crate::real::real;
use crate::registrations;
use crate::thread::{keeping_errno, known};
use bohr_event::inputs::Ready;
use core::slice;
use libc::{c_int, c_short, c_void, epoll_event, fd_set, nfds_t, pollfd, timespec, timeval};

/// A thread was told about these entries.
unsafe fn polled(entries: *const pollfd, count: nfds_t, returned: c_int) -> c_int {
    if known().is_some() {
        let result = result(returned as isize);
        keeping_errno(|| {
            let count = if returned > 0 { count as usize } else { 0 };
            let entries = match count {
                0 => &[],
                // SAFETY: the program has passed so many entries.
                _ => unsafe { slice::from_raw_parts(entries, count) },
            };
            let ready = entries.iter().enumerate();
            let ready = ready.filter(|(_, entry)| entry.revents != 0);
            note_ready(
                result,
                ready.map(|(at, entry)| Ready {
                    which: at as u32,
                    events: u32::from(entry.revents.cast_unsigned()),
                }),
            );
        });
    }
    returned
}

/// Shadows functions of the C library that look at a row of entries.
macro_rules! shadow_polls {
    ($(fn $name:ident($($argument:ident: $kind:ty),*);)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $name(
            entries: *mut pollfd,
            count: nfds_t
            $(, $argument: $kind)*
        ) -> c_int {
            let real = real!(fn $name(*mut pollfd, nfds_t $(, $kind)*) -> c_int);
            // SAFETY: passes on what the program passed, and reads what it got.
            unsafe { polled(entries, count, real(entries, count $(, $argument)*)) }
        }
    )*};
}

shadow_polls! {
    fn poll(timeout: c_int);
    fn ppoll(time: *const timespec, mask: *const c_void);
    // What checked builds call.
    fn __poll_chk(timeout: c_int, room: usize);
    fn __ppoll_chk(time: *const timespec, mask: *const c_void, room: usize);
}

/// Sets of a `select`, for reading, writing and what is out of the ordinary.
type Sets = [*mut fd_set; 3];

/// For what a descriptor is ready that is in such a set.
const MEANINGS: [c_short; 3] = [libc::POLLIN, libc::POLLOUT, libc::POLLPRI];

/// What is in the sets of one descriptor.
unsafe fn events(sets: Sets, descriptor: usize) -> u32 {
    let given = sets
        .into_iter()
        .zip(MEANINGS)
        .filter(|(set, _)| !set.is_null());
    given.fold(0, |events, (set, meaning)| {
        // SAFETY: the program's set has room for this descriptor.
        let byte = unsafe { *set.cast::<u8>().add(descriptor / 8) };
        let is_in = byte >> (descriptor % 8) & 1 == 1;
        events | if is_in { meaning as u32 } else { 0 }
    })
}

unsafe fn selected(count: c_int, sets: Sets, returned: c_int) -> c_int {
    if known().is_some() {
        let result = result(returned as isize);
        keeping_errno(|| {
            let count = if returned > 0 { count as usize } else { 0 };
            let ready = (0..count).map(|descriptor| Ready {
                which: descriptor as u32,
                // SAFETY: below the number that the program has passed.
                events: unsafe { events(sets, descriptor) },
            });
            note_ready(result, ready.filter(|ready| ready.events != 0));
        });
    }
    returned
}

/// Shadows the C library's.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn select(
    count: c_int,
    reads: *mut fd_set,
    writes: *mut fd_set,
    errors: *mut fd_set,
    time: *mut timeval,
) -> c_int {
    let real =
        real!(fn select(c_int, *mut fd_set, *mut fd_set, *mut fd_set, *mut timeval) -> c_int);
    // SAFETY: passes on what the program passed, and reads what it got.
    unsafe {
        let returned = real(count, reads, writes, errors, time);
        selected(count, [reads, writes, errors], returned)
    }
}

/// Shadows the C library's.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn pselect(
    count: c_int,
    reads: *mut fd_set,
    writes: *mut fd_set,
    errors: *mut fd_set,
    time: *const timespec,
    mask: *const c_void,
) -> c_int {
    let real = real!(fn pselect(
        c_int,
        *mut fd_set,
        *mut fd_set,
        *mut fd_set,
        *const timespec,
        *const c_void,
    ) -> c_int);
    // SAFETY: passes on what the program passed, and reads what it got.
    unsafe {
        let returned = real(count, reads, writes, errors, time, mask);
        selected(count, [reads, writes, errors], returned)
    }
}

unsafe fn happened(epoll: c_int, events: *const epoll_event, returned: c_int) -> c_int {
    if known().is_some() {
        let result = result(returned as isize);
        keeping_errno(|| {
            let ready = (0..returned.max(0) as usize).map(|at| {
                // SAFETY: the call has written so many.
                let event = unsafe { events.add(at).read_unaligned() };
                Ready {
                    which: registrations::descriptor(epoll, event.u64).unwrap_or(Ready::UNKNOWN),
                    events: event.events,
                }
            });
            note_ready(result, ready);
        });
    }
    returned
}

/// Shadows functions of the C library that wait for events.
macro_rules! shadow_waits {
    ($(fn $name:ident($($argument:ident: $kind:ty),*);)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $name(
            epoll: c_int,
            events: *mut epoll_event,
            most: c_int
            $(, $argument: $kind)*
        ) -> c_int {
            let real = real!(fn $name(c_int, *mut epoll_event, c_int $(, $kind)*) -> c_int);
            // SAFETY: passes on what the program passed, and reads what it got.
            unsafe { happened(epoll, events, real(epoll, events, most $(, $argument)*)) }
        }
    )*};
}

shadow_waits! {
    fn epoll_wait(timeout: c_int);
    fn epoll_pwait(timeout: c_int, mask: *const c_void);
    fn epoll_pwait2(time: *const timespec, mask: *const c_void);
}

/// Shadows the C library's.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn epoll_ctl(
    epoll: c_int,
    operation: c_int,
    descriptor: c_int,
    event: *mut epoll_event,
) -> c_int {
    let real = real!(fn epoll_ctl(c_int, c_int, c_int, *mut epoll_event) -> c_int);
    // SAFETY: passes on what the program passed, and reads it.
    unsafe {
        // Before anybody can be told.
        if operation != libc::EPOLL_CTL_DEL && !event.is_null() {
            let word = event.read_unaligned().u64;
            registrations::note(epoll, descriptor, word);
        }
        real(epoll, operation, descriptor, event)
    }
}
