//! The switch itself: the only code that changes the stack pointer.
//!
//! A suspended fiber keeps everything on its own stack; what is kept about it
//! elsewhere is one address. Nothing below it is ever looked at.
//!
//! ```text
//!   higher addresses
//!     ...            frames of whoever called switch
//!     +56  return address        (fresh fiber: enter)
//!     +48  rbp                   (0: ends chains of frame pointers)
//!     +40  rbx
//!     +32  r12                   (fresh fiber: Body::argument)
//!     +24  r13                   (fresh fiber: Body::run)
//!     +16  r14                   (fresh fiber: Body::finish)
//!     +8   r15
//!     +0   mxcsr (4 bytes), x87 control word (2 bytes), padding
//!   saved stack pointer
//! ```
//!
//! The other registers are dead here: the System V convention lets any call
//! destroy them.

use crate::Body;
use core::arch::naked_asm;

/// Takes what is kept off the stack, down to the return address; control words
/// have been seen to.
macro_rules! pop_registers {
    () => {
        "add rsp, 8; pop r15; pop r14; pop r13; pop r12; pop rbx; pop rbp"
    };
}

/// How many 8-byte words a suspended fiber keeps above its saved stack pointer.
pub(crate) const SAVED_WORDS: usize = 8;

/// The registers of a suspended fiber that an unwinder starts from: the caller
/// of the switch continues at `instruction` with these values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registers {
    /// Return address of the switch.
    pub instruction: usize,
    /// Stack pointer after the return.
    pub stack: usize,
    /// `rbp`.
    pub frame: usize,
    /// `rbx`, `r12`, `r13`, `r14`, `r15`.
    pub saved: [usize; 5],
}

/// Saves the caller on its stack, stores its stack pointer at `save`, and
/// continues the fiber whose saved stack pointer is `resume` with FS base `tls`.
///
/// # Safety
/// `resume` must come from an earlier call (or from [`lay_out`]) and be used
/// once; `tls` must be the FS base that belongs to that fiber.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn switch(save: *mut usize, resume: usize, tls: usize) {
    naked_asm!(
        "push rbp",
        "push rbx",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "sub rsp, 8",
        "stmxcsr [rsp]",
        "fnstcw [rsp + 4]",
        "fnstsw [rsp + 6]",
        "and word ptr [rsp + 6], 0x3f",
        "mov eax, [rsp]",
        "mov ecx, [rsp + 4]",
        "mov [rdi], rsp",
        "mov rsp, rsi",
        "wrfsbase rdx",
        // Loading control words is slow, and they seldom differ.
        "cmp eax, [rsp]",
        "jne 3f",
        "cmp ecx, [rsp + 4]",
        "jne 3f",
        "2:",
        pop_registers!(),
        "ret",
        "3:",
        "ldmxcsr [rsp]",
        // The flags of exceptions can only be set with all the rest.
        "sub rsp, 32",
        "fnstenv [rsp]",
        "mov cx, [rsp + 36]",
        "mov [rsp], cx",
        "mov cx, [rsp + 4]",
        "and cx, 0x7f00",
        "or cx, [rsp + 38]",
        "mov [rsp + 4], cx",
        "fldenv [rsp]",
        "add rsp, 32",
        "jmp 2b",
    )
}

/// Has a new thread of the system, made with `flags`, continue the fiber whose
/// saved stack pointer is `resume` with FS base `tls`. Gives the number of that
/// thread, or a negative error number.
///
/// With `ends` the calling thread ends instead of returning, if there is a new
/// one. It does not touch its stack again: by then somebody else may use it.
///
/// # Safety
/// As for [`switch`]; and if the call does not return, nothing may be left to do
/// in the calling thread.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn switch_beside(
    flags: usize,
    resume: usize,
    tls: usize,
    ends: bool,
) -> isize {
    naked_asm!(
        "mov r8, rdx",
        "mov r9, rcx",
        "xor edx, edx",
        "xor r10d, r10d",
        "mov eax, 56", // clone
        "syscall",
        "test rax, rax",
        "je 2f",
        "js 3f",
        "test r9b, r9b",
        "je 3f",
        "mov eax, 60", // exit, of this thread alone
        "xor edi, edi",
        "syscall",
        "ud2",
        "2:", // the new thread, on the fiber's stack
        "ldmxcsr [rsp]",
        "fldcw [rsp + 4]",
        pop_registers!(),
        "3:",
        "ret",
    )
}

