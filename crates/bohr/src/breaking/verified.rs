//! A set of breakpoints that many runs have verified, and what its patch does.

use super::artefacts::{Case, Draft, draft};
use super::laboratory::{Compared, Laboratory};
use super::proof::{Proof, prove};
use crate::outcome::Failure;
use bohr_trigger::Expression;

/// Overhead that is not worth looking for less; most of the paper's are below.
const LITTLE: f64 = 1.4;

/// See the module.
pub struct Verified {
    pub set: Vec<Expression>,
    pub compared: Compared,
    /// Its patch and test, if there can be any.
    pub draft: Option<Draft>,
    /// What became of them, if they were tried.
    pub proof: Option<Proof>,
}

impl Verified {
    /// A set whose patch was not tried yet.
    pub fn new(set: Vec<Expression>, compared: Compared) -> Verified {
        Verified {
            set,
            compared,
            draft: None,
            proof: None,
        }
    }

    /// Finds out what its patch does.
    pub fn try_patch(
        &mut self,
        case: &Case<'_>,
        laboratory: &Laboratory<'_, '_>,
    ) -> Result<(), Failure> {
        let proof = match draft(&self.set, case, false) {
            Err(error) => Proof::NoPatch(error.to_string()),
            Ok(draft) => {
                let proof = prove(&draft, case.program, laboratory)?;
                self.draft = Some(draft);
                proof
            }
        };
        eprintln!("bohr: {}", proof.describe());
        self.proof = Some(proof);
        if matches!(self.proof, Some(Proof::DoesNot { .. })) {
            self.try_patch_with_objects(case, laboratory)?;
        }
        Ok(())
    }

    /// What statements seem to be about is a guess, so it has to prove itself.
    fn try_patch_with_objects(
        &mut self,
        case: &Case<'_>,
        laboratory: &Laboratory<'_, '_>,
    ) -> Result<(), Failure> {
        let Ok(draft) = draft(&self.set, case, true) else {
            return Ok(());
        };
        if self.draft.as_ref().is_some_and(|known| *known == draft) {
            return Ok(());
        }
        let proof = prove(&draft, case.program, laboratory)?;
        if matches!(proof, Proof::Reproduces { .. }) {
            eprintln!(
                "bohr: with the objects that are named: {}",
                proof.describe()
            );
            self.draft = Some(draft);
            self.proof = Some(proof);
        }
        Ok(())
    }

    /// Whether nearly every run fails.
    pub fn is_certain(&self, enough: f64) -> bool {
        self.compared.with.probability() >= enough
    }

    fn has_patch(&self) -> bool {
        self.proof.as_ref().is_some_and(Proof::is_good)
    }

    /// Whether it is as certain, as quick and as lasting as anybody could wish.
    pub fn is_fine(&self, enough: f64) -> bool {
        self.is_certain(enough) && self.has_patch() && self.is_quick()
    }

    /// Whether it costs little.
    pub fn is_quick(&self) -> bool {
        self.compared.overhead() <= LITTLE
    }

    /// More certain, as far as that is not enough anyway; or as certain, and the
    /// sources can keep it; or that, too, and quicker.
    pub fn is_better_than(&self, other: &Verified, enough: f64) -> bool {
        let sure = |one: &Verified| one.compared.with.probability().min(enough);
        let certainty = sure(self).total_cmp(&sure(other));
        let kept = self.has_patch().cmp(&other.has_patch());
        let quick = self.is_quick().cmp(&other.is_quick());
        let time = |one: &Verified| one.compared.overhead();
        let quicker = time(other).total_cmp(&time(self));
        certainty.then(kept).then(quick).then(quicker).is_gt()
    }
}
