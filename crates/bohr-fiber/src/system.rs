//! System calls made directly: whoever uses fibers may have put other functions
//! under the names of the C library's.

use core::sync::atomic::AtomicU32;

/// A system call with up to four arguments.
///
/// # Safety
/// As unsafe as the call that `number` names.
pub(crate) unsafe fn call(number: i64, arguments: [usize; 4]) -> isize {
    let [first, second, third, fourth] = arguments;
    let answer;
    // SAFETY: the caller answers for the call; the kernel keeps all but rcx and r11.
    unsafe {
        core::arch::asm!(
            "syscall",
            inlateout("rax") number as isize => answer,
            in("rdi") first,
            in("rsi") second,
            in("rdx") third,
            in("r10") fourth,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack)
        );
    }
    answer
}

/// Waits until the word is no longer 0, or wakes who waits for that.
pub(crate) fn futex(word: &AtomicU32, operation: i32, value: usize) {
    let arguments = [word.as_ptr() as usize, operation as usize, value, 0];
    // SAFETY: waits or wakes on a word that is alive, without a time-out.
    unsafe { call(libc::SYS_futex, arguments) };
}
