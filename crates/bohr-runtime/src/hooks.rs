//! What instrumented code meets. The ways in are written in assembly
//! ([`entry`]); what is behind them is here: operations are announced, and
//! accesses to freed memory refused.

pub mod entry;

use crate::{
    buffers, control, engine::ENGINE, gates, grant::VECTORS, heap, objects::OBJECTS,
    omitted_stores, patch, verdict, watch,
};
use alloc::{format, string::String};
use bohr_event::{
    EventKind, FailureKind, MemoryOrder, Operation,
    abi::{ABI_VERSION, Hooks, MODULE_MAGIC, Module, SiteInfo},
};

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
    if !control::is_on() {
        return;
    }
    if omitted_stores::are_any() {
        omitted_stores::take_back();
        if omitted_stores::leaves_out(site, address) {
            return;
        }
    }
    let operation = site_operation(site, address, None);
    match ENGINE.passes_recorded(site, operation) {
        true => refuse_freed(&operation),
        false => access(operation),
    }
}

/// Announces an access; it happens when this returns.
fn access(operation: Operation) {
    let announced = buffers::announced(operation);
    ENGINE.step(announced);
    refuse_freed(&operation);
    buffers::executes(&announced);
}

/// The operation happens now: it must not touch freed memory.
pub fn refuse_freed(operation: &Operation) {
    let first = operation.object as usize;
    let last = first.saturating_add(operation.size.saturating_sub(1) as usize);
    let Some((address, (size, by))) = [first, last]
        .into_iter()
        .find_map(|address| Some((address, heap::freed_block(address)?)))
    else {
        return;
    };
    let by = &ENGINE.thread(by).path;
    let extent = match operation.kind.is_access() {
        true => format!(" of {} bytes", operation.size),
        false => String::new(),
    };
    let message = format!(
        "{}{extent} at {address:#x}, in a heap block of {size} bytes that thread {by} has freed",
        operation.kind
    );
    verdict::fail_at(
        FailureKind::UseAfterFree,
        &message,
        Some(operation.place),
        address,
    )
}

/// The same of an access that no store buffer holds back.
fn direct(operation: Operation) {
    ENGINE.step(operation);
    refuse_freed(&operation);
}

extern "C" fn slow_range(site: u32, address: usize, length: usize) {
    if control::is_on() && length > 0 {
        direct(site_operation(site, address, Some(length)));
    }
}

extern "C" fn slow_copy(site: u32, destination: usize, source: usize, length: usize) {
    if control::is_on() && length > 0 {
        let write = site_operation(site, destination, Some(length));
        for (kind, address) in [(EventKind::Read, source), (EventKind::Write, destination)] {
            direct(Operation {
                kind,
                object: address as u64,
                ..write
            });
        }
    }
}

extern "C" fn slow_fence(site: u32) {
    if control::is_on() {
        let fence = site_operation(site, 0, Some(0));
        ENGINE.step(fence);
        buffers::executes(&fence);
    }
}

extern "C" fn slow_point(point: u32, frame: usize) {
    if control::is_on() {
        watch::pass(point, frame as u64);
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
    patch::renumber(description, OBJECTS.add_module(description));
    // SAFETY: the description leads to writable variables of its object.
    unsafe {
        *description.hooks = Hooks {
            access: match control::is_shared() {
                true => entry::announced_access as *const (),
                false => entry::watched_access as *const (),
            },
            range: entry::range as *const (),
            copy: entry::copy as *const (),
            fence: entry::fence as *const (),
            call: entry::call as *const (),
            iteration: gates::iteration as *const (),
            body: gates::body as *const (),
            point: entry::point as *const (),
        };
    }
    if control::is_on() {
        patch::switch(description, true);
        gates::add_module(description);
        omitted_stores::add_module(description);
    }
}

/// Called when an instrumented object is unloaded.
#[unsafe(no_mangle)]
unsafe extern "C" fn __bohr_unregister(module: *mut Module) {
    OBJECTS.remove_module(module);
}

/// Whether accesses look out for freed memory.
pub fn watch_freed(watched: bool) {
    heap::shadow::keep(watched);
    enter_by(match watched {
        true => entry::watched_access as *const (),
        false => entry::access as *const (),
    });
}

/// From now on accesses do not look for room below the stack: all go the slow way.
/// Where the program has a stack of its own, each look may be a fault, and a fault
/// takes a hundred times as long.
pub fn look_no_more() {
    announce_all();
}

/// From now on every access is announced.
pub fn announce_all() {
    enter_by(entry::announced_access as *const ());
}

fn enter_by(entry: *const ()) {
    OBJECTS.each_module(|module| {
        // SAFETY: registered modules are loaded, and their table is writable.
        unsafe { (*(*module).hooks).access = entry };
    });
}

/// Switches all sites of all modules on or off.
pub fn switch(on: bool) {
    OBJECTS.each_module(|module| {
        // SAFETY: registered modules are loaded.
        patch::switch(unsafe { &*module }, on);
    });
}
