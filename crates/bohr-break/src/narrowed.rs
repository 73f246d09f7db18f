//! Visits that count only under a condition on the visiting thread alone.

use crate::{Breakpoint, Visit};

/// A breakpoint where a thread comes by under a condition; made by
/// [`Breakpoint::when`].
#[must_use = "no thread comes by before a side is named"]
#[derive(Debug)]
pub struct Narrowed<S: 'static> {
    pub(crate) breakpoint: &'static Breakpoint<S>,
    pub(crate) is_open: bool,
}

impl<S: Clone + Send + Sync + 'static> Narrowed<S> {
    /// As [`Breakpoint::first`].
    #[inline]
    pub fn first(self, state: impl Into<S>) -> Visit {
        self.side(0, state)
    }

    /// As [`Breakpoint::second`].
    #[inline]
    pub fn second(self, state: impl Into<S>) -> Visit {
        self.side(1, state)
    }

    /// As [`Breakpoint::side`].
    #[inline]
    pub fn side(self, side: usize, state: impl Into<S>) -> Visit {
        self.breakpoint.side_if(self.is_open, side, state)
    }

    /// As [`Breakpoint::reach`].
    #[inline]
    pub fn reach(self, side: usize, state: impl Into<S>) -> bool {
        self.side(side, state).pass_unsettled()
    }
}
