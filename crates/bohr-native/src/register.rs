//! How the program's module comes to know this library: its constructor calls
//! `__bohr_register`, and the sites of the breakpoints are switched on.

use crate::board::Board;
use crate::entry;
use bohr_event::abi::{ABI_VERSION, Hooks, MODULE_MAGIC, Module, Stub};
use core::ptr::null;
use core::sync::atomic::Ordering;

const PAGE: usize = 4096;

/// Called by the constructor of every instrumented object, before `main`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __bohr_register(module: *mut Module) {
    // SAFETY: the constructor passes its own object's description.
    let Some(module) = (unsafe { module.as_ref() }) else {
        return;
    };
    if module.magic != MODULE_MAGIC || module.abi != ABI_VERSION {
        return;
    }
    let Some(board) = Board::open().filter(|board| board.program == module.program) else {
        return;
    };
    board.set_sites(module.sites);
    entry::VECTORS.store(u64::from(module.vectors), Ordering::Relaxed);
    entry::PASSES.store(board.passes().cast_mut(), Ordering::Relaxed);
    // SAFETY: the description leads to writable variables of its object. Gates
    // stay off, so nobody asks for theirs.
    unsafe {
        *module.hooks = Hooks {
            access: entry::access as *const (),
            range: entry::range as *const (),
            copy: entry::copy as *const (),
            fence: entry::fence as *const (),
            call: entry::call as *const (),
            iteration: null(),
            body: null(),
            point: null(),
        };
    }
    let mut stub = module.stubs;
    while stub < module.stubs_end {
        // SAFETY: the module's stubs lie between the two.
        unsafe {
            if (*stub).site().is_some_and(|site| board.concerns(site)) {
                switch_on(stub);
            }
            stub = stub.add(1);
        }
    }
}

/// Called when an instrumented object is unloaded.
#[unsafe(no_mangle)]
unsafe extern "C" fn __bohr_unregister(_: *mut Module) {}

/// Writes the call of a stub over its empty instruction.
///
/// # Safety
/// `stub` must be one of a module that nobody runs yet.
unsafe fn switch_on(stub: *const Stub) {
    // SAFETY: the caller's promise.
    let (distance, instruction) = unsafe { ((*stub).nop, (*stub).on()) };
    let site = (stub as usize).wrapping_add_signed(distance as isize);
    let start = site & !(PAGE - 1);
    let length = (site + instruction.len()).next_multiple_of(PAGE) - start;
    // SAFETY: the stub says that a replaceable instruction stands there.
    unsafe {
        let pages = start as *mut libc::c_void;
        if libc::mprotect(pages, length, libc::PROT_READ | libc::PROT_WRITE) == 0 {
            (site as *mut [u8; 5]).write_unaligned(instruction);
            libc::mprotect(pages, length, libc::PROT_READ | libc::PROT_EXEC);
        }
    }
}