/// Sets the word to 1, wakes who waits for that, and ends the calling thread of
/// the system, without touching its stack after the word was set.
///
/// # Safety
/// The word must stay, and nothing may be left to do in the calling thread.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn raise_and_end(word: *const u32) -> ! {
    naked_asm!(
        "mov esi, 129", // FUTEX_WAKE | FUTEX_PRIVATE_FLAG
        "mov edx, 1",
        "mov eax, 202", // futex
        "mov dword ptr [rdi], 1",
        "syscall",
        "mov eax, 60", // exit, of this thread alone
        "xor edi, edi",
        "syscall",
        "ud2",
    )
}

unsafe extern "C-unwind" {
    // The expansion of `pthread_cleanup_push`: part of the C library's binary interface.
    fn __sigsetjmp(buffer: *mut u8, save_mask: i32) -> i32;
    fn __pthread_register_cancel(buffer: *mut u8);
    fn __pthread_unregister_cancel(buffer: *mut u8);
}

/// First code of a fresh fiber. It is the outermost frame: unwinding ends here.
///
/// It pushes a cleanup handler as C code does, so that `pthread_exit`, which
/// unwinds the stack and jumps to the outermost handler, ends up at label 2:
/// the fiber ends, and not the thread that carries it.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn enter() {
    naked_asm!(
        ".cfi_startproc",
        ".cfi_undefined rip",
        // Room for __pthread_unwind_buf_t (104 bytes); the stack is aligned here.
        "sub rsp, 128",
        "mov rdi, rsp",
        "xor esi, esi",
        "call [rip + {setjmp}@GOTPCREL]",
        "test eax, eax",
        "jne 2f",
        "mov rdi, rsp",
        "call [rip + {register}@GOTPCREL]",
        "mov rdi, r12",
        "call r13",
        "mov rdi, rsp",
        "call [rip + {unregister}@GOTPCREL]",
        "mov rdi, r12",
        "xor esi, esi",
        "call r14",
        "ud2",
        // By way of pthread_exit.
        "2:",
        "mov rdi, r12",
        "mov esi, 1",
        "call r14",
        "ud2",
        ".cfi_endproc",
        setjmp = sym __sigsetjmp,
        register = sym __pthread_register_cancel,
        unregister = sym __pthread_unregister_cancel,
    )
}

/// First code of a fiber that only works for a thread. It leaves no handler in
/// that thread's storage: a `pthread_exit` of the thread does not lead here.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn enter_aside() {
    naked_asm!(
        ".cfi_startproc",
        ".cfi_undefined rip",
        "mov rdi, r12",
        "call r13",
        "mov rdi, r12",
        "xor esi, esi",
        "call r14",
        "ud2",
        ".cfi_endproc",
    )
}

/// Lays out a fresh fiber below `top` so that the first switch to it calls
/// `entry`, one of the above; gives its saved stack pointer.
///
/// # Safety
/// The memory below `top` must be a stack that nobody else uses.
pub(crate) unsafe fn lay_out(top: usize, entry: unsafe extern "C" fn(), body: &Body) -> usize {
    // One word for alignment: `entry` is returned to, not called, with an aligned stack.
    let start = (top & !15) - SAVED_WORDS * 8;
    let words = [
        floating_point_control(),
        0,
        body.finish as usize,
        body.run as usize,
        body.argument,
        0,
        0,
        entry as usize,
    ];
    // SAFETY: the caller gives us the memory, and the words fit below `top`.
    unsafe { core::ptr::copy_nonoverlapping(words.as_ptr(), start as *mut usize, SAVED_WORDS) };
    start
}

/// Rounding modes and exception masks as the saved word holds them: a new
/// thread inherits them from its creator.
fn floating_point_control() -> usize {
    let mut word = 0usize;
    // SAFETY: both instructions store to `word` and do nothing else.
    unsafe {
        core::arch::asm!(
            "stmxcsr [{word}]",
            "fnstcw [{word} + 4]",
            word = in(reg) &mut word,
            options(nostack, preserves_flags)
        );
    }
    word
}

/// What a suspended fiber's stack says about its registers.
///
/// # Safety
/// `saved` must be the saved stack pointer of a suspended fiber.
pub(crate) unsafe fn registers(saved: usize) -> Registers {
    // SAFETY: the caller vouches that the picture above lies at `saved`.
    let words = unsafe { *(saved as *const [usize; SAVED_WORDS]) };
    let [_, r15, r14, r13, r12, rbx, rbp, instruction] = words;
    Registers {
        instruction,
        stack: saved + SAVED_WORDS * 8,
        frame: rbp,
        saved: [rbx, r12, r13, r14, r15],
    }
}
