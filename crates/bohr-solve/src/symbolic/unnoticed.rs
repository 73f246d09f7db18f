//! Events that nobody can notice are left out in the end: the solvers' work grows with
//! what remains.

use crate::check::needs_empty_buffer;
use crate::event::{Action, Buffered, Event, Problem, Thread};
use crate::term::Scalar;
use std::collections::HashSet;

/// The words that somebody reads; `None` if nobody knows which.
fn read_words(problem: &Problem) -> Option<HashSet<u64>> {
    let mut words = HashSet::new();
    for (_, event) in problem.events() {
        let Action::Access { reads, .. } = &event.action else {
            continue;
        };
        for piece in reads {
            let (start, size) = match piece.address {
                Scalar::Known(address) => (address as u64, piece.size.into()),
                Scalar::Term(_) => problem.initial.object_of(&problem.terms, piece.address)?,
            };
            words.extend(start >> 3..=(start + size) >> 3);
        }
    }
    Some(words)
}

/// Without writes that nobody reads; where there are store buffers, what is left of one
/// that empties its thread's is that.
pub(super) fn without(mut problem: Problem, buffers: bool) -> Problem {
    if let Some(read) = read_words(&problem) {
        for thread in &mut problem.threads {
            keep(thread, |event| is_noticed(event, &read, buffers));
        }
    }
    for thread in &mut problem.threads {
        let mut needed = needed_drains(thread).into_iter();
        keep(thread, |_| needed.next().unwrap_or(true));
    }
    problem
}

/// Takes what nobody reads from an event; whether anything is left of it.
fn is_noticed(event: &mut Event, read: &HashSet<u64>, buffers: bool) -> bool {
    let Action::Access {
        reads,
        writes,
        buffer,
        ..
    } = &mut event.action
    else {
        return true;
    };
    writes.retain(|piece| match piece.address {
        Scalar::Known(address) => {
            let end = address as u64 + u64::from(piece.size) - 1;
            (address as u64 >> 3..=end >> 3).any(|word| read.contains(&word))
        }
        Scalar::Term(_) => true,
    });
    if !reads.is_empty() || !writes.is_empty() {
        return true;
    }
    let drains = buffers && *buffer == Buffered::Empty;
    if drains {
        event.action = Action::Drain;
    }
    drains
}

/// For each event whether it is kept: all but those that empty a buffer in which
/// nothing can wait, or that the next event empties as well.
fn needed_drains(thread: &Thread) -> Vec<bool> {
    let mut waits = false;
    let is_needed = |(position, event): (usize, &Event)| {
        let next = thread.events.get(position + 1);
        let again = next.is_some_and(|next| needs_empty_buffer(&next.action));
        let kept = event.action != Action::Drain || waits && !again;
        match &event.action {
            Action::Access {
                buffer: Buffered::Waits,
                ..
            } => waits = true,
            action if kept && needs_empty_buffer(action) => waits = false,
            _ => {}
        }
        kept
    };
    thread.events.iter().enumerate().map(is_needed).collect()
}

/// Keeps some of a thread's events.
fn keep(thread: &mut Thread, mut is_kept: impl FnMut(&mut Event) -> bool) {
    let mut kept = Vec::new();
    // How many events are kept before each position.
    let mut before = Vec::with_capacity(thread.events.len() + 1);
    for mut event in std::mem::take(&mut thread.events) {
        before.push(kept.len());
        if is_kept(&mut event) {
            kept.push(event);
        }
    }
    before.push(kept.len());
    for condition in &mut thread.conditions {
        condition.after = before[condition.after.min(before.len() - 1)];
    }
    thread.certain = before[thread.certain.min(before.len() - 1)];
    thread.events = kept;
}
