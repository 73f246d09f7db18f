//! What becomes of the output of runs, and of the file offsets that they share
//! with their template.

use crate::{
    carrier::CarrierOnly, channel, descriptors, notices, peek::peek, rewind::PAGE, system,
};
use alloc::vec::Vec;
use bohr_event::control::{Notice, Output};
use core::cell::{Cell, RefCell};

/// Descriptors of the template.
pub struct Descriptors {
    /// A file in memory that runs write into; -1 if there is none.
    capture: Cell<i32>,
    /// `/dev/null`; -1 if it has not been opened.
    sink: Cell<i32>,
    mode: Cell<Output>,
    /// What was captured before the fork point and belongs to every run, in bytes.
    kept: Cell<usize>,
    /// Bytes that this run has written.
    written: Cell<u64>,
    /// Offsets of the files that were open at the fork point.
    offsets: RefCell<Vec<(i32, usize)>>,
    /// Whether calls on them wait, and the like: belongs to the open file, not to
    /// the process, and so to all runs.
    flags: RefCell<Vec<(i32, usize)>>,
}

static DESCRIPTORS: CarrierOnly<Descriptors> = CarrierOnly::new(Descriptors {
    capture: Cell::new(-1),
    sink: Cell::new(-1),
    mode: Cell::new(Output::Inherit),
    kept: Cell::new(0),
    written: Cell::new(0),
    offsets: RefCell::new(Vec::new()),
    flags: RefCell::new(Vec::new()),
});

/// Descriptors looked at for offsets.
const LOOKED_AT: i32 = 64;

fn seek(descriptor: i32, offset: usize, whence: i32) -> system::Answer {
    let arguments = [descriptor as usize, offset, whence as usize, 0, 0, 0];
    // SAFETY: moves an offset.
    unsafe { system::try_call(libc::SYS_lseek, arguments) }
}

fn control(descriptor: i32, command: i32, argument: usize) -> system::Answer {
    let arguments = [descriptor as usize, command as usize, argument, 0, 0, 0];
    // SAFETY: asks for the flags of a descriptor, or sets them.
    unsafe { system::try_call(libc::SYS_fcntl, arguments) }
}

/// At the fork point: notes offsets and flags, and streams that runs would share.
pub fn note() {
    let mut offsets = DESCRIPTORS.offsets.borrow_mut();
    let mut flags = DESCRIPTORS.flags.borrow_mut();
    offsets.clear();
    flags.clear();
    for descriptor in 0..LOOKED_AT {
        if let Ok(now) = control(descriptor, libc::F_GETFL, 0) {
            flags.push((descriptor, now));
        }
        match seek(descriptor, 0, libc::SEEK_CUR) {
            Ok(offset) if is_file(descriptor) => {
                offsets.push((descriptor, offset));
                if descriptor > 2 && descriptors::is_writable(descriptor) {
                    notices::note(Notice::SharedFile);
                }
            }
            Err(libc::ESPIPE) if descriptor == 0 || descriptor > 2 => {
                notices::note(Notice::SharedStream);
            }
            _ => {}
        }
    }
}

/// Whether it is a file, and not a device that only answers like one.
fn is_file(descriptor: i32) -> bool {
    let status = descriptors::status(descriptor);
    status.is_some_and(|status| status.st_mode & libc::S_IFMT == libc::S_IFREG)
}

/// Before a run in a clone of its own: sets flags and offsets back. (A run that has
/// changed flags is not undone.)
pub fn restore() {
    for &(descriptor, flags) in DESCRIPTORS.flags.borrow().iter() {
        let _ = control(descriptor, libc::F_SETFL, flags);
    }
    restore_offsets();
}

/// Before any run: sets the offsets back.
pub fn restore_offsets() {
    for &(descriptor, offset) in DESCRIPTORS.offsets.borrow().iter() {
        // A template's descriptors stay open, so this does what it says.
        let _ = seek(descriptor, offset, libc::SEEK_SET);
    }
}

/// Before a job.
pub fn prepare(mode: Output) -> Result<(), i32> {
    DESCRIPTORS.mode.set(mode);
    match mode {
        Output::Inherit => return Ok(()),
        Output::Discard | Output::Capture { .. } if DESCRIPTORS.sink.get() < 0 => {
            let flags = (libc::O_RDWR | libc::O_CLOEXEC) as usize;
            let path = c"/dev/null".as_ptr() as usize;
            let arguments = [libc::AT_FDCWD as usize, path, flags, 0, 0, 0];
            // SAFETY: reads the path.
            let sink = unsafe { system::try_call(libc::SYS_openat, arguments) }?;
            DESCRIPTORS.sink.set(channel::move_up(sink as i32)?);
        }
        Output::Discard | Output::Capture { .. } => {}
    }
    match mode {
        Output::Capture { .. } if DESCRIPTORS.capture.get() < 0 => {
            let name = c"bohr-output".as_ptr() as usize;
            let arguments = [name, libc::MFD_CLOEXEC as usize, 0, 0, 0, 0];
            // SAFETY: reads the name.
            let file = unsafe { system::try_call(libc::SYS_memfd_create, arguments) }?;
            DESCRIPTORS.capture.set(channel::move_up(file as i32)?);
        }
        Output::Inherit | Output::Discard | Output::Capture { .. } => {}
    }
    Ok(())
}

