//! What accesses have to do with their thread's store buffer, by the rules of the runtime
//! (`bohr-runtime/src/buffers.rs`): those that nobody can notice may empty it.

use super::{Current, Sees, Unknown};
use crate::event::{Action, Buffered, Spot};
use crate::execute::Moment;
use crate::memory::on_stack;
use crate::model::WIDEST;

impl Unknown<'_, '_> {
    /// Something that others notice by the state of the store buffer alone, if at all.
    pub(super) fn drain(&mut self, spot: Spot) {
        if self.shared.sees.is_some() && !self.alone {
            self.push(spot, Action::Drain);
        }
    }

    /// What an access has to do with the store buffer, by the rules of the runtime.
    pub(super) fn buffered(&self, current: &Current) -> Buffered {
        let Moment {
            spot,
            counts,
            buffer,
            ..
        } = current.moment;
        let is_seen = |sees: Sees<'_>| counts > 0 && sees(spot);
        if !self.shared.sees.is_none_or(is_seen) {
            return Buffered::Past;
        }
        let Some((address, size)) = current.stored else {
            return buffer;
        };
        let on_stack = |address: u128| on_stack(self.thread, address as u64);
        match buffer {
            Buffered::Past if counts > 0 => Buffered::Empty,
            // The next call may lay its frame over a store to the thread's own stack.
            Buffered::Waits if size > WIDEST || address.known().is_some_and(on_stack) => {
                Buffered::Empty
            }
            other => other,
        }
    }
}
