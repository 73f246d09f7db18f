//! Stores that the job leaves out. The program has no way around them, so each is
//! made, and what it has overwritten is put back before anything else happens: at
//! the next way of its thread into the runtime, which is before any other thread
//! runs. The hook before the store keeps what is there and says nothing: no event,
//! no question to the strategy. So stores that can be left out cost nothing where
//! nobody does, and a run in which some are pays by its accesses, all of which are
//! announced.
//!
//! A store to its thread's own stack happens: the function may return before the
//! next event, and what is put back would lie in somebody else's frame. So does
//! one to memory that cannot be read: its fault is the program's own.

use crate::{carrier::CarrierOnly, engine::ENGINE, hooks, objects::OBJECTS, peek, thread::Thread};
use alloc::{collections::BTreeMap, vec::Vec};
use bohr_event::{
    ThreadIndex,
    abi::{Module, WIDEST_OMITTED},
    control::{GateReference, Omissible, Omissions, OmittedPasses, Passes},
};
use core::cell::{Cell, RefCell};

/// What is left out of this run.
struct Stores {
    omitted: RefCell<Vec<Omitted>>,
    /// By site: positions in that list.
    sites: RefCell<BTreeMap<u32, Vec<usize>>>,
    /// What the store that is being made overwrites.
    overwritten: RefCell<Overwritten>,
}

/// The stores of one thread at one site.
struct Omitted {
    passes: OmittedPasses,
    /// Who that is, once it was here.
    thread: Option<ThreadIndex>,
    count: u64,
    left_out: u64,
}

struct Overwritten {
    address: usize,
    size: usize,
    bytes: [u8; WIDEST_OMITTED],
}

static STORES: CarrierOnly<Stores> = CarrierOnly::new(Stores {
    omitted: RefCell::new(Vec::new()),
    sites: RefCell::new(BTreeMap::new()),
    overwritten: RefCell::new(Overwritten {
        address: 0,
        size: 0,
        bytes: [0; WIDEST_OMITTED],
    }),
});

/// Whether there are any.
#[unsafe(link_section = "bohr_hot")]
static ANY: CarrierOnly<Cell<bool>> = CarrierOnly::new(Cell::new(false));

/// Whether one is being made.
#[unsafe(link_section = "bohr_hot")]
static PENDING: CarrierOnly<Cell<bool>> = CarrierOnly::new(Cell::new(false));

/// Has the hooks of a run leave out what it says.
pub fn begin(omissions: &Omissions) {
    let omitted = omissions.stores().map(|passes| Omitted {
        passes: passes.clone(),
        thread: None,
        count: 0,
        left_out: 0,
    });
    *STORES.omitted.borrow_mut() = omitted.collect();
    ANY.set(!STORES.omitted.borrow().is_empty());
    if ANY.get() {
        // SAFETY: registered modules are loaded.
        OBJECTS.each_module(|module| find_sites(unsafe { &*module }));
        // The quick path knows no sites.
        hooks::announce_all();
    }
}

/// The same for a module that comes later.
pub fn add_module(module: &Module) {
    if ANY.get() {
        find_sites(module);
        hooks::announce_all();
    }
}

fn find_sites(module: &Module) {
    let Some(base) = OBJECTS.base(module) else {
        return;
    };
    let mut sites = STORES.sites.borrow_mut();
    for (position, one) in STORES.omitted.borrow().iter().enumerate() {
        let GateReference { program, .. } = one.passes.gate;
        if let (true, Omissible::Store(site)) =
            (program == module.program, one.passes.gate.leaves_out())
        {
            sites.entry(base + site).or_default().push(position);
        }
    }
}

/// Whether anything is left out by hooks.
#[inline]
pub fn are_any() -> bool {
    ANY.get()
}

/// The running thread is about to store: whether nobody is to hear of it.
pub fn leaves_out(site: u32, address: usize) -> bool {
    let thread = ENGINE.current();
    let sites = STORES.sites.borrow();
    let mut omitted = STORES.omitted.borrow_mut();
    let mut positions = sites.get(&site).into_iter().flatten().copied();
    let is_of = |position: &usize| omitted[*position].passes.thread == thread.path;
    let Some(position) = positions.find(is_of) else {
        return false;
    };
    let one = &mut omitted[position];
    let number = one.count;
    one.thread = Some(thread.index);
    one.count += 1;
    let leaves_out = one.passes.has(number) && keep(site, address, thread);
    one.left_out += u64::from(leaves_out);
    leaves_out
}

/// Keeps what a store will overwrite, if that can be put back.
fn keep(site: u32, address: usize, thread: &Thread) -> bool {
    let size = hooks::site_operation(site, address, None).size as usize;
    let (start, end) = thread.stack.get();
    if !(1..=WIDEST_OMITTED).contains(&size) || (start..end).contains(&address) {
        return false;
    }
    let mut overwritten = STORES.overwritten.borrow_mut();
    (overwritten.address, overwritten.size) = (address, size);
    let bytes = &mut overwritten.bytes[..size];
    let is_there = pieces(address, bytes).all(|(address, piece)| {
        let found = peek::peek(address, piece.len() as u32);
        if let Some(value) = found {
            piece.copy_from_slice(&value.to_le_bytes()[..piece.len()]);
        }
        found.is_some()
    });
    PENDING.set(is_there);
    is_there
}

/// The store that was made last has not happened.
#[inline]
pub fn take_back() {
    if PENDING.get() {
        put_back();
    }
}

#[cold]
fn put_back() {
    PENDING.set(false);
    let mut overwritten = STORES.overwritten.borrow_mut();
    let (address, size) = (overwritten.address, overwritten.size);
    for (address, piece) in pieces(address, &mut overwritten.bytes[..size]) {
        peek::exchange(address, piece);
    }
}

/// Bytes at an address, in pieces that one instruction can exchange.
fn pieces(address: usize, bytes: &mut [u8]) -> impl Iterator<Item = (usize, &mut [u8])> {
    let mut next = address;
    let widths = [8, 4, 1];
    let mut rest = bytes;
    core::iter::from_fn(move || {
        let width = widths.into_iter().find(|width| *width <= rest.len())?;
        let (piece, others) = core::mem::take(&mut rest).split_at_mut(width);
        rest = others;
        let at = next;
        next = next.wrapping_add(width);
        Some((at, piece))
    })
}

/// How often threads came by stores of which some were to be left out.
pub fn passes() -> impl Iterator<Item = Passes> {
    let omitted = STORES.omitted.borrow();
    let told = omitted.iter().filter_map(|one| {
        Some(Passes {
            gate: one.passes.gate,
            thread: one.thread?,
            count: one.count,
            left_out: one.left_out,
            first_child: 0,
            children: 0,
            starts: Vec::new(),
        })
    });
    told.collect::<Vec<Passes>>().into_iter()
}
