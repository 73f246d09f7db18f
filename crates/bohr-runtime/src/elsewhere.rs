//! Calls on another stack than the one in use.

use crate::{addresses, carrier::CarrierOnly, engine::ENGINE};
use core::{arch::naked_asm, cell::Cell};

/// Calls `function` on the stack that ends at `stack`, or on this one for 0. Functions
/// of fewer arguments do not look at the others.
///
/// # Safety
/// It must be a function that takes such arguments, and the stack free.
#[unsafe(naked)]
pub unsafe extern "C-unwind" fn call_on(
    function: usize,
    first: usize,
    second: usize,
    third: usize,
    stack: usize,
) {
    naked_asm!(
        ".cfi_startproc",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "mov rax, rdi",
        "mov rdi, rsi",
        "mov rsi, rdx",
        "mov rdx, rcx",
        "test r8, r8",
        "cmovnz rsp, r8",
        "and rsp, -16",
        "call rax",
        "mov rsp, rbp",
        "pop rbp",
        ".cfi_def_cfa rsp, 8",
        "ret",
        ".cfi_endproc",
    )
}

/// For what a coroutine's stack has no room for. It lies in the runtime's memory, so a
/// clone of whoever is on it returns from there in its own copy.
static ROOM: CarrierOnly<Cell<Option<&'static [u8]>>> = CarrierOnly::new(Cell::new(None));

const SIZE: usize = 128 << 10;

/// Calls `body` where there is room for more than the engine does at an event: right here
/// if the stack in use is the thread's, which has a reserve, and on one of the runtime's own
/// if it is one that the program has made. Only one such call at a time.
pub fn with_room<Body: FnOnce()>(body: Body) {
    let pointer = (&raw const body).addr();
    let (start, end) = ENGINE.current().stack.get();
    let is_own = (start..end).contains(&pointer);
    let stack = match is_own && pointer - start >= addresses::ENGINE_NEEDS {
        true => 0,
        false => {
            let room = ROOM.get().unwrap_or_else(|| alloc::vec![0; SIZE].leak());
            ROOM.set(Some(room));
            room.as_ptr_range().end as usize
        }
    };
    let mut body = Some(body);
    let function = run::<Body> as *const () as usize;
    // SAFETY: `run` takes the address of a body, which outlives the call.
    unsafe { call_on(function, &raw mut body as usize, 0, 0, stack) };
}

unsafe extern "C-unwind" fn run<Body: FnOnce()>(body: *mut Option<Body>) {
    // SAFETY: what `with_room` passes.
    if let Some(body) = unsafe { (*body).take() } {
        body();
    }
}
