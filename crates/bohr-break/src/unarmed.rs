//! The same names without the feature `armed`: nothing is left of them in the
//! program.

use crate::condition::{Locks, Object};
use crate::figures::Statistics;
use std::marker::PhantomData;
use std::time::Duration;

/// Does nothing without the feature `armed`.
#[derive(Debug)]
pub struct Breakpoint<S: 'static = Object>(PhantomData<fn(S)>);

impl Breakpoint<Object> {
    /// Does nothing without the feature `armed`.
    #[must_use]
    pub const fn conflict(_: &'static str) -> Breakpoint<Object> {
        Breakpoint(PhantomData)
    }

    /// Does nothing without the feature `armed`.
    #[must_use]
    pub const fn missed_notification(_: &'static str) -> Breakpoint<Object> {
        Breakpoint(PhantomData)
    }
}

impl Breakpoint<Locks> {
    /// Does nothing without the feature `armed`.
    #[must_use]
    pub const fn deadlock(_: &'static str) -> Breakpoint<Locks> {
        Breakpoint(PhantomData)
    }
}

impl<S: 'static> Breakpoint<S> {
    /// Does nothing without the feature `armed`.
    #[must_use]
    pub const fn new(_: &'static str, _: fn(&S, &S) -> bool) -> Breakpoint<S> {
        Breakpoint(PhantomData)
    }

    /// Does nothing without the feature `armed`.
    #[must_use]
    pub const fn sides(self, _: usize) -> Breakpoint<S> {
        self
    }

    /// Does nothing without the feature `armed`.
    #[must_use]
    pub const fn pause(self, _: Duration) -> Breakpoint<S> {
        self
    }

    /// Does nothing without the feature `armed`.
    #[must_use]
    pub const fn ignore_first(self, _: u64) -> Breakpoint<S> {
        self
    }

    /// Does nothing without the feature `armed`.
    #[must_use]
    pub const fn at_most(self, _: u64) -> Breakpoint<S> {
        self
    }

    /// Does nothing without the feature `armed`.
    #[must_use]
    pub const fn within(self, _: &'static str) -> Breakpoint<S> {
        self
    }

    /// Does nothing without the feature `armed`.
    #[must_use]
    pub const fn one_waits(self) -> Breakpoint<S> {
        self
    }

    /// Does nothing without the feature `armed`; not even the condition is evaluated.
    #[inline(always)]
    pub fn when(&'static self, _: impl FnOnce() -> bool) -> Narrowed<S> {
        Narrowed(PhantomData)
    }

    /// Does nothing without the feature `armed`.
    #[inline(always)]
    pub fn artefact(&self) {}

    /// All zero without the feature `armed`.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        Statistics::default()
    }

    /// Does nothing without the feature `armed`.
    #[inline(always)]
    pub fn first(&'static self, _: impl Into<S>) -> Visit {
        Visit(())
    }

    /// Does nothing without the feature `armed`.
    #[inline(always)]
    pub fn second(&'static self, _: impl Into<S>) -> Visit {
        Visit(())
    }

    /// Does nothing without the feature `armed`.
    #[inline(always)]
    pub fn side(&'static self, _: usize, _: impl Into<S>) -> Visit {
        Visit(())
    }

    /// Does nothing without the feature `armed`.
    #[inline(always)]
    pub fn reach(&'static self, _: usize, _: impl Into<S>) -> bool {
        false
    }
}

/// Does nothing without the feature `armed`.
#[must_use = "no thread comes by before a side is named"]
#[derive(Debug)]
pub struct Narrowed<S: 'static>(PhantomData<fn(S)>);

impl<S: 'static> Narrowed<S> {
    /// Does nothing without the feature `armed`.
    #[inline(always)]
    pub fn first(self, _: impl Into<S>) -> Visit {
        Visit(())
    }

    /// Does nothing without the feature `armed`.
    #[inline(always)]
    pub fn second(self, _: impl Into<S>) -> Visit {
        Visit(())
    }

    /// Does nothing without the feature `armed`.
    #[inline(always)]
    pub fn side(self, _: usize, _: impl Into<S>) -> Visit {
        Visit(())
    }

    /// Does nothing without the feature `armed`.
    #[inline(always)]
    pub fn reach(self, _: usize, _: impl Into<S>) -> bool {
        false
    }
}

/// Does nothing without the feature `armed`.
#[derive(Debug)]
pub struct Roll(());

impl Roll {
    /// Does nothing without the feature `armed`.
    #[must_use]
    pub const fn of(_: &'static str, _: usize) -> Roll {
        Roll(())
    }

    /// Does nothing without the feature `armed`.
    #[must_use]
    pub const fn pause(self, _: Duration) -> Roll {
        self
    }

    /// Nothing without the feature `armed`.
    #[inline(always)]
    pub fn which(&'static self) -> Option<usize> {
        None
    }
}

/// Does nothing without the feature `armed`.
#[must_use = "the sides after this one wait for the end of the guard"]
#[derive(Debug)]
pub struct Visit(());

impl Visit {
    /// Never, without the feature `armed`.
    #[must_use]
    pub fn is_hit(&self) -> bool {
        false
    }
}

/// Does nothing without the feature `armed`.
#[must_use = "the scope ends with its guard"]
#[derive(Debug)]
pub struct Scope(());

/// Does nothing without the feature `armed`.
#[inline(always)]
pub fn scope(_: &'static str) -> Scope {
    Scope(())
}

/// Does nothing without the feature `armed`.
#[inline(always)]
pub fn holding<T: ?Sized>(_: &T) -> Scope {
    Scope(())
}

/// Never, without the feature `armed`.
#[must_use]
pub fn is_held<T: ?Sized>(_: &T) -> bool {
    false
}

/// Does nothing without the feature `armed`.
pub fn arm() {}

/// Does nothing without the feature `armed`.
pub fn disarm() {}

/// Nothing without the feature `armed`.
#[must_use]
pub fn summary_as_text() -> String {
    String::new()
}

/// Nothing without the feature `armed`.
#[must_use]
pub fn summary_as_json() -> String {
    "[]".to_string()
}
