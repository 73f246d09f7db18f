//! POSIX message queues: descriptors that the kernel can be asked about, and
//! calls with a deadline.

use super::INTERRUPTED;
use crate::{
    clock::CLOCK,
    descriptors,
    engine::{ENGINE, Woken, operation},
    interpose::cancel,
    system,
    thread::{Interruptible, Wait},
};
use bohr_event::EventKind;

/// Answers a call on a queue that can wait; `None` if it is none of these.
pub fn answer(number: i64, arguments: [usize; 6], place: u64) -> Option<isize> {
    let (kind, events) = match number {
        libc::SYS_mq_timedsend => (EventKind::Send, libc::POLLOUT),
        libc::SYS_mq_timedreceive => (EventKind::Receive, libc::POLLIN),
        _ => return None,
    };
    let [queue, buffer, length, priority, time, _] = arguments;
    let descriptor = queue as i32;
    if descriptors::is_nonblocking(descriptor) {
        return None;
    }
    // SAFETY: null, or a time of the program.
    let time = unsafe { (time as *const libc::timespec).as_ref() };
    let deadline = time.map_or(u64::MAX, |time| CLOCK.deadline(libc::CLOCK_REALTIME, time));
    let transfer = operation(kind, descriptors::name_of(descriptor), place);
    let wait = Wait::Descriptor(descriptor, events);
    let by = Interruptible::Unrestarted;
    Some(
        match ENGINE.announce_interruptible(transfer, wait, deadline, by) {
            Woken::Cancelled => cancel::act(),
            Woken::Interrupted => INTERRUPTED,
            Woken::Expired => -(libc::ETIMEDOUT as isize),
            // SAFETY: what the program asked for, and it need not wait.
            Woken::Ready => unsafe {
                system::call(number, [queue, buffer, length, priority, 0, 0])
            },
        },
    )
}