/// Where the output of runs goes, for a process that loses its memory.
#[derive(Clone, Copy)]
pub struct Outputs {
    mode: Output,
    capture: i32,
    sink: i32,
}

/// Before the memory of this process becomes that of an image.
pub fn hand_over() -> Outputs {
    Outputs {
        mode: DESCRIPTORS.mode.get(),
        capture: DESCRIPTORS.capture.get(),
        sink: DESCRIPTORS.sink.get(),
    }
}

/// Afterwards.
pub fn take_over(outputs: Outputs) {
    DESCRIPTORS.mode.set(outputs.mode);
    DESCRIPTORS.capture.set(outputs.capture);
    DESCRIPTORS.sink.set(outputs.sink);
    DESCRIPTORS.kept.set(0);
    DESCRIPTORS.written.set(0);
}

/// In a run: puts standard output and standard error where they belong.
pub fn redirect() {
    let target = match DESCRIPTORS.mode.get() {
        Output::Inherit => return,
        Output::Discard => DESCRIPTORS.sink.get(),
        Output::Capture { .. } => DESCRIPTORS.capture.get(),
    };
    for standard in [1, 2] {
        // SAFETY: replaces a descriptor of the run.
        unsafe { system::call(libc::SYS_dup3, [target as usize, standard, 0, 0, 0, 0]) };
    }
}

/// How much of what is to be written there can be read at all. `/dev/null` takes
/// everything without a look, and a run must go on as it would where somebody reads.
pub fn legible(descriptor: i32, buffer: usize, length: usize) -> usize {
    if !(1..=2).contains(&descriptor) || DESCRIPTORS.mode.get() != Output::Discard {
        return length;
    }
    let mut seen = 0;
    while seen < length && peek(buffer.wrapping_add(seen), 1).is_some() {
        seen = ((buffer + seen) | (PAGE - 1)) + 1 - buffer;
    }
    seen.min(length)
}

/// The run has written this much to a descriptor. What goes beyond the limit is
/// thrown away: a program may print without end.
#[inline]
pub fn note_written(descriptor: i32, bytes: usize) {
    if (1..=2).contains(&descriptor)
        && let Output::Capture { limit } = DESCRIPTORS.mode.get()
    {
        DESCRIPTORS
            .written
            .set(DESCRIPTORS.written.get() + bytes as u64);
        if DESCRIPTORS.written.get() > limit {
            stop_capturing();
        }
    }
}

#[cold]
fn stop_capturing() {
    let file = |descriptor| descriptors::status(descriptor).map(|it| (it.st_dev, it.st_ino));
    let capture = file(DESCRIPTORS.capture.get());
    for standard in [1, 2] {
        // The program may have put something of its own there.
        if file(standard) == capture {
            let arguments = [
                DESCRIPTORS.sink.get() as usize,
                standard as usize,
                0,
                0,
                0,
                0,
            ];
            // SAFETY: replaces a descriptor of the run.
            unsafe { system::call(libc::SYS_dup3, arguments) };
        }
    }
}

/// After a run, in the template: what it wrote.
pub fn captured() -> Vec<u8> {
    let Output::Capture { limit } = DESCRIPTORS.mode.get() else {
        return Vec::new();
    };
    let file = DESCRIPTORS.capture.get();
    let length = seek(file, 0, libc::SEEK_END).unwrap_or(0);
    let mut bytes = alloc::vec![0; length.min(limit as usize)];
    if seek(file, 0, libc::SEEK_SET).is_err() || system::read_all(file, &mut bytes) != Ok(true) {
        bytes.clear();
    }
    bytes
}

/// At a fork point: what has been captured so far belongs to every run.
pub fn keep() {
    if matches!(DESCRIPTORS.mode.get(), Output::Capture { .. }) {
        let length = seek(DESCRIPTORS.capture.get(), 0, libc::SEEK_END);
        DESCRIPTORS.kept.set(length.unwrap_or(0));
    }
}

/// After a run, in the template: a file without its output for the next.
pub fn reset() {
    if matches!(DESCRIPTORS.mode.get(), Output::Capture { .. }) {
        let (file, kept) = (DESCRIPTORS.capture.get(), DESCRIPTORS.kept.get());
        // SAFETY: shortens a file of ours.
        unsafe { system::call(libc::SYS_ftruncate, [file as usize, kept, 0, 0, 0, 0]) };
        // The offset is shared by all who write.
        let _ = seek(file, kept, libc::SEEK_SET);
    }
}
