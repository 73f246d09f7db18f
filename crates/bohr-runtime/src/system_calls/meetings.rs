//! Opening a pipe that has a name: who opens one end waits for somebody to open the
//! other. It is opened without waiting, and the engine waits until both are there.

use super::INTERRUPTED;
use crate::{
    descriptors::{self, Check},
    engine::{ENGINE, operation},
    interpose::polling,
    system,
};
use bohr_event::{EventKind, Operation};
use core::{cell::Cell, mem::MaybeUninit};

/// Which of the call's arguments say what.
#[derive(Clone, Copy)]
struct Opening {
    number: i64,
    arguments: [usize; 6],
    /// Where the flags are among them.
    flags: usize,
    /// From where a relative path leads on.
    directory: usize,
    path: usize,
}

impl Opening {
    fn of(number: i64, arguments: [usize; 6]) -> Option<Opening> {
        let [first, second, ..] = arguments;
        let (flags, directory, path) = match number {
            libc::SYS_open => (1, libc::AT_FDCWD as usize, first),
            libc::SYS_openat => (2, first, second),
            _ => return None,
        };
        Some(Opening {
            number,
            arguments,
            flags,
            directory,
            path,
        })
    }

    fn flags(&self) -> i32 {
        self.arguments[self.flags] as i32
    }

    /// Whether it waits if it is a pipe that it opens. (For both ways at once
    /// there is nobody to wait for.)
    fn is_patient(&self) -> bool {
        let one_way = self.flags() & libc::O_ACCMODE != libc::O_RDWR;
        one_way && self.flags() & (libc::O_NONBLOCK | libc::O_PATH) == 0
    }

    /// The pipe that it opens, if it is one.
    fn pipe(&self) -> Option<libc::stat> {
        let mut status = MaybeUninit::<libc::stat>::zeroed();
        let own = match self.flags() & libc::O_NOFOLLOW {
            0 => 0,
            _ => libc::AT_SYMLINK_NOFOLLOW as usize,
        };
        let address = status.as_mut_ptr() as usize;
        let arguments = [self.directory, self.path, address, own, 0, 0];
        // SAFETY: reads the program's path, or finds that it cannot, and writes
        // the status, which is valid as zeroes, too.
        let status = unsafe {
            system::try_call(libc::SYS_newfstatat, arguments).ok()?;
            status.assume_init()
        };
        (status.st_mode & libc::S_IFMT == libc::S_IFIFO).then_some(status)
    }

    fn hastily(&self) -> isize {
        let mut arguments = self.arguments;
        arguments[self.flags] |= libc::O_NONBLOCK as usize;
        // SAFETY: what the program asked for, without waiting.
        unsafe { system::call(self.number, arguments) }
    }
}

/// Answers the opening of a pipe; `None` for all else.
pub fn answer(number: i64, arguments: [usize; 6], place: u64) -> Option<isize> {
    let opening = Opening::of(number, arguments).filter(Opening::is_patient)?;
    let pipe = opening.pipe()?;
    let name = descriptors::name_of_pipe(&pipe);
    ENGINE.step(operation(EventKind::Send, name, place));
    let opened = match opening.flags() & libc::O_ACCMODE {
        libc::O_RDONLY => read(opening, name, place),
        _ => write(opening, name, place),
    };
    if let Ok(descriptor) = usize::try_from(opened) {
        // What follows waits as the program expects.
        let flags = opening.flags() as usize & !(libc::O_CREAT | libc::O_EXCL) as usize;
        let arguments = [descriptor, libc::F_SETFL as usize, flags, 0, 0, 0];
        // SAFETY: a descriptor that has just been opened.
        unsafe { system::call(libc::SYS_fcntl, arguments) };
    }
    Some(opened)
}

fn receive(name: usize, place: u64) -> Operation {
    operation(EventKind::Receive, name, place)
}

/// Who reads is there from now on, so that whoever writes can find it.
fn read(opening: Opening, name: usize, place: u64) -> isize {
    let opened = opening.hastily();
    let Ok(descriptor) = i32::try_from(opened) else {
        return opened;
    };
    if opened < 0
        || polling::wait_until(
            &Check::of_anybody(&|| has_writer(descriptor)),
            receive(name, place),
            u64::MAX,
        )
    {
        return opened;
    }
    // SAFETY: nobody knows of it.
    unsafe { system::call(libc::SYS_close, [descriptor as usize, 0, 0, 0, 0, 0]) };
    INTERRUPTED
}

/// Who writes tries until somebody reads. To look is to open, and that is kept: a
/// writer that came and went would be the end of the pipe for who reads.
fn write(opening: Opening, name: usize, place: u64) -> isize {
    const ALONE: isize = -(libc::ENXIO as isize);
    let opened = Cell::new(ALONE);
    let met = || {
        if opened.get() == ALONE {
            opened.set(opening.hastily());
        }
        opened.get() != ALONE
    };
    match polling::wait_until(&Check::of_anybody(&met), receive(name, place), u64::MAX) {
        true => opened.get(),
        false => INTERRUPTED,
    }
}

/// Whether somebody has opened the pipe for writing, also if that is over. A read
/// that has nowhere to put what it reads takes nothing: it finds the end if there
/// is no writer, and otherwise an error.
fn has_writer(descriptor: i32) -> bool {
    const NOWHERE: usize = 1;
    let arguments = [descriptor as usize, NOWHERE, 1, 0, 0, 0];
    // SAFETY: the kernel cannot write there.
    let read = unsafe { system::try_call(libc::SYS_read, arguments) };
    read.is_err() || descriptors::is_ready(descriptor, libc::POLLIN)
}
