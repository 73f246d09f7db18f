//! System calls without the C library: nothing here sets `errno`, takes a lock
//! or can be interposed.

use crate::footprint;
use alloc::vec::Vec;
use core::{arch::asm, ffi::CStr, ptr};

/// What the kernel answered.
pub type Answer = Result<usize, i32>;

/// Any system call with up to six arguments.
///
/// # Safety
/// As unsafe as the call that `number` names.
#[inline]
pub unsafe fn call(number: i64, arguments: [usize; 6]) -> isize {
    if !footprint::is_fleeting(number) {
        footprint::leave();
    }
    // SAFETY: the caller answers for it.
    unsafe { call_in_passing(number, arguments) }
}

/// The same for a call that leaves nothing behind in this process.
///
/// # Safety
/// As unsafe as the call that `number` names.
#[inline]
pub unsafe fn call_in_passing(number: i64, arguments: [usize; 6]) -> isize {
    let [first, second, third, fourth, fifth, sixth] = arguments;
    let answer;
    // SAFETY: the caller answers for the call; the kernel keeps all but rcx and r11.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number as isize => answer,
            in("rdi") first,
            in("rsi") second,
            in("rdx") third,
            in("r10") fourth,
            in("r8") fifth,
            in("r9") sixth,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack)
        );
    }
    answer
}

/// Tells an answer from an error number.
fn checked(answer: isize) -> Answer {
    if (-4095..0).contains(&answer) {
        return Err(-answer as i32);
    }
    Ok(answer as usize)
}

/// As [`call`], with errors told apart.
///
/// # Safety
/// As unsafe as the call that `number` names.
pub unsafe fn try_call(number: i64, arguments: [usize; 6]) -> Answer {
    // SAFETY: the caller answers for it.
    checked(unsafe { call(number, arguments) })
}

/// Ends the process at once.
pub fn exit(code: i32) -> ! {
    loop {
        // SAFETY: ends the process.
        unsafe { call(libc::SYS_exit_group, [code as usize, 0, 0, 0, 0, 0]) };
    }
}

/// Fresh zeroed memory at exactly this address, pages taken as they are used.
pub fn map_at(address: usize, length: usize, shared: bool) -> Answer {
    let kind = if shared {
        libc::MAP_SHARED
    } else {
        libc::MAP_PRIVATE
    };
    let flags = kind | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE;
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let arguments = [
        address,
        length,
        access as usize,
        flags as usize,
        usize::MAX,
        0,
    ];
    // SAFETY: `MAP_FIXED_NOREPLACE` never touches what is there.
    unsafe { try_call(libc::SYS_mmap, arguments) }
}

