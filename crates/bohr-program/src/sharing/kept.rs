//! The outcome of the analysis as bytes, so that who made a profile need not
//! make others analyse the program again. A cache: whatever does not fit the
//! program is no outcome.

use super::{Callees, Sharing, Verdict};
use crate::ids::{FunctionNumber, InstructionNumber, SiteNumber};
use crate::program::Program;
use cranelift_entity::{EntityRef, EntitySet};
use serde::{Deserialize, Serialize};

/// What is kept.
#[derive(Serialize, Deserialize)]
struct Kept {
    /// Of the program.
    identity: [u8; 32],
    verdicts: Vec<Verdict>,
    threads: Vec<FunctionNumber>,
    indirect: Vec<(FunctionNumber, InstructionNumber, Vec<FunctionNumber>, bool)>,
    mixed: Vec<SiteNumber>,
}

impl Sharing {
    /// The analysis as bytes.
    ///
    /// # Panics
    /// Never: there is nothing in it that cannot be written.
    #[must_use]
    pub fn to_bytes(&self, program: &Program) -> Vec<u8> {
        let indirect = self.indirect.iter().map(|(&(function, call), callees)| {
            (function, call, callees.functions.clone(), callees.unknown)
        });
        let kept = Kept {
            identity: program.identity,
            verdicts: self.verdicts.values().copied().collect(),
            threads: self.threads.iter().collect(),
            indirect: indirect.collect(),
            mixed: self.mixed.iter().collect(),
        };
        postcard::to_allocvec(&kept).expect("plain data")
    }

    /// The analysis of `program` from bytes; `None` if they are not of it.
    #[must_use]
    pub fn from_bytes(bytes: &[u8], program: &Program) -> Option<Sharing> {
        let kept: Kept = postcard::from_bytes(bytes).ok()?;
        let exists = |function: &FunctionNumber| function.index() < program.functions.len();
        let fits = kept.identity == program.identity
            && kept.verdicts.len() == program.sites.len()
            && kept.threads.iter().all(exists)
            && kept.mixed.iter().all(|site| program.site(*site).is_some())
            && kept.indirect.iter().all(|one| one.2.iter().all(exists));
        if !fits {
            return None;
        }
        let mut threads = EntitySet::new();
        kept.threads.into_iter().for_each(|function| {
            threads.insert(function);
        });
        let mut mixed = EntitySet::new();
        kept.mixed.into_iter().for_each(|site| {
            mixed.insert(site);
        });
        let indirect = kept.indirect.into_iter();
        let indirect = indirect.map(|(function, call, functions, unknown)| {
            ((function, call), Callees { functions, unknown })
        });
        Some(Sharing {
            verdicts: kept.verdicts.into_iter().collect(),
            mixed,
            threads,
            indirect: indirect.collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{counter, sampler};

    #[test]
    fn what_is_kept_is_read_and_nothing_else() {
        for program in [counter(), sampler()] {
            let sharing = Sharing::of(&program);
            let bytes = sharing.to_bytes(&program);
            let read = Sharing::from_bytes(&bytes, &program).expect("of this program");
            assert!(read.iter().eq(sharing.iter()));
            assert_eq!(read.to_bytes(&program), bytes);
            for length in 0..bytes.len() {
                assert!(Sharing::from_bytes(&bytes[..length], &program).is_none());
            }
            let mut other = program.clone();
            other.identity[0] ^= 1;
            assert!(Sharing::from_bytes(&bytes, &other).is_none());
        }
    }
}
