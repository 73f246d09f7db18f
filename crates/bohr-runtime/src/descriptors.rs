//! Whether files, pipes and sockets are ready: asked of the kernel.

use crate::{engine::ENGINE, notices, system, thread::Wait};
use bohr_event::control::Notice;

/// A question that a waiting call asks again and again: whether any of its
/// descriptors is ready.
pub type Check = dyn Fn() -> bool;

/// Whether the descriptor is ready for one of these `poll` events, or broken,
/// which a call on it will tell.
pub fn is_ready(descriptor: i32, events: i16) -> bool {
    let mut entry = libc::pollfd {
        fd: descriptor,
        events,
        revents: 0,
    };
    poll(&mut entry, 0) != 0
}

fn poll(entry: &mut libc::pollfd, milliseconds: i32) -> isize {
    let arguments = [&raw mut *entry as usize, 1, milliseconds as usize, 0, 0, 0];
    // SAFETY: reads and writes the entry.
    unsafe { system::call(libc::SYS_poll, arguments) }
}

/// Asks the check that lies at this address, on the stack of a waiting thread.
pub fn check(address: usize) -> bool {
    // SAFETY: the waiting call keeps the reference at this address alive as
    // long as its thread's wait names it.
    let check = unsafe { *(address as *const &Check) };
    check()
}

/// Nobody can go on and no deadline is near: if somebody waits for the outside
/// world, lets a little real time pass. Says whether anybody does.
pub fn wait_for_outside() -> bool {
    let mut outside = false;
    ENGINE.each_live(|thread| {
        outside |= matches!(thread.wait.get(), Wait::Descriptor(..) | Wait::Check(_));
    });
    if outside {
        notices::note(Notice::OutsideInput);
        // A pipe that only the program itself could write to never becomes
        // ready; the wall-clock limit ends such a run.
        let mut nothing = libc::pollfd {
            fd: -1,
            events: 0,
            revents: 0,
        };
        poll(&mut nothing, 1);
    }
    outside
}
