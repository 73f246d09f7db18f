//! The answers to gates: which threads and which iterations the job leaves out.
//!
//! A removed thread leaves out every body that it comes to (Rust's shell has a
//! small one of its own before the user's), until it comes to one that cannot be
//! left out: whatever has a gate further down is not the thread's body. Passes
//! through the other gates are counted per thread, those that are left out
//! included.

use crate::{carrier::CarrierOnly, control, engine::ENGINE, objects::OBJECTS};
use alloc::{collections::BTreeMap, vec::Vec};
use bohr_event::{
    ThreadIndex,
    abi::{FLAG_GATES, Module, NO_GATE},
    control::{GateReference, Omissions, Passes},
};
use core::arch::naked_asm;
use core::cell::RefCell;

/// What is left out of this run, and what has been asked.
struct Gates {
    omissions: RefCell<Omissions>,
    /// Threads that have left out a body.
    left_out: RefCell<Vec<ThreadIndex>>,
    /// Threads that are in a body that cannot be left out.
    running: RefCell<Vec<ThreadIndex>>,
    passes: RefCell<Counts>,
}

/// Who came by which gate of a module, which is named by its address.
type Visitor = (ThreadIndex, u32, usize);

/// How often everybody came by every gate. A loop comes by the same few gates
/// over and over, so where their counts are is remembered beside the map.
struct Counts {
    counts: Vec<(GateReference, ThreadIndex, Count)>,
    positions: BTreeMap<Visitor, usize>,
    recent: [Option<(Visitor, usize)>; RECENT],
}

/// A power of two.
const RECENT: usize = 64;

impl Counts {
    const fn new() -> Counts {
        Counts {
            counts: Vec::new(),
            positions: BTreeMap::new(),
            recent: [None; RECENT],
        }
    }

    /// The count of a visitor; `first` makes it.
    fn of(
        &mut self,
        visitor: Visitor,
        first: impl FnOnce() -> (GateReference, ThreadIndex, Count),
    ) -> &mut Count {
        let (thread, number, _) = visitor;
        let slot = (number ^ thread.0.wrapping_mul(7)) as usize % RECENT;
        let position = match self.recent[slot] {
            Some((known, position)) if known == visitor => position,
            _ => {
                let counts = &mut self.counts;
                let position = *self.positions.entry(visitor).or_insert_with(|| {
                    counts.push(first());
                    counts.len() - 1
                });
                self.recent[slot] = Some((visitor, position));
                position
            }
        };
        &mut self.counts[position].2
    }
}

#[derive(Clone, Default)]
struct Count {
    /// What is left out here: a position in the omissions.
    omitted: Option<usize>,
    all: u64,
    left_out: u64,
    /// Threads that the thread had created at the first and at the last pass.
    first_child: u32,
    last_child: u32,
    /// Threads that it created from each pass to the next, while they agree.
    children: Option<u32>,
    /// Events of the run at each pass, if every gate is counted; not at those behind
    /// the first from which on all are left out, in which nothing happens.
    starts: Vec<u64>,
    /// From this pass on all are left out.
    over: Option<u64>,
}

impl Count {
    /// Enters a pass of a thread that has created so many others.
    fn pass(&mut self, created: u32) {
        let since = created - self.last_child;
        match self.all {
            0 => self.first_child = created,
            1 => self.children = Some(since),
            _ => self.children = self.children.filter(|children| *children == since),
        }
        self.last_child = created;
        self.all += 1;
    }

    /// Whether the pass to come is one of many that are all left out and create
    /// nobody; it is entered then.
    fn is_over(&mut self) -> bool {
        let over = self.over.is_some_and(|over| over < self.all);
        if over {
            self.all += 1;
            self.left_out += 1;
        }
        over
    }
}

static GATES: CarrierOnly<Gates> = CarrierOnly::new(Gates {
    omissions: RefCell::new(Omissions {
        threads: Vec::new(),
        iterations: Vec::new(),
        count: false,
    }),
    left_out: RefCell::new(Vec::new()),
    running: RefCell::new(Vec::new()),
    passes: RefCell::new(Counts::new()),
});

/// Has the gates of a run ask, if there is something to leave out.
pub fn begin(omissions: Omissions) {
    let asked = omissions.concern_gates();
    *GATES.omissions.borrow_mut() = omissions;
    if asked {
        // SAFETY: registered modules are loaded.
        OBJECTS.each_module(|module| switch_on(unsafe { &*module }));
    }
}

