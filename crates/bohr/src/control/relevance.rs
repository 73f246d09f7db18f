//! Which events of a failing run matter for its failure.

use bohr_event::control::{Recorded, Step};
use bohr_event::{EventKind, Place, PlaceNumber, Signature};
use bohr_explore::Atlas;
use bohr_program::{Program, Sharing, SiteNumber};
use bohr_reduce::Execution;
use bohr_slice::{Influences, Moment, Relevant, Trace, slice};

/// Why nobody knows which events matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unknown {
    /// There is no model to go by.
    #[error("which events matter is not known: the program was not built with bohr")]
    NoModel,
    /// What a function of one module does to another's values is in neither model.
    #[error("which events matter is not known: the run has accesses in more than one module")]
    Libraries,
}

/// The slice of a run backward from its failure.
pub fn relevant(run: &Recorded, atlas: &Atlas, signature: &Signature) -> Result<Relevant, Unknown> {
    let program: &Program = atlas.models().first().ok_or(Unknown::NoModel)?;
    let sharing = Sharing::of(program);
    let influences = Influences::new(program, &sharing);
    relevant_by(&influences, program, run, atlas, signature)
}

/// The same for whoever asks more than once: what is known of the program's sites is
/// worked out when it is first needed.
pub fn relevant_by(
    influences: &Influences<'_>,
    program: &Program,
    run: &Recorded,
    atlas: &Atlas,
    signature: &Signature,
) -> Result<Relevant, Unknown> {
    let is_elsewhere = |place: PlaceNumber| {
        let known = atlas.site(place);
        known.is_some_and(|(model, _)| model.identity != program.identity)
    };
    let mut steps = run.steps.iter();
    if steps.any(|step| is_elsewhere(step.operation.place)) {
        return Err(Unknown::Libraries);
    }
    let site = |place: PlaceNumber| {
        let (model, site) = atlas.site(place)?;
        (model.identity == program.identity).then_some(site)
    };
    let trace = Trace {
        execution: Execution::recorded(run),
        site: &site,
        from: 0,
    };
    let failing = match &signature.place {
        Some(Place::Site(id)) => program.site_number(*id),
        _ => None,
    };
    let moments = moments(run, failing, &site);
    Ok(slice(trace, &moments, |site| influences.of(site)))
}

/// Who waits for locks for ever; otherwise the last event of who failed, and
/// where that was.
fn moments(
    run: &Recorded,
    failing: Option<SiteNumber>,
    site: &dyn Fn(PlaceNumber) -> Option<SiteNumber>,
) -> Vec<Moment> {
    use EventKind::{Acquire, AcquireShared, Wait};
    let waits = |kind| matches!(kind, Acquire | AcquireShared | Wait);
    let waiting = run.pending.iter();
    let waiting = waiting.filter(|step| waits(step.operation.kind));
    let mut moments: Vec<Moment> = waiting
        .map(|step| Moment::End {
            thread: step.thread,
            site: site(step.operation.place),
        })
        .collect();
    if let Some(last) = run.steps.last() {
        moments.push(Moment::Event(last_word(&run.steps) as u32));
        moments.extend(failing.map(|site| Moment::End {
            thread: last.thread,
            site: Some(site),
        }));
    }
    moments
}

/// The last event of the thread that did the last one; if that is the end of it, and of
/// the process with it, the one before, which depends on something.
fn last_word(steps: &[Step]) -> usize {
    let last = steps.len() - 1;
    let speaks =
        |step: &Step| step.thread == steps[last].thread && step.operation.kind != EventKind::Exit;
    steps.iter().rposition(speaks).unwrap_or(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bohr_event::{MemoryOrder, Operation, ThreadIndex};

    fn step(thread: u32, kind: EventKind) -> Step {
        Step {
            thread: ThreadIndex(thread),
            operation: Operation {
                kind,
                order: MemoryOrder::Plain,
                size: 4,
                object: 0x1000,
                place: PlaceNumber::new(0, 0),
            },
        }
    }

    #[test]
    fn the_end_of_a_process_is_not_what_it_said_last() {
        use EventKind::{Exit, Read, Write};
        let run = [step(0, Write), step(0, Read), step(1, Write), step(0, Exit)];
        assert_eq!(last_word(&run), 1);
        assert_eq!(last_word(&run[..3]), 2);
        assert_eq!(last_word(&run[..2]), 1);
        assert_eq!(last_word(&[step(0, Exit)]), 0);
    }
}
