//! What a reducer needs of whoever can run the program: hand over a schedule,
//! get back what really happened if it is still the same failure.

use bohr_event::{PlaceNumber, Schedule};

/// How much a schedule asks of its reader. A preemption has to be understood;
/// other switches happen in any program whose threads wait for each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cost {
    /// Switches away from a thread that could have gone on.
    pub preemptive: u64,
    /// All switches.
    pub switches: u64,
}

/// A run that showed the failure, as it was executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failing {
    /// Its interleaving: replayed, it shows the failure again.
    pub schedule: Schedule<PlaceNumber>,
    /// What it costs.
    pub cost: Cost,
}

/// Somebody who has the program at hand and knows the failure.
pub trait Laboratory {
    /// Why no experiment can be made.
    type Error;

    /// Runs the program along `candidate` as far as it can be followed and
    /// without preemption from there on. `None` if that run did not show the
    /// failure.
    ///
    /// # Errors
    /// If the program cannot be run.
    fn attempt(
        &mut self,
        candidate: &Schedule<PlaceNumber>,
    ) -> Result<Option<Failing>, Self::Error>;

    /// Whether there is time for another experiment.
    fn has_time(&self) -> bool;
}
