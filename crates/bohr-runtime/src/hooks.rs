//! What instrumented code calls. The fast path is a few instructions: one more
//! event of the leave is used up, and the program goes on.
//!
//! The program's compiler does not know that there is a call, so a hook leaves
//! every register but `rax` and `r11` as it was, vector registers included.

use crate::{
    addresses::HEAP_BITS,
    control,
    engine::ENGINE,
    grant::{CALL_SITE, GRANT, LAST_PLACE, SHADOW_OFFSET, VECTORS},
    heap,
    objects::OBJECTS,
    patch, verdict,
};
use alloc::format;
use bohr_event::{
    EventKind, FailureKind, MemoryOrder, Operation,
    abi::{ABI_VERSION, Hooks, MODULE_MAGIC, Module, SiteInfo},
};
use core::arch::naked_asm;

/// Saves what a Rust function may change, calls it with the process-wide site
/// number in `edi`, and goes back.
///
/// ```text
///   rbp      caller's rbp
///   rbp-56   rcx, rdx, rsi, rdi, r8, r9, r10
///   rsp      16 xmm registers, or a whole XSAVE area (aligned to 64 bytes)
/// ```
macro_rules! slow_path {
    ($slow:literal) => {
        concat!(
            "push rbp\n mov rbp, rsp\n",
            "push rcx\n push rdx\n push rsi\n push rdi\n push r8\n push r9\n push r10\n",
            "add edi, r11d\n",
            "cmp qword ptr [rip + {vectors}], 0\n",
            "jne 3f\n",
            "sub rsp, 264\n and rsp, -16\n",
            "movaps [rsp], xmm0\n movaps [rsp + 16], xmm1\n",
            "movaps [rsp + 32], xmm2\n movaps [rsp + 48], xmm3\n",
            "movaps [rsp + 64], xmm4\n movaps [rsp + 80], xmm5\n",
            "movaps [rsp + 96], xmm6\n movaps [rsp + 112], xmm7\n",
            "movaps [rsp + 128], xmm8\n movaps [rsp + 144], xmm9\n",
            "movaps [rsp + 160], xmm10\n movaps [rsp + 176], xmm11\n",
            "movaps [rsp + 192], xmm12\n movaps [rsp + 208], xmm13\n",
            "movaps [rsp + 224], xmm14\n movaps [rsp + 240], xmm15\n",
            "call ",
            $slow,
            "\n",
            "movaps xmm0, [rsp]\n movaps xmm1, [rsp + 16]\n",
            "movaps xmm2, [rsp + 32]\n movaps xmm3, [rsp + 48]\n",
            "movaps xmm4, [rsp + 64]\n movaps xmm5, [rsp + 80]\n",
            "movaps xmm6, [rsp + 96]\n movaps xmm7, [rsp + 112]\n",
            "movaps xmm8, [rsp + 128]\n movaps xmm9, [rsp + 144]\n",
            "movaps xmm10, [rsp + 160]\n movaps xmm11, [rsp + 176]\n",
            "movaps xmm12, [rsp + 192]\n movaps xmm13, [rsp + 208]\n",
            "movaps xmm14, [rsp + 224]\n movaps xmm15, [rsp + 240]\n",
            "4:\n",
            "lea rsp, [rbp - 56]\n",
            "pop r10\n pop r9\n pop r8\n pop rdi\n pop rsi\n pop rdx\n pop rcx\n",
            "pop rbp\n ret\n",
            // Wide vectors: every state component from SSE (1) to ZMM (7) but x87's.
            "3:\n",
            "sub rsp, 4096\n and rsp, -64\n",
            "xor eax, eax\n",
            "mov [rsp + 512], rax\n mov [rsp + 520], rax\n mov [rsp + 528], rax\n",
            "mov [rsp + 536], rax\n mov [rsp + 544], rax\n mov [rsp + 552], rax\n",
            "mov [rsp + 560], rax\n mov [rsp + 568], rax\n",
            "mov r11, rdx\n mov eax, 0xe6\n xor edx, edx\n",
            "xsave64 [rsp]\n",
            "mov rdx, r11\n",
            "call ",
            $slow,
            "\n",
            "mov eax, 0xe6\n xor edx, edx\n",
            "xrstor64 [rsp]\n",
            "jmp 4b\n",
        )
    };
}

/// An access of a size that the site table knows.
#[unsafe(naked)]
unsafe extern "C" fn access() {
    naked_asm!(
        "sub qword ptr [rip + {grant}], 1",
        "jb 2f",
        "add r11d, edi",
        "mov [rip + {last}], r11",
        "ret",
        "2:",
        "mov qword ptr [rip + {grant}], 0",
        slow_path!("{slow}"),
        grant = sym GRANT,
        last = sym LAST_PLACE,
        vectors = sym VECTORS,
        slow = sym slow_access,
    )
}

/// The same where freed memory is watched: the shadow of heap addresses is
/// looked at first.
#[unsafe(naked)]
unsafe extern "C" fn watched_access() {
    naked_asm!(
        "mov rax, rsi",
        "shr rax, {heap_bits}",
        "cmp eax, 2",
        "jne 5f",
        "mov rax, rsi",
        "shr rax, 4",
        "add rax, [rip + {shadow}]",
        "cmp byte ptr [rax], 0",
        "jne 2f",
        "5:",
        "sub qword ptr [rip + {grant}], 1",
        "jb 6f",
        "add r11d, edi",
        "mov [rip + {last}], r11",
        "ret",
        "6:",
        "mov qword ptr [rip + {grant}], 0",
        "2:",
        slow_path!("{slow}"),
        heap_bits = const HEAP_BITS,
        shadow = sym SHADOW_OFFSET,
        grant = sym GRANT,
        last = sym LAST_PLACE,
        vectors = sym VECTORS,
        slow = sym slow_access,
    )
}

