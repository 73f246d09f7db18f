//! Changes to the code of instrumented modules: sites are switched on and off by
//! writing their instruction, and get numbers that are unique in the process.

use crate::system;
use bohr_event::abi::{Module, Stub};

const PAGE: usize = 4096;

/// Switches every site of the module. Nobody runs the module's code meanwhile:
/// there is one thread, and it is here.
pub fn switch(module: &Module, on: bool) {
    write((module.stubs, module.stubs_end), on, |_| true);
}

/// Switches those points of the module on whose numbers are among these, ascending.
pub fn switch_points(module: &Module, points: &[u32]) {
    let wanted = |number: u32| points.binary_search(&number).is_ok();
    write((module.points, module.points_end), true, wanted);
}

/// Writes the instructions of some stubs.
fn write(stubs: Stubs, on: bool, wanted: impl Fn(u32) -> bool) {
    let each_stub = |action: &mut dyn FnMut(*mut Stub)| {
        each_stub(stubs, |stub| {
            // SAFETY: a stub of a loaded module.
            if unsafe { (*stub).site() }.is_some_and(&wanted) {
                action(stub);
            }
        });
    };
    let (mut lowest, mut highest) = (usize::MAX, 0);
    each_stub(&mut |stub| {
        let site = address(stub);
        lowest = lowest.min(site);
        highest = highest.max(site + Stub::OFF.len());
    });
    if highest == 0 {
        return;
    }
    let start = lowest & !(PAGE - 1);
    let length = highest.next_multiple_of(PAGE) - start;
    protect(start, length, libc::PROT_READ | libc::PROT_WRITE);
    each_stub(&mut |stub| {
        // SAFETY: the module says that a replaceable instruction stands there,
        // and the pages have just been made writable.
        unsafe {
            let instruction = if on { (*stub).on() } else { Stub::OFF };
            (address(stub) as *mut [u8; 5]).write_unaligned(instruction);
        }
    });
    protect(start, length, libc::PROT_READ | libc::PROT_EXEC);
}

/// Adds `base` to the site numbers in all stubs, so that they are unique in the
/// process.
pub fn renumber(module: &Module, base: u32) {
    let start = module.stubs as usize & !(PAGE - 1);
    let length = (module.stubs_end as usize).next_multiple_of(PAGE) - start;
    if module.stubs == module.stubs_end {
        return;
    }
    protect(start, length, libc::PROT_READ | libc::PROT_WRITE);
    each_stub((module.stubs, module.stubs_end), |stub| {
        // SAFETY: the stub is one of the module's, whose pages have just been
        // made writable, and no reference to it is kept.
        unsafe { stub.write((*stub).renumbered(base)) };
    });
    protect(start, length, libc::PROT_READ | libc::PROT_EXEC);
}

/// Where the stub's instruction stands.
fn address(stub: *const Stub) -> usize {
    // SAFETY: `each_stub` gives stubs of a loaded module.
    let distance = unsafe { (*stub).nop };
    (stub as usize).wrapping_add_signed(distance as isize)
}

/// The first stub of a list, and the end of the list.
type Stubs = (*const Stub, *const Stub);

fn each_stub((first, end): Stubs, mut action: impl FnMut(*mut Stub)) {
    let mut stub = first.cast_mut();
    while stub.cast_const() < end {
        // SAFETY: the module's stubs lie between the two.
        unsafe {
            if (*stub).site().is_some() {
                action(stub);
            }
            stub = stub.add(1);
        }
    }
}

fn protect(start: usize, length: usize, access: i32) {
    let arguments = [start, length, access as usize, 0, 0, 0];
    // SAFETY: changes the protection of the module's own code.
    let changed = unsafe { system::try_call(libc::SYS_mprotect, arguments) };
    assert!(
        changed.is_ok(),
        "the system does not let code be changed: {changed:?}"
    );
}
