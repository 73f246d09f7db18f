//! What explaining needs of whoever can run the program, and how a boundary is
//! found with few runs.

use bohr_event::control::Recorded;
use bohr_event::{Operation, PlaceNumber, Schedule};

/// One run.
#[derive(Clone, Debug, Default)]
pub struct Observation {
    /// Whether it showed the failure.
    pub fails: bool,
    /// All that happened.
    pub run: Recorded,
}

/// Somebody who has the program at hand and knows the failure.
pub trait Experimenter {
    /// Why no experiment can be made.
    type Error;

    /// Runs the program along `candidate` as far as it can be followed and
    /// without preemption from there on.
    ///
    /// # Errors
    /// If the program cannot be run.
    fn observe(&mut self, candidate: &Schedule<PlaceNumber>) -> Result<Observation, Self::Error>;

    /// What an access is worth as an explanation.
    fn importance(&self, operation: &Operation) -> Importance {
        let _ = operation;
        Importance::Data
    }
}

/// What an access is worth as an explanation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Importance {
    /// It belongs to the language's own runtime.
    Private,
    /// It is to a lock.
    Lock,
    /// It is to data.
    Data,
}

/// The last of `0..=most` up to which every experiment fails, given that 0
/// does. Looks at distances 1, 2, 4 and so on and halves the last of them, so
/// it takes the outcome to change only once over a long stretch.
pub(crate) fn last_failing<E>(
    most: u64,
    mut fails: impl FnMut(u64) -> Result<bool, E>,
) -> Result<u64, E> {
    let (mut failing, mut step) = (0, 1);
    let mut passing = most + 1;
    while failing < most {
        let next = (failing + step).min(most);
        if !fails(next)? {
            passing = next;
            break;
        }
        failing = next;
        step *= 2;
    }
    while passing - failing > 1 {
        let middle = failing + (passing - failing) / 2;
        if fails(middle)? {
            failing = middle;
        } else {
            passing = middle;
        }
    }
    Ok(failing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::convert::Infallible;

    proptest! {
        #[test]
        fn a_boundary_is_found_in_few_steps(most in 0u64..10_000, boundary in 0u64..10_000) {
            let mut experiments = 0;
            let Ok(found) = last_failing(most, |distance| {
                experiments += 1;
                Ok::<_, Infallible>(distance <= boundary)
            });
            prop_assert_eq!(found, boundary.min(most));
            prop_assert!(experiments <= 30, "{} experiments", experiments);
        }
    }
}
