//! Which stores can be left out, and how they are told.

use bohr_event::abi::{MAIN_STACK, THREAD_SLOTS};
use bohr_event::control::{GateReference, Omissible, OmittedPasses, Recorded, Step};
use bohr_event::{Place, PlaceNumber, ThreadIndex, ThreadPath};
use bohr_explore::Atlas;
use bohr_program::{Program, Sharing, SiteNumber, is_skippable_store, stores_fed_by};
use bohr_reduce::Execution;
use bohr_slice::{Trace, unread};
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

/// The stores of a program that can be left out.
pub struct Stores<'a> {
    program: Option<(&'a Program, &'a Sharing)>,
    /// By site, whether the model lets it go.
    known: RefCell<HashMap<SiteNumber, bool>>,
}

impl<'a> Stores<'a> {
    pub fn of(program: Option<(&'a Program, &'a Sharing)>) -> Stores<'a> {
        Stores {
            program,
            known: RefCell::default(),
        }
    }

    /// Whether a gate is one of them.
    pub fn can_go(&self, gate: GateReference) -> bool {
        let Omissible::Store(site) = gate.leaves_out() else {
            return false;
        };
        let is_its = |(program, _): (&Program, _)| program.identity == gate.program;
        self.program.is_some_and(is_its) && self.is_skippable(SiteNumber::from_u32(site))
    }

    fn is_skippable(&self, site: SiteNumber) -> bool {
        let Some((program, sharing)) = self.program else {
            return false;
        };
        let find = || is_skippable_store(program, &|site| sharing.needs_hook(site), site);
        *self.known.borrow_mut().entry(site).or_insert_with(find)
    }

    /// Where whose stores in a run are read by somebody.
    pub fn read(&self, run: &Recorded, atlas: &Atlas) -> HashSet<(PlaceNumber, ThreadPath)> {
        let unread = self.unread(run, atlas);
        let steps = (0u64..).zip(&run.steps);
        let read = steps.filter(|(event, _)| !unread.contains(event));
        let place = |step: &Step| {
            let thread = run.threads.get(step.thread.position())?;
            Some((step.operation.place, thread.clone()))
        };
        read.filter_map(|(_, step)| place(step)).collect()
    }

    /// The events of a run that are stores whose values nobody reads.
    pub fn unread(&self, run: &Recorded, atlas: &Atlas) -> HashSet<u64> {
        let Some((program, sharing)) = self.program else {
            return HashSet::new();
        };
        let site = |place| {
            let (model, site) = atlas.site(place)?;
            (model.identity == program.identity).then_some(site)
        };
        let trace = Trace {
            execution: Execution::recorded(run),
            site: &site,
            from: 0,
        };
        let stores = bohr_slice::Stores {
            can_go: &|site| !sharing.is_mixed(site) && self.is_skippable(site),
            feeds: &|site| stores_fed_by(program, site),
        };
        unread(trace, &stores).into_iter().map(u64::from).collect()
    }
}

/// Whether a store may be to its thread's own stack, which is never left out.
pub fn may_be_on_own_stack(step: &Step) -> bool {
    let stacks = match step.thread {
        ThreadIndex::MAIN => MAIN_STACK,
        _ => THREAD_SLOTS,
    };
    stacks.contains(&step.operation.object)
}

/// Stores that are left out of a result.
pub struct OmittedStores {
    /// Where, in words.
    pub place: String,
    /// Whose and which.
    pub passes: OmittedPasses,
}

/// The place of a store that can be left out.
pub fn place_of(atlas: &Atlas, gate: GateReference) -> Option<PlaceNumber> {
    let mut models = atlas.models().iter();
    let program = models.find(|program| program.identity == gate.program)?;
    let Omissible::Store(site) = gate.leaves_out() else {
        return None;
    };
    let site = SiteNumber::from_u32(site);
    program.site(site)?;
    atlas.number(&Place::Site(program.site_id(site)))
}
