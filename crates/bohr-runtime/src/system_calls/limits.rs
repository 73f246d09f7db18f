//! Limits of memory that the program sets itself. The runtime keeps heap, stacks and
//! traces far apart in the address space, so a limit that the program could live with
//! would end the run if the kernel knew of it. It is kept here for whoever asks, and holds
//! for what the program asks for: blocks of the heap, and memory that it maps. What is
//! there from the beginning, programs and libraries, and the stacks of threads do not
//! count, so a program gets a little more than the system would give it.

use crate::{carrier::CarrierOnly, footprint::mappings, heap, peek, system};
use core::cell::Cell;

/// Limits that are only kept: of the address space, and of data.
const KEPT: [u32; 2] = [libc::RLIMIT_AS, libc::RLIMIT_DATA];

static OWN: CarrierOnly<Cell<[Option<libc::rlimit64>; KEPT.len()]>> =
    CarrierOnly::new(Cell::new([None; KEPT.len()]));

/// The smallest of them.
#[unsafe(link_section = "bohr_hot")]
static ROOM: CarrierOnly<Cell<u64>> = CarrierOnly::new(Cell::new(u64::MAX));

/// Whether the program may have so many more bytes.
#[inline]
pub fn leave_room(more: usize) -> bool {
    ROOM.get() == u64::MAX || leave_room_for(more)
}

#[cold]
fn leave_room_for(more: usize) -> bool {
    let in_use = heap::in_use() + mappings::length();
    in_use.saturating_add(more) as u64 <= ROOM.get()
}

/// As [`super::answer`].
pub fn answer(number: i64, arguments: [usize; 6]) -> Option<isize> {
    let [first, second, third, fourth, ..] = arguments;
    let (resource, new, old) = match number {
        libc::SYS_mmap if !leave_room(second) => return Some(-(libc::ENOMEM as isize)),
        libc::SYS_prlimit64 if first == 0 => (second, third, fourth),
        libc::SYS_setrlimit => (first, second, 0),
        libc::SYS_getrlimit => (first, 0, second),
        _ => return None,
    };
    let position = KEPT.iter().position(|kept| *kept as usize == resource)?;
    Some(match exchange(position, new, old) {
        Ok(()) => 0,
        Err(error) => -(error as isize),
    })
}

/// Takes the limit at `new` and writes the one before to `old`, where these are given.
fn exchange(position: usize, new: usize, old: usize) -> Result<(), i32> {
    let mut all = OWN.get();
    let before = match all[position] {
        Some(own) => own,
        None => of_system(KEPT[position])?,
    };
    if new != 0 {
        let word = |offset| peek::peek(new.wrapping_add(offset), 8).ok_or(libc::EFAULT);
        let (rlim_cur, rlim_max) = (word(0)?, word(8)?);
        if rlim_cur > rlim_max {
            return Err(libc::EINVAL);
        }
        all[position] = Some(libc::rlimit64 { rlim_cur, rlim_max });
        OWN.set(all);
        let limits = all.iter().flatten().map(|limit| limit.rlim_cur);
        ROOM.set(limits.min().unwrap_or(u64::MAX));
    }
    if old != 0 {
        peek::peek(old, 8).ok_or(libc::EFAULT)?;
        // SAFETY: the program passes room for it.
        unsafe { *(old as *mut libc::rlimit64) = before };
    }
    Ok(())
}

fn of_system(resource: u32) -> Result<libc::rlimit64, i32> {
    let mut limit = libc::rlimit64 {
        rlim_cur: 0,
        rlim_max: 0,
    };
    let ask = [0, resource as usize, 0, &raw mut limit as usize, 0, 0];
    // SAFETY: writes the limit.
    unsafe { system::try_call(libc::SYS_prlimit64, ask) }.map(|_| limit)
}
