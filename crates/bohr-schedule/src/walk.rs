//! Random walk: every enabled thread is as likely as any other at every event.
//!
//! The baseline that other strategies are measured against. Thomson, Donaldson
//! and Betts ("Concurrency Testing Using Controlled Schedulers", TOPC 2016)
//! found it hard to beat on small programs.
//!
//! A thread that spins is picked only when no other is enabled, and otherwise
//! once in a while, in case spinning was the wrong diagnosis.

use crate::{Decision, Grant, Random, Strategy, View};
use bohr_event::{ChoiceKind, ThreadIndex, ThreadPath};

/// How often a spinning thread is picked all the same.
const SPINNER_ONE_IN: u64 = 16;

/// How often an outcome that is not the ordinary one is picked.
const UNUSUAL_ONE_IN: u64 = 8;

/// See the module.
#[derive(Clone, Debug)]
pub struct RandomWalk {
    random: Random,
}

impl RandomWalk {
    /// The walk of this seed.
    #[must_use]
    pub fn new(seed: u64) -> RandomWalk {
        RandomWalk {
            random: Random::new(seed),
        }
    }
}

/// Any enabled thread, spinning ones rarely.
pub(crate) fn pick_enabled(random: &mut Random, view: &View<'_>) -> ThreadIndex {
    loop {
        let position = random.below(view.enabled.len() as u64) as usize;
        let thread = view.enabled[position];
        if !view.spins(thread) || !view.any_useful() || random.one_in(SPINNER_ONE_IN) {
            return thread;
        }
    }
}

/// Any waiter; of the rest mostly the ordinary outcome.
pub(crate) fn pick_outcome(random: &mut Random, kind: ChoiceKind, options: u32) -> u32 {
    if kind == ChoiceKind::Waiter || random.one_in(UNUSUAL_ONE_IN) {
        return random.below(u64::from(options)) as u32;
    }
    0
}

impl Strategy for RandomWalk {
    fn thread_started(&mut self, _: ThreadIndex, _: &ThreadPath) {}

    fn decide(&mut self, view: &View<'_>) -> Decision {
        Decision::Run(Grant::once(pick_enabled(&mut self.random, view)))
    }

    fn choose(&mut self, _: ThreadIndex, kind: ChoiceKind, options: u32) -> u32 {
        pick_outcome(&mut self.random, kind, options)
    }
}
