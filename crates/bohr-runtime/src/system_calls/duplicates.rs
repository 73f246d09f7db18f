//! Descriptors that are made of others, and their ends: what is known of one holds for
//! its duplicates, and not for whatever gets its number later.

use crate::{descriptors, system};

/// As [`super::answer`].
pub fn answer(number: i64, arguments: [usize; 6]) -> Option<isize> {
    let [first, second, third, ..] = arguments;
    match number {
        libc::SYS_close => {
            descriptors::forget(first as i32);
            None
        }
        libc::SYS_close_range if third as u32 & libc::CLOSE_RANGE_CLOEXEC == 0 => {
            descriptors::forget_all(first..=second);
            None
        }
        libc::SYS_dup | libc::SYS_dup2 | libc::SYS_dup3 => Some(duplicate(number, arguments)),
        libc::SYS_fcntl if [libc::F_DUPFD, libc::F_DUPFD_CLOEXEC].contains(&(second as i32)) => {
            Some(duplicate(number, arguments))
        }
        _ => None,
    }
}

fn duplicate(number: i64, arguments: [usize; 6]) -> isize {
    // SAFETY: what the caller asked for.
    let answer = unsafe { system::call(number, arguments) };
    if answer >= 0 {
        descriptors::copy(arguments[0] as i32, answer as i32);
    }
    answer
}
