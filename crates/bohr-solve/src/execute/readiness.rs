//! What `poll` and `select` told in the recorded run. Pipes and counters that the program
//! has made itself are not modelled, so all that is told here is about the world outside.

use super::access::plus;
use super::thread::Thread;
use super::{Step, World};
use crate::datum::Datum;
use bohr_event::inputs::{Answer, Ready};

/// Bytes of an entry of `poll`, and where in it the answer is.
const ENTRY: u64 = 8;
const ANSWER: u64 = 6;

/// What the sets of `select` are for, in the words of `poll`.
const MEANINGS: [u32; 3] = [1, 4, 2];

impl Thread<'_> {
    /// Tells the entries of a `poll` what came of them.
    pub(super) fn polled(
        &mut self,
        world: &mut dyn World,
        arguments: &[Datum],
        answer: &Answer,
    ) -> Step<i64> {
        let count = self.known(&arguments[1], "a number of descriptors")?;
        let told: Vec<Ready> = Ready::all(&answer.bytes).collect();
        let count = if answer.result < 0 { 0 } else { count };
        for at in 0..count {
            let ready = told.iter().find(|one| u64::from(one.which) == at);
            let events = ready.map_or(0, |one| one.events as u16);
            let to = plus(world, arguments[0].scalar(), at * ENTRY + ANSWER)?;
            self.tell(world, to, &events.to_le_bytes())?;
        }
        Ok(answer.result)
    }

    /// Leaves in the sets of a `select` what was ready.
    pub(super) fn selected(
        &mut self,
        world: &mut dyn World,
        arguments: &[Datum],
        answer: &Answer,
    ) -> Step<i64> {
        let count = self.known(&arguments[0], "a number of descriptors")?;
        if answer.result < 0 {
            return Ok(answer.result);
        }
        for (set, meaning) in arguments[1..].iter().zip(MEANINGS) {
            let mut bytes = vec![0u8; (count.div_ceil(64) * 8) as usize];
            let ready = Ready::all(&answer.bytes).filter(|one| one.events & meaning != 0);
            for one in ready {
                if let Some(byte) = bytes.get_mut(one.which as usize / 8) {
                    *byte |= 1 << (one.which % 8);
                }
            }
            self.tell(world, set.scalar(), &bytes)?;
        }
        Ok(answer.result)
    }
}
