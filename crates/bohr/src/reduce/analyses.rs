//! What a reduction asks the program's model over and over. Each analysis is made when
//! it is first needed, and once.

use super::calls::Calls;
use super::stores::Stores;
use crate::control::relevant_by;
use bohr_event::Signature;
use bohr_event::control::Recorded;
use bohr_explore::Atlas;
use bohr_program::{Program, Sharing};
use bohr_slice::{Influences, Relevant};
use std::cell::OnceCell;

/// The analyses of a program, if it has a model.
pub struct Analyses<'p> {
    program: Option<&'p Program>,
    sharing: &'p OnceCell<Sharing>,
    influences: OnceCell<Influences<'p>>,
    calls: OnceCell<Calls<'p>>,
    stores: OnceCell<Stores<'p>>,
}

impl<'p> Analyses<'p> {
    /// Of a program; `sharing` is where to keep which of its accesses are shared.
    pub fn new(program: Option<&'p Program>, sharing: &'p OnceCell<Sharing>) -> Analyses<'p> {
        Analyses {
            program,
            sharing,
            influences: OnceCell::new(),
            calls: OnceCell::new(),
            stores: OnceCell::new(),
        }
    }

    /// The events of a run that matter for a failure.
    pub fn relevant(
        &self,
        run: &Recorded,
        atlas: &Atlas,
        signature: &Signature,
    ) -> Option<Relevant> {
        let (program, sharing) = self.model()?;
        let influences = self
            .influences
            .get_or_init(|| Influences::new(program, sharing));
        relevant_by(influences, program, run, atlas, signature).ok()
    }

    /// The calls that can be left out.
    pub fn calls(&self) -> &Calls<'p> {
        self.calls.get_or_init(|| Calls::of(self.program))
    }

    /// The stores that can be left out.
    pub fn stores(&self) -> &Stores<'p> {
        self.stores.get_or_init(|| Stores::of(self.model()))
    }

    fn model(&self) -> Option<(&'p Program, &'p Sharing)> {
        let program = self.program?;
        Some((program, self.sharing.get_or_init(|| Sharing::of(program))))
    }
}
