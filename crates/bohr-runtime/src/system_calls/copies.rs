//! Copies of the process that the program asks the kernel for, by whatever call:
//! `fork` of the C library, `_Fork`, `clone`, a system call by number. They run
//! uncontrolled from their first instruction on, and that is said.

use crate::{control, notices, system};
use bohr_event::control::Notice;

/// Words of `struct clone_args` that are known here.
const WORDS: usize = 11;
/// Where its stack is in there, and how large that is.
const STACK: usize = 5;
const STACK_SIZE: usize = 6;

/// A copy of the process that is wanted.
pub struct ProcessCopy {
    call: Call,
    /// Where its stack ends that it is to go on with; 0 for the one it has.
    pub stack: usize,
}

/// What the kernel is to be asked. The stack is left as it is: the copy comes back
/// through our own frames, and changes to its stack from there.
enum Call {
    Plain([usize; 6]),
    Described([u64; WORDS], usize),
}

/// The copy that a call makes; `None` if it makes a thread, or a process that shares
/// our memory until it becomes another program: those go on where the call was made.
pub fn wanted(number: i64, arguments: [usize; 6]) -> Option<ProcessCopy> {
    let (flags, copy) = match number {
        libc::SYS_clone => {
            let [flags, stack, rest @ ..] = arguments;
            let [parent, child, storage, sixth] = rest;
            let call = Call::Plain([flags, 0, parent, child, storage, sixth]);
            (flags as u64, ProcessCopy { call, stack })
        }
        libc::SYS_clone3 => described(arguments[0], arguments[1])?,
        // `vfork`, too: its child would run our frames.
        _ => (0, plain()),
    };
    let shares = flags & libc::CLONE_VM as u64 != 0;
    notices::note(match flags & libc::CLONE_THREAD as u64 {
        0 => Notice::Process,
        _ => Notice::HiddenThread,
    });
    (!shares).then_some(copy)
}

fn plain() -> ProcessCopy {
    ProcessCopy {
        call: Call::Plain([libc::SIGCHLD as usize, 0, 0, 0, 0, 0]),
        stack: 0,
    }
}

/// The flags and the copy of a `clone3`; `None` if there is more in its description
/// than is known here.
fn described(address: usize, size: usize) -> Option<(u64, ProcessCopy)> {
    let mut words = [0; WORDS];
    if size > size_of_val(&words) || !size.is_multiple_of(size_of::<u64>()) {
        return None;
    }
    for (position, word) in words.iter_mut().take(size / size_of::<u64>()).enumerate() {
        // SAFETY: the caller has so many of them there.
        *word = unsafe { *(address as *const u64).add(position) };
    }
    let stack = words[STACK] + words[STACK_SIZE];
    (words[STACK], words[STACK_SIZE]) = (0, 0);
    let copy = ProcessCopy {
        call: Call::Described(words, size),
        stack: stack as usize,
    };
    Some((words[0], copy))
}

impl ProcessCopy {
    /// Makes the copy, and ends control in it; the kernel's answer.
    pub fn make(&self) -> isize {
        let (number, arguments) = match &self.call {
            Call::Plain(arguments) => (libc::SYS_clone, *arguments),
            Call::Described(words, size) => {
                let arguments = [words.as_ptr() as usize, *size, 0, 0, 0, 0];
                (libc::SYS_clone3, arguments)
            }
        };
        // SAFETY: what the program asked for, on the stack that this is.
        let answer = unsafe { system::call(number, arguments) };
        if answer == 0 {
            control::end();
        }
        answer
    }
}
