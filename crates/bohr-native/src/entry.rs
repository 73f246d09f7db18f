//! The ways from instrumented code into this library. Only sites of breakpoints
//! lead here, so there is no quick path.

use crate::board::Board;
use crate::futex::keeping_errno;
use bohr_event::{hook_announced, hook_slow_path};
use core::arch::naked_asm;
use core::sync::atomic::AtomicU64;

/// Which vector registers the program may hold values in; a
/// `bohr_event::abi::Vectors`.
pub static VECTORS: AtomicU64 = AtomicU64::new(0);

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
        hook_announced!(),
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

/// A call that other threads notice.
#[unsafe(naked)]
pub unsafe extern "C" fn call() {
    naked_asm!(hook_slow_path!("{slow}"), vectors = sym VECTORS, slow = sym slow_call)
}
