//! The ways from instrumented code into this library. Only sites of breakpoints lead
//! here. Where all that a visit may have to do is to be counted, it takes a permit from
//! its thread's line of passes (`permits.rs`) and goes on after a few instructions; where
//! there is none, it takes the long way.

use crate::board::Board;
use crate::futex::keeping_errno;
use crate::permits::Lines;
use bohr_event::{hook_announced, hook_slow_path};
use core::arch::naked_asm;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicU64};

/// Which vector registers the program may hold values in; a
/// `bohr_event::abi::Vectors`.
pub static VECTORS: AtomicU64 = AtomicU64::new(0);

/// The passes of every site up to the last that leads here, or none.
pub static PASSES: AtomicPtr<Option<&'static Lines>> = AtomicPtr::new(null_mut());

/// Takes a permit for the site in one register, if there is one, and goes to `4` below if
/// not; needs another register, and changes the flags. Here and in `permits.rs` a thread has
/// the same line: four bits of its own address, stirred, times the 64 bytes of a line.
macro_rules! passing {
    ($site:literal, $line:literal) => {
        concat!(
            "mov ",
            $line,
            ", [rip + {passes}]\n",
            "mov ",
            $site,
            ", [",
            $line,
            " + ",
            $site,
            " * 8]\n",
            "test ",
            $site,
            ", ",
            $site,
            "\n jz 4f\n",
            "mov ",
            $line,
            ", fs:0\n",
            "imul ",
            $line,
            ", ",
            $line,
            ", 0x61c88647\n",
            "shr ",
            $line,
            ", 54\n and ",
            $line,
            ", 0x3c0\n",
            "lock dec qword ptr [",
            $site,
            " + ",
            $line,
            "]\n",
            "jns 3f\n",
            "lock inc qword ptr [",
            $site,
            " + ",
            $line,
            "]\n jmp 4f\n",
        )
    };
}

extern "C" fn slow_access(site: u32, address: u64) {
    visit(site, address, u64::MAX);
}

extern "C" fn slow_range(site: u32, address: u64, length: u64) {
    visit(site, address, length);
}

extern "C" fn slow_copy(site: u32, destination: u64, _source: u64, length: u64) {
    visit(site, destination, length);
}

extern "C" fn slow_fence(site: u32) {
    visit(site, 0, 0);
}

extern "C" fn slow_call(site: u32, object: u64) {
    visit(site, object, 1);
}

/// `u64::MAX` stands for the size in the site table.
fn visit(site: u32, address: u64, size: u64) {
    if let Some(board) = Board::get() {
        keeping_errno(|| board.visit(site, address, size));
    }
}

#[unsafe(naked)]
unsafe extern "C" fn whole_access() {
    naked_asm!(hook_slow_path!("{slow}"), vectors = sym VECTORS, slow = sym slow_access)
}

/// An access whose size the site table knows.
#[unsafe(naked)]
pub unsafe extern "C" fn access() {
    naked_asm!(
        ".cfi_startproc",
        ".cfi_def_cfa_offset 24",
        "push rax",
        "lahf",
        "seto al",
        "push rax",
        "push rcx",
        ".cfi_adjust_cfa_offset 24",
        "mov ecx, [rsp + 32]",
        passing!("rcx", "rax"),
        "3:",
        "pop rcx",
        "pop rax",
        // Overflow again if it was set; the others from `ah`.
        "add al, 127",
        "sahf",
        "pop rax",
        "pop r11",
        "lea rsp, [rsp + 8]",
        ".cfi_def_cfa_offset 8",
        "ret",
        "4:",
        ".cfi_def_cfa_offset 48",
        "pop rcx",
        "pop rax",
        "add al, 127",
        "sahf",
        "pop rax",
        ".cfi_def_cfa_offset 24",
        hook_announced!(),
        passes = sym PASSES,
        whole = sym whole_access,
    )
}

/// An access of a size known only now.
#[unsafe(naked)]
pub unsafe extern "C" fn range() {
    naked_asm!(hook_slow_path!("{slow}"), vectors = sym VECTORS, slow = sym slow_range)
}

/// A read of one range and a write of another.
#[unsafe(naked)]
pub unsafe extern "C" fn copy() {
    naked_asm!(hook_slow_path!("{slow}"), vectors = sym VECTORS, slow = sym slow_copy)
}

/// A fence.
#[unsafe(naked)]
pub unsafe extern "C" fn fence() {
    naked_asm!(hook_slow_path!("{slow}"), vectors = sym VECTORS, slow = sym slow_fence)
}

#[unsafe(naked)]
unsafe extern "C" fn whole_call() {
    naked_asm!(hook_slow_path!("{slow}"), vectors = sym VECTORS, slow = sym slow_call)
}

/// A call that other threads notice.
#[unsafe(naked)]
pub unsafe extern "C" fn call() {
    naked_asm!(
        ".cfi_startproc",
        "mov eax, edi",
        passing!("rax", "r11"),
        "3:",
        "ret",
        "4:",
        "jmp {whole}",
        ".cfi_endproc",
        passes = sym PASSES,
        whole = sym whole_call,
    )
}
