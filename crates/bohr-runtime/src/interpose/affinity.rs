//! On which of the machine's processors a thread wants to run, and on which it
//! seems to: nothing that the kernel hears of, since one processor runs them all.

use super::{interpose, machine};
use crate::{control, engine::ENGINE, real::real, thread::Thread};
use core::ffi::c_void;

/// Processors that the program sees.
pub const PROCESSORS: usize = 4;
/// One bit for each.
pub const ALL: u8 = (1 << PROCESSORS) - 1;

/// The processor that the running thread seems to be on: one of those that it has
/// asked for, the same in every run.
fn processor() -> u32 {
    let thread = ENGINE.current();
    let wanted = thread.processors.get();
    let position = thread.index.0 % wanted.count_ones();
    let mut allowed = (0..PROCESSORS as u32).filter(|number| wanted & 1 << number != 0);
    allowed.nth(position as usize).unwrap_or(0)
}

/// Answers `getcpu`.
///
/// # Safety
/// Both are null or room for a number.
unsafe fn tell_processor(processor: *mut u32, node: *mut u32) {
    // SAFETY: the caller answers for both.
    unsafe {
        if let Some(processor) = processor.as_mut() {
            *processor = self::processor();
        }
        if let Some(node) = node.as_mut() {
            *node = 0;
        }
    }
}

/// What attributes of a thread ask for; `None` if that is nothing.
///
/// # Safety
/// They must be initialised.
pub unsafe fn of_attributes(attributes: *const libc::pthread_attr_t) -> Option<u8> {
    unsafe extern "C" {
        fn pthread_attr_getaffinity_np(
            attributes: *const libc::pthread_attr_t,
            size: usize,
            mask: *mut u8,
        ) -> i32;
    }
    let mut mask = [0u8; size_of::<libc::cpu_set_t>()];
    // SAFETY: the caller answers for the attributes.
    let error = unsafe { pthread_attr_getaffinity_np(attributes, mask.len(), mask.as_mut_ptr()) };
    // Attributes that say nothing have all bits set.
    let is_said = error == 0 && mask.iter().any(|&byte| byte != u8::MAX);
    is_said
        .then_some(mask[0] & ALL)
        .filter(|&wanted| wanted != 0)
}

/// An error number or 0.
///
/// # Safety
/// The mask must be room for `size` bytes.
unsafe fn tell(thread: &Thread, size: usize, mask: *mut u8) -> i32 {
    if size * 8 < PROCESSORS || !size.is_multiple_of(size_of::<usize>()) {
        return libc::EINVAL;
    }
    if mask.is_null() {
        return libc::EFAULT;
    }
    // SAFETY: the program wants that many bytes there.
    unsafe {
        core::ptr::write_bytes(mask, 0, size);
        *mask = thread.processors.get();
    }
    0
}

/// An error number or 0.
///
/// # Safety
/// The mask must be `size` bytes.
unsafe fn change(thread: &Thread, size: usize, mask: *const u8) -> i32 {
    if mask.is_null() && size > 0 {
        return libc::EFAULT;
    }
    // SAFETY: the caller answers for it.
    let first = if size > 0 { unsafe { *mask } } else { 0 };
    match first & ALL {
        0 => libc::EINVAL,
        wanted => {
            thread.processors.set(wanted);
            0
        }
    }
}

/// The thread that a number from `gettid` means; 0 is the one that runs.
fn numbered(number: i32) -> Option<&'static Thread> {
    match number {
        0 => Some(ENGINE.current()),
        _ => machine::numbered(number).map(|index| ENGINE.thread(index)),
    }
}

/// Answers a system call; `None` if it is none of these. The kernel's own form tells how
/// many bytes it has written.
pub fn answer(number: i64, arguments: [usize; 6]) -> Option<isize> {
    let [first, second, third, ..] = arguments;
    if number == libc::SYS_getcpu {
        // SAFETY: the program passes room for what it asks for, or nothing.
        unsafe { tell_processor(first as *mut u32, second as *mut u32) };
        return Some(0);
    }
    let (is_told, is_changed) = (
        number == libc::SYS_sched_getaffinity,
        number == libc::SYS_sched_setaffinity,
    );
    if !is_told && !is_changed {
        return None;
    }
    let Some(thread) = numbered(first as i32) else {
        return Some(-(libc::ESRCH as isize));
    };
    // SAFETY: the program passes a mask of the size that it says.
    let error = unsafe {
        match is_told {
            true => tell(thread, second, third as *mut u8),
            false => change(thread, second, third as *const u8),
        }
    };
    Some(match error {
        0 if is_told => second as isize,
        error => -(error as isize),
    })
}

/// As functions answer that set `errno`.
fn answered(error: i32) -> i32 {
    if error == 0 {
        return 0;
    }
    // SAFETY: `errno` is always there.
    unsafe { *libc::__errno_location() = error };
    -1
}

interpose! {
    fn sched_getcpu() -> i32 {
        if !control::is_on() {
            let get = real!(fn sched_getcpu() -> i32);
            // SAFETY: passes on the call.
            return unsafe { get() };
        }
        processor() as i32
    }

    fn getcpu(processor: *mut u32, node: *mut u32) -> i32 {
        if !control::is_on() {
            let get = real!(fn getcpu(*mut u32, *mut u32) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { get(processor, node) };
        }
        // SAFETY: the program wants the numbers there, if anywhere.
        unsafe { tell_processor(processor, node) };
        0
    }

    fn sched_getaffinity(process: i32, size: usize, mask: *mut u8) -> i32 {
        if !control::is_on() {
            let get = real!(fn sched_getaffinity(i32, usize, *mut u8) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { get(process, size, mask) };
        }
        // SAFETY: the program wants the mask there.
        answered(numbered(process).map_or(libc::ESRCH, |thread| unsafe { tell(thread, size, mask) }))
    }

    fn sched_setaffinity(process: i32, size: usize, mask: *const c_void) -> i32 {
        if !control::is_on() {
            let set = real!(fn sched_setaffinity(i32, usize, *const c_void) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { set(process, size, mask) };
        }
        // SAFETY: the program's mask.
        answered(numbered(process).map_or(libc::ESRCH, |thread| unsafe { change(thread, size, mask.cast()) }))
    }

    fn pthread_getaffinity_np(thread: libc::pthread_t, size: usize, mask: *mut u8) -> i32 {
        if !control::is_on() {
            let get = real!(fn pthread_getaffinity_np(libc::pthread_t, usize, *mut u8) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { get(thread, size, mask) };
        }
        // SAFETY: the program wants the mask there.
        ENGINE.by_handle(thread).map_or(libc::ESRCH, |thread| unsafe { tell(thread, size, mask) })
    }

    fn pthread_setaffinity_np(thread: libc::pthread_t, size: usize, mask: *const c_void) -> i32 {
        if !control::is_on() {
            let set = real!(fn pthread_setaffinity_np(libc::pthread_t, usize, *const c_void) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { set(thread, size, mask) };
        }
        // SAFETY: the program's mask.
        ENGINE.by_handle(thread).map_or(libc::ESRCH, |thread| unsafe { change(thread, size, mask.cast()) })
    }
}
