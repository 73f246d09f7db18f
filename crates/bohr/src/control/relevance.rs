//! Which events of a failing run matter for its failure.

use bohr_event::control::Recorded;
use bohr_event::{EventKind, Place, PlaceNumber, Signature};
use bohr_explore::Atlas;
use bohr_program::{Program, Sharing, SiteNumber};
use bohr_reduce::Execution;
use bohr_slice::{Influences, Moment, Relevant, Trace, slice};

/// The slice of a run backward from its failure. `None` if there is no model to
/// go by, as of a program that was not built with bohr.
pub fn relevant(run: &Recorded, atlas: &Atlas, signature: &Signature) -> Option<Relevant> {
    let program: &Program = atlas.models().first()?;
    let site = |place: PlaceNumber| {
        let (model, site) = atlas.site(place)?;
        (model.identity == program.identity).then_some(site)
    };
    let sharing = Sharing::of(program);
    let influences = Influences::new(program, &sharing);
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
    Some(slice(trace, &moments, |site| influences.of(site)))
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
        moments.push(Moment::Event(run.steps.len() as u32 - 1));
        moments.extend(failing.map(|site| Moment::End {
            thread: last.thread,
            site: Some(site),
        }));
    }
    moments
}
