//! Which accesses may meet another thread's, decided once for the whole
//! program: the others need no hook.
//!
//! An access is *private* if all memory that its address may point to is
//! private, for one of these reasons. Each rule names what it rests on; where
//! the analysis does not know, the access is shared.
//!
//! - **Never written** ([`Reason::Constant`]): the compiler placed it in
//!   read-only memory. Accesses without a write do not conflict.
//! - **Stack, heap, thread-local** ([`Reason::Stack`], [`Reason::Heap`],
//!   [`Reason::ThreadLocal`]): another thread needs the address to touch it. It
//!   could get it from memory that both touch, as the argument or result of a
//!   thread, from a function outside the program that keeps what it is given,
//!   or by an exception. The analysis follows every pointer through every
//!   value, piece of memory and call; what reaches one of these *escapes*, and
//!   so does all that can be reached from there. What is left is private.
//! - **Main thread** ([`Reason::MainThread`]): a global variable whose address
//!   did not escape can be touched only by functions that a pointer to it
//!   reaches or that name it. If none of these runs outside the main thread, no
//!   other thread touches it. A function may run outside the main thread if its
//!   address escaped (thread routines do), or if such a function may call it.
//! - **Written before threads** ([`Reason::WrittenBeforeThreads`]): likewise, if
//!   threads do touch it, but all writes come before the first thread is
//!   started (see `before.rs`), no write has another thread to conflict with.
//! - **Single-threaded** ([`Reason::SingleThreaded`]): nothing starts a thread,
//!   and no function's address is given to code that might.
//!
//! Of a shared library the same holds: whatever it exports is called by code that
//! is not in the model, in any thread, with any pointers, those to code of its own
//! included; and since another object can have a function of the same name, which
//! then takes the place of the exported one, what such functions are given escapes.
//!
//! It is assumed that accesses stay within the object that their address was
//! computed from, that functions are called with the kinds of arguments they
//! take, and that no address is made up from numbers that did not come from
//! addresses; programs that break this have undefined behaviour. Handlers of
//! signals count as threads.

mod analysis;
mod before;
mod call;
mod constraint;
mod kept;
mod node;
mod object;
mod outside;
mod solve;
mod verdict;

pub use verdict::{Reason, Verdict};

use crate::ids::{FunctionNumber, InstructionNumber, SiteNumber};
use crate::program::Program;
use analysis::Analysis;
use cranelift_entity::{EntitySet, PrimaryMap};
use std::collections::BTreeMap;
use verdict::Judge;

/// The result of the analysis for a program.
///
/// ```
/// use bohr_program::{ProgramBuilder, Sharing};
///
/// let program = ProgramBuilder::new("e-i64:64").finish();
/// let sharing = Sharing::of(&program);
/// assert_eq!(sharing.iter().count(), 0);
/// ```
#[derive(Clone, Debug)]
pub struct Sharing {
    verdicts: PrimaryMap<SiteNumber, Verdict>,
    /// Sites that may meet other threads' and may also touch what no other thread does.
    mixed: EntitySet<SiteNumber>,
    threads: EntitySet<FunctionNumber>,
    indirect: BTreeMap<(FunctionNumber, InstructionNumber), Callees>,
}

/// What a call through a pointer may reach.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Callees {
    /// Functions whose address reaches the call, ascending.
    pub functions: Vec<FunctionNumber>,
    /// Whether it may also be any function whose address escaped.
    pub unknown: bool,
}

impl Sharing {
    /// Analyses a program.
    #[must_use]
    pub fn of(program: &Program) -> Sharing {
        let mut analysis = Analysis::new(program);
        let indirect = indirect(&analysis);
        let threads = analysis.threads.clone();
        let mut judge = Judge::new(&mut analysis);
        let verdicts: PrimaryMap<SiteNumber, Verdict> = program
            .sites
            .values()
            .map(|site| judge.verdict(site))
            .collect();
        let mut mixed = EntitySet::new();
        for (number, site) in &program.sites {
            if verdicts[number] == Verdict::Shared && judge.is_mixed(site) {
                mixed.insert(number);
            }
        }
        Sharing {
            verdicts,
            mixed,
            threads,
            indirect,
        }
    }

    /// What is known about a site.
    #[must_use]
    pub fn verdict(&self, site: SiteNumber) -> Verdict {
        self.verdicts[site]
    }

    /// Whether a site has to be hooked: its accesses may meet another thread's.
    #[must_use]
    pub fn needs_hook(&self, site: SiteNumber) -> bool {
        !matches!(self.verdicts[site], Verdict::Private(_))
    }

    /// Whether a site that has a hook may also touch memory that sites without one
    /// touch: some that no other thread knows.
    #[must_use]
    pub fn is_mixed(&self, site: SiteNumber) -> bool {
        self.mixed.contains(site)
    }

    /// Every site with what is known about it.
    pub fn iter(&self) -> impl Iterator<Item = (SiteNumber, Verdict)> + '_ {
        self.verdicts.iter().map(|(site, verdict)| (site, *verdict))
    }

    /// Whether a function may run outside the main thread.
    #[must_use]
    pub fn runs_in_thread(&self, function: FunctionNumber) -> bool {
        self.threads.contains(function)
    }

    /// What a call through a pointer may reach; `None` if the instruction is
    /// no such call.
    #[must_use]
    pub fn callees(&self, function: FunctionNumber, call: InstructionNumber) -> Option<&Callees> {
        self.indirect.get(&(function, call))
    }
}

fn indirect(analysis: &Analysis<'_>) -> BTreeMap<(FunctionNumber, InstructionNumber), Callees> {
    let mut found: BTreeMap<_, Callees> = BTreeMap::new();
    for &(site, callee) in &analysis.resolved {
        found
            .entry((site.function, site.instruction))
            .or_default()
            .functions
            .push(callee);
    }
    for site in &analysis.unresolved {
        found
            .entry((site.function, site.instruction))
            .or_default()
            .unknown = true;
    }
    found
        .values_mut()
        .for_each(|callees| callees.functions.sort_unstable());
    found
}