/// Writes all bytes, or as many as the other side takes.
pub fn write_all(descriptor: i32, mut bytes: &[u8]) -> Result<(), i32> {
    while !bytes.is_empty() {
        let arguments = [
            descriptor as usize,
            bytes.as_ptr() as usize,
            bytes.len(),
            0,
            0,
            0,
        ];
        // SAFETY: reads `bytes` only.
        match unsafe { try_call(libc::SYS_write, arguments) } {
            Ok(written) => bytes = &bytes[written..],
            Err(libc::EINTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Fills the buffer; `false` at the end of the stream.
pub fn read_all(descriptor: i32, mut buffer: &mut [u8]) -> Result<bool, i32> {
    while !buffer.is_empty() {
        let arguments = [
            descriptor as usize,
            buffer.as_mut_ptr() as usize,
            buffer.len(),
            0,
            0,
            0,
        ];
        // SAFETY: writes into `buffer` only.
        match unsafe { try_call(libc::SYS_read, arguments) } {
            Ok(0) => return Ok(false),
            Ok(read) => buffer = &mut buffer[read..],
            Err(libc::EINTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

/// The content of a file.
pub fn file(path: &CStr) -> Result<Vec<u8>, i32> {
    let flags = (libc::O_RDONLY | libc::O_CLOEXEC) as usize;
    let arguments = [
        libc::AT_FDCWD as usize,
        path.as_ptr() as usize,
        flags,
        0,
        0,
        0,
    ];
    // SAFETY: reads the path.
    let descriptor = unsafe { try_call(libc::SYS_openat, arguments) }?;
    let mut content = Vec::new();
    let mut piece = [0u8; 4096];
    let result = loop {
        let arguments = [
            descriptor,
            piece.as_mut_ptr() as usize,
            piece.len(),
            0,
            0,
            0,
        ];
        // SAFETY: writes into `piece` only.
        match unsafe { try_call(libc::SYS_read, arguments) } {
            Ok(0) => break Ok(content),
            Ok(read) => content.extend_from_slice(&piece[..read]),
            Err(libc::EINTR) => {}
            Err(error) => break Err(error),
        }
    };
    close(descriptor as i32);
    result
}

/// A message for people, on standard error.
pub fn say(message: &str) {
    // Whether anybody reads it is not our business.
    let _ = write_all(2, message.as_bytes());
}

/// The calling thread's number in the kernel.
pub fn thread_number() -> i32 {
    // SAFETY: asks only.
    unsafe { call(libc::SYS_gettid, [0; 6]) as i32 }
}

/// The process's number in the kernel.
pub fn process_number() -> i32 {
    // SAFETY: asks only.
    unsafe { call(libc::SYS_getpid, [0; 6]) as i32 }
}

/// Copies this process; 0 in the child. The raw call, since the C library's
/// `fork` would take the parked threads for dead and reuse their stacks. Its end
/// sends no signal, so only a wait for it with [`libc::__WALL`] sees it.
pub fn clone_process() -> Answer {
    let arguments = [0; 6];
    // SAFETY: a plain fork; the runtime is prepared to go on in the child.
    unsafe { try_call(libc::SYS_clone, arguments) }
}

/// The same, and the copy does not outlive this process.
pub fn clone_dependant() -> Answer {
    let parent = process_number();
    let answer = clone_process();
    if answer == Ok(0) {
        die_with_parent();
        // SAFETY: asks only.
        let still = unsafe { call(libc::SYS_getppid, [0; 6]) };
        if still != parent as isize {
            // It ended before the kernel knew.
            exit(0);
        }
    }
    answer
}

/// Makes the kernel kill this process when its parent thread ends.
pub fn die_with_parent() {
    let arguments = [
        libc::PR_SET_PDEATHSIG as usize,
        libc::SIGKILL as usize,
        0,
        0,
        0,
        0,
    ];
    // SAFETY: sets an attribute of this process.
    unsafe { call(libc::SYS_prctl, arguments) };
}

/// The processor's time stamp counter: no system call.
pub fn ticks() -> u64 {
    // SAFETY: every x86-64 processor has it, and nobody forbids its use to us.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// Binds this thread, and those that it creates, to the processor that it is on:
/// of threads that take turns, two never run at once.
pub fn stay_on_this_processor() {
    let mut processor = 0u32;
    let mut mask = [0u64; 16];
    // SAFETY: the first call writes the number, the second reads the mask.
    unsafe {
        call(
            libc::SYS_getcpu,
            [&raw mut processor as usize, 0, 0, 0, 0, 0],
        );
        if let Some(word) = mask.get_mut(processor as usize / 64) {
            *word = 1 << (processor % 64);
            let arguments = [0, size_of_val(&mask), mask.as_ptr() as usize, 0, 0, 0];
            call(libc::SYS_sched_setaffinity, arguments);
        }
    }
}

/// Nanoseconds of the real monotonic clock.
pub fn monotonic() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let arguments = [
        libc::CLOCK_MONOTONIC as usize,
        &raw mut time as usize,
        0,
        0,
        0,
        0,
    ];
    // SAFETY: writes into `time`.
    unsafe { call(libc::SYS_clock_gettime, arguments) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Closes a descriptor.
pub fn close(descriptor: i32) {
    // SAFETY: the descriptor is ours.
    unsafe { call(libc::SYS_close, [descriptor as usize, 0, 0, 0, 0, 0]) };
}

/// The C string at `text`, or an empty one.
///
/// # Safety
/// `text` must be null or point to a C string.
pub unsafe fn text<'a>(text: *const libc::c_char) -> &'a CStr {
    if ptr::eq(text, ptr::null()) {
        return c"";
    }
    // SAFETY: the caller vouches for it.
    unsafe { CStr::from_ptr(text) }
}