/// An access of a size known only now. Rare, so it has no fast path.
#[unsafe(naked)]
unsafe extern "C" fn range() {
    naked_asm!(slow_path!("{slow}"), vectors = sym VECTORS, slow = sym slow_range)
}

/// A read of one range and a write of another.
#[unsafe(naked)]
unsafe extern "C" fn copy() {
    naked_asm!(slow_path!("{slow}"), vectors = sym VECTORS, slow = sym slow_copy)
}

/// A fence.
#[unsafe(naked)]
unsafe extern "C" fn fence() {
    naked_asm!(slow_path!("{slow}"), vectors = sym VECTORS, slow = sym slow_fence)
}

/// Tells where the next interposed call comes from.
#[unsafe(naked)]
unsafe extern "C" fn call() {
    naked_asm!(
        "add r11d, edi",
        "mov [rip + {site}], r11",
        "ret",
        site = sym CALL_SITE,
    )
}

/// A gate: nothing is skipped.
#[unsafe(naked)]
unsafe extern "C" fn open_gate() {
    naked_asm!("xor eax, eax", "ret")
}

/// An operation at a site. Unknown sites count as plain reads: the module's
/// table is what it is, and an event is an event.
pub fn site_operation(site: u32, address: usize, length: Option<usize>) -> Operation {
    let (kind, order, size) =
        OBJECTS
            .site(site)
            .unwrap_or((EventKind::Read, MemoryOrder::Plain, 0));
    let size = match length {
        Some(length) => u32::try_from(length).unwrap_or(u32::MAX),
        None if size == SiteInfo::DYNAMIC_SIZE => 0,
        None => u32::from(size),
    };
    Operation {
        kind,
        order,
        size,
        object: address as u64,
        place: OBJECTS.place(u64::from(site)),
    }
}

extern "C" fn slow_access(site: u32, address: usize) {
    if control::is_on() {
        let operation = site_operation(site, address, None);
        ENGINE.step(operation);
        refuse_freed(&operation);
    }
}

/// The operation happens now: it must not touch freed memory.
fn refuse_freed(operation: &Operation) {
    let first = operation.object as usize;
    let last = first.saturating_add(operation.size.saturating_sub(1) as usize);
    let Some((address, (_, size, by))) = [first, last]
        .into_iter()
        .find_map(|address| Some((address, heap::freed_block(address)?)))
    else {
        return;
    };
    let by = &ENGINE.thread(by).path;
    let message = format!(
        "{} of {} bytes at {address:#x}, in a heap block of {size} bytes that thread {by} has freed",
        operation.kind, operation.size
    );
    verdict::fail_at(
        FailureKind::UseAfterFree,
        &message,
        Some(operation.place),
        address,
    )
}

extern "C" fn slow_range(site: u32, address: usize, length: usize) {
    if control::is_on() && length > 0 {
        let operation = site_operation(site, address, Some(length));
        ENGINE.step(operation);
        refuse_freed(&operation);
    }
}

extern "C" fn slow_copy(site: u32, destination: usize, source: usize, length: usize) {
    if control::is_on() && length > 0 {
        let write = site_operation(site, destination, Some(length));
        for (kind, address) in [(EventKind::Read, source), (EventKind::Write, destination)] {
            let operation = Operation {
                kind,
                object: address as u64,
                ..write
            };
            ENGINE.step(operation);
            refuse_freed(&operation);
        }
    }
}

extern "C" fn slow_fence(site: u32) {
    if control::is_on() {
        ENGINE.step(site_operation(site, 0, Some(0)));
    }
}

/// Called by the constructor of every instrumented object.
#[unsafe(no_mangle)]
unsafe extern "C" fn __bohr_register(module: *mut Module) {
    // SAFETY: the constructor passes its own object's description.
    let Some(description) = (unsafe { module.as_ref() }) else {
        return;
    };
    if description.magic != MODULE_MAGIC || description.abi != ABI_VERSION {
        crate::system::say(
            "bohr: a module was instrumented for another version of the runtime and runs \
             without hooks; build its profile again\n",
        );
        return;
    }
    VECTORS.set(VECTORS.get().max(u64::from(description.vectors)));
    let base = OBJECTS.add_module(description);
    // SAFETY: the description leads to writable variables of its object.
    unsafe {
        *description.base = base;
        *description.hooks = Hooks {
            access: watched_access as *const (),
            range: range as *const (),
            copy: copy as *const (),
            fence: fence as *const (),
            call: call as *const (),
            iteration: open_gate as *const (),
            body: open_gate as *const (),
        };
    }
    if control::is_on() {
        patch::switch(description, true);
    }
}

/// Called when an instrumented object is unloaded.
#[unsafe(no_mangle)]
unsafe extern "C" fn __bohr_unregister(module: *mut Module) {
    OBJECTS.remove_module(module);
}

/// Whether accesses look out for freed memory.
pub fn watch_freed(watched: bool) {
    heap::shadow::keep(watched && OBJECTS.any_sites());
    let entry = if watched { watched_access } else { access };
    OBJECTS.each_module(|module| {
        // SAFETY: registered modules are loaded, and their table is writable.
        unsafe { (*(*module).hooks).access = entry as *const () };
    });
}

/// Switches all sites of all modules on or off.
pub fn switch(on: bool) {
    OBJECTS.each_module(|module| {
        // SAFETY: registered modules are loaded.
        patch::switch(unsafe { &*module }, on);
    });
}
