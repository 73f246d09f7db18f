//! `signalfd`: signals that nobody handles, read from a descriptor. The
//! descriptor is the end of a pipe; a signal that all who could handle it block
//! is written into it instead of becoming pending.

use super::{Sent, bit, pending, take};
use crate::{
    carrier::CarrierOnly, channel, descriptors, engine::ENGINE, interpose::machine, system,
    thread::Thread,
};
use alloc::vec::Vec;
use core::cell::RefCell;

#[derive(Clone, Copy, Debug)]
struct File {
    reader: i32,
    writer: i32,
    signals: u64,
}

static FILES: CarrierOnly<RefCell<Vec<File>>> = CarrierOnly::new(RefCell::new(Vec::new()));

/// A descriptor for these signals, or an error number.
pub fn create(signals: u64, flags: i32) -> Result<i32, i32> {
    let mut ends = [0i32; 2];
    let arguments = [ends.as_mut_ptr() as usize, flags as usize, 0, 0, 0, 0];
    // SAFETY: writes the two ends.
    unsafe { system::try_call(libc::SYS_pipe2, arguments) }?;
    let [reader, writer] = ends;
    let writer = channel::move_up(writer)?;
    descriptors::set_internal(reader, true);
    FILES.borrow_mut().push(File {
        reader,
        writer,
        signals,
    });
    hand_over(signals);
    Ok(reader)
}

/// Gives a descriptor other signals; whether it is one of ours.
pub fn change(descriptor: i32, signals: u64) -> bool {
    let mut files = FILES.borrow_mut();
    let Some(file) = files.iter_mut().find(|file| file.reader == descriptor) else {
        return false;
    };
    file.signals = signals;
    drop(files);
    hand_over(signals);
    true
}

/// The program closes a descriptor.
pub fn forget(descriptor: i32) {
    let mut files = FILES.borrow_mut();
    if let Some(position) = files.iter().position(|file| file.reader == descriptor) {
        system::close(files.swap_remove(position).writer);
    }
}

/// Signals that were pending before there was a descriptor for them.
fn hand_over(signals: u64) {
    let thread = ENGINE.current();
    let blocked = signals & thread.mask.get();
    while pending(thread) & blocked != 0 {
        let Some((signal, sent)) = take(thread, blocked) else {
            return;
        };
        takes(signal, None, sent);
    }
}

/// Whether a descriptor has taken the signal.
pub fn takes(signal: i32, thread: Option<&Thread>, sent: Sent) -> bool {
    let files = FILES.borrow();
    let Some(file) = files.iter().find(|file| file.signals & bit(signal) != 0) else {
        return false;
    };
    let mut blocked = true;
    match thread {
        Some(thread) => blocked = thread.mask.get() & bit(signal) != 0,
        None => ENGINE.each_live(|thread| blocked &= thread.mask.get() & bit(signal) != 0),
    }
    blocked && write(file.writer, signal, sent)
}

fn write(writer: i32, signal: i32, sent: Sent) -> bool {
    // SAFETY: all zeroes are a description.
    let mut description: libc::signalfd_siginfo = unsafe { core::mem::zeroed() };
    description.ssi_signo = signal as u32;
    description.ssi_code = sent.code;
    description.ssi_pid = machine::PROCESS as u32;
    description.ssi_ptr = sent.value as u64;
    description.ssi_int = sent.value as i32;
    let address = &raw const description as usize;
    let length = size_of::<libc::signalfd_siginfo>();
    let arguments = [writer as usize, address, length, 0, 0, 0];
    // SAFETY: reads the description.
    unsafe { system::try_call(libc::SYS_write, arguments) }.is_ok()
}
