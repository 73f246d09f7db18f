//! Who may do something to objects of a run without being in it: processes that the
//! program has made by copying itself, through memory that is shared, and threads that
//! it has made by `clone`. The kernel knows nothing of fibers and the engine nothing of
//! them: wake-ups have to reach both, and a wait that a neighbour can end is no deadlock.

use crate::{
    carrier::CarrierOnly,
    notices, system,
    thread::{Thread, Wait},
};
use alloc::vec::Vec;
use bohr_event::control::Notice;
use core::{cell::RefCell, mem::MaybeUninit};

/// Processes that were made, and may have ended.
static CHILDREN: CarrierOnly<RefCell<Vec<i32>>> = CarrierOnly::new(RefCell::new(Vec::new()));

/// The program has made a copy of itself.
pub fn note(process: i32) {
    CHILDREN.borrow_mut().push(process);
}

/// Whether anybody may be there who shares objects that are `shared` between
/// processes, or all of them.
pub fn may_share(shared: bool) -> bool {
    notices::is_noted(Notice::HiddenThread) || shared && !CHILDREN.borrow().is_empty()
}

/// Whether one of them could end the wait. Slow: for when nobody else can.
pub fn could_end(thread: &Thread) -> bool {
    let (Wait::Mutex(object)
    | Wait::ReadLock(object)
    | Wait::WriteLock(object)
    | Wait::Semaphore(object)
    | Wait::SpinLock(object)
    | Wait::PriorityLock(object)
    | Wait::Wake(object)) = thread.wait.get()
    else {
        return false;
    };
    // Whether such a thread still lives, nobody can tell.
    notices::is_noted(Notice::HiddenThread) || does_child_live() && is_shared(object)
}

fn does_child_live() -> bool {
    let mut children = CHILDREN.borrow_mut();
    children.retain(|&process| lives(process));
    !children.is_empty()
}

/// Whether a child has not ended yet; leaves it as it is.
fn lives(process: i32) -> bool {
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    let options = (libc::WEXITED | libc::WNOHANG | libc::WNOWAIT) as usize;
    let address = info.as_mut_ptr() as usize;
    let arguments = [
        libc::P_PID as usize,
        process as usize,
        address,
        options,
        0,
        0,
    ];
    // SAFETY: writes the information, which is valid as zeroes, too.
    unsafe {
        let answer = system::try_call(libc::SYS_waitid, arguments);
        answer.is_ok() && info.assume_init().si_pid() == 0
    }
}

/// Whether the address lies in memory that copies of this process share.
fn is_shared(address: usize) -> bool {
    let text = system::file(c"/proc/self/maps").unwrap_or_default();
    let mut lines = text.split(|&byte| byte == b'\n');
    lines.any(|line| is_shared_line(line, address).unwrap_or(false))
}

/// Whether a line of the kernel's list, `START-END RIGHTS …`, is about shared memory
/// that holds the address.
fn is_shared_line(line: &[u8], address: usize) -> Option<bool> {
    let mut words = core::str::from_utf8(line).ok()?.split(' ');
    let (start, end) = words.next()?.split_once('-')?;
    let bound = |word| usize::from_str_radix(word, 16).ok();
    let holds = (bound(start)?..bound(end)?).contains(&address);
    Some(holds && words.next()?.ends_with('s'))
}