/// The same for a module that comes later.
pub fn add_module(module: &Module) {
    if GATES.omissions.borrow().concern_gates() {
        switch_on(module);
    }
}

fn switch_on(module: &Module) {
    // SAFETY: the description leads to a writable variable of its object.
    unsafe { *module.flags |= FLAG_GATES };
}

/// The threads whose bodies were left out.
pub fn left_out() -> Vec<ThreadIndex> {
    GATES.left_out.borrow().clone()
}

/// The passes that were counted, by gate and thread.
pub fn passes() -> Vec<Passes> {
    let passes = GATES.passes.borrow();
    let counted = passes.counts.iter().filter(|(_, _, count)| count.all > 0);
    let told = counted.map(|(gate, thread, count)| Passes {
        gate: *gate,
        thread: *thread,
        count: count.all,
        left_out: count.left_out,
        first_child: count.first_child,
        children: count.children.unwrap_or(0),
        starts: count.starts.clone(),
    });
    let mut told: Vec<Passes> = told.collect();
    told.sort_unstable_by_key(|passes| (passes.gate, passes.thread));
    told
}

/// A way in: a gate keeps to LLVM's `preserve_most` convention, in which all
/// general registers but `rax` and `r11` are the caller's and no vector register
/// is. The gate's number comes in `edi`, its module in `r11`.
macro_rules! gate {
    ($(#[$doc:meta])* $name:ident, $answer:ident) => {
        $(#[$doc])*
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            naked_asm!(
                "push rbp",
                "mov rbp, rsp",
                "push rcx",
                "push rdx",
                "push rsi",
                "push rdi",
                "push r8",
                "push r9",
                "push r10",
                "and rsp, -16",
                "mov rsi, r11",
                "call {answer}",
                "lea rsp, [rbp - 56]",
                "pop r10",
                "pop r9",
                "pop r8",
                "pop rdi",
                "pop rsi",
                "pop rdx",
                "pop rcx",
                "pop rbp",
                "ret",
                answer = sym $answer,
            )
        }
    };
}

gate!(
    /// Whether to leave out the body of this thread.
    body, skips_body);
gate!(
    /// Whether to leave out this pass.
    iteration, skips_iteration);

extern "C" fn skips_body(gate: u32, _module: *const Module) -> bool {
    if !control::is_on() {
        return false;
    }
    let thread = ENGINE.current();
    let index = thread.index;
    if !GATES.omissions.borrow().threads.contains(&thread.path) {
        return false;
    }
    let (mut left_out, mut running) = (GATES.left_out.borrow_mut(), GATES.running.borrow_mut());
    if gate == NO_GATE {
        left_out.retain(|&thread| thread != index);
        running.push(index);
    }
    let skips = !running.contains(&index);
    if skips && !left_out.contains(&index) {
        left_out.push(index);
    }
    skips
}

extern "C" fn skips_iteration(number: u32, module: *const Module) -> bool {
    if !control::is_on() {
        return false;
    }
    let thread = ENGINE.current();
    let omissions = GATES.omissions.borrow();
    let mut passes = GATES.passes.borrow_mut();
    let count = passes.of((thread.index, number, module.addr()), || {
        // SAFETY: a gate passes its own module, which is loaded.
        let program = unsafe { (*module).program };
        let gate = GateReference { program, number };
        // Looked up once, as there may be as many as threads and gates together.
        let mut omitted = omissions.iterations.iter();
        let omitted = omitted.position(|one| one.gate == gate && one.thread == thread.path);
        let all = omitted.map(|position| &omissions.iterations[position]);
        let all = all.filter(|omitted| omitted.children == 0);
        let count = Count {
            omitted,
            over: all.and_then(|omitted| omitted.beyond),
            ..Count::default()
        };
        (gate, thread.index, count)
    });
    if count.is_over() {
        return true;
    }
    let omitted = count
        .omitted
        .map(|position| &omissions.iterations[position]);
    if omitted.is_none() && !omissions.count {
        return false;
    }
    let omitted = omitted.filter(|one| one.has(count.all));
    count.pass(thread.children.get());
    if omissions.count {
        count.starts.push(ENGINE.events());
    }
    if let Some(omitted) = omitted {
        count.left_out += 1;
        thread
            .children
            .set(thread.children.get() + omitted.children);
    }
    omitted.is_some()
}
