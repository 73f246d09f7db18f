//! Copies of the process that the program asks the kernel for, by whatever call:
//! `fork` of the C library, `_Fork`, `clone`, a system call by number. They run
//! uncontrolled from their first instruction on, and that is said.

use crate::{control, neighbours, notices, system};
use bohr_event::control::Notice;
use core::arch::naked_asm;

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

/// A process that is wanted.
pub enum Wanted {
    /// A copy of this one.
    Copy(ProcessCopy),
    /// One that uses our memory on a stack of its own, while its parent waits for it to
    /// end or to become another program.
    Guest {
        /// Where its stack ends.
        stack: usize,
    },
    /// A thread, or a process that uses our memory beside us: nothing that the runtime
    /// could be in between of.
    Sharer,
}

/// What the kernel is to be asked. The stack is left as it is: the copy comes back
/// through our own frames, and changes to its stack from there.
enum Call {
    Plain([usize; 6]),
    Described([u64; WORDS], usize),
}

/// What a call makes.
pub fn wanted(number: i64, arguments: [usize; 6]) -> Wanted {
    let (flags, copy) = match number {
        libc::SYS_clone => {
            let [flags, stack, rest @ ..] = arguments;
            let [parent, child, storage, sixth] = rest;
            let call = Call::Plain([flags, 0, parent, child, storage, sixth]);
            (flags as u64, ProcessCopy { call, stack })
        }
        libc::SYS_clone3 => match described(arguments[0], arguments[1]) {
            Some(described) => described,
            None => {
                // What is not known may be a thread.
                notices::note(Notice::HiddenThread);
                control::share();
                return Wanted::Sharer;
            }
        },
        // `vfork`, too: its child would run our frames.
        _ => (0, plain()),
    };
    let has = |flag: i32| flags & flag as u64 != 0;
    notices::note(match has(libc::CLONE_THREAD) {
        false => Notice::Process,
        true => Notice::HiddenThread,
    });
    if has(libc::CLONE_VM) && !has(libc::CLONE_VFORK) {
        control::share();
    }
    match (has(libc::CLONE_VM), has(libc::CLONE_VFORK), copy.stack) {
        (false, ..) => Wanted::Copy(copy),
        (true, true, 0) => Wanted::Copy(plain()),
        (true, true, stack) => Wanted::Guest { stack },
        (true, false, _) => Wanted::Sharer,
    }
}

/// Makes a guest, which goes on at `context` while this process waits, and runs
/// uncontrolled as long as it uses our memory; the kernel's answer to the parent.
///
/// # Safety
/// The call must be one that makes a guest, and the context what the kernel has put on
/// the stack at the signal that announced it.
pub unsafe fn make_guest(number: i64, arguments: [usize; 6], context: usize) -> isize {
    let [first, second, third, fourth, fifth, _] = arguments;
    let pause = control::pause();
    // SAFETY: the child leaves our frames with its first instruction.
    let answer = unsafe {
        clone_guest(
            first,
            second,
            third,
            fourth,
            fifth,
            context,
            number as usize,
        )
    };
    pause.end();
    answer
}

/// The system call `number`; a child returns from the signal whose context this is.
#[unsafe(naked)]
unsafe extern "C" fn clone_guest(
    first: usize,
    second: usize,
    third: usize,
    fourth: usize,
    fifth: usize,
    context: usize,
    number: usize,
) -> isize {
    naked_asm!(
        ".cfi_startproc",
        "mov rax, [rsp + 8]",
        "mov r10, rcx",
        "syscall",
        "test rax, rax",
        "jz 2f",
        "ret",
        "2:",
        "mov rsp, r9",
        "mov eax, 15", // rt_sigreturn
        "syscall",
        "ud2",
        ".cfi_endproc",
    )
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
        match answer {
            0 => control::end(),
            1.. => neighbours::note(answer as i32),
            _ => {}
        }
        answer
    }
}
