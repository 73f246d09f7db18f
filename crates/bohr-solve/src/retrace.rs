//! The ways of the threads of a run under control, from the events that it traced:
//! the program is interpreted once more, thread by thread in the order of the events,
//! with stores in buffers until they were written. So a run whose stores waited, which
//! no recorded thread can be made to do, has a path log, too.

use crate::error::{ExecuteError, explain};
use crate::execute::{Halt, Progress};
use crate::path::{Ending, Environment};
use crate::play::{Played, Stage};
use bohr_event::{EventKind, ThreadPath};
use bohr_program::{Program, SiteNumber};

/// An event that was traced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traced {
    /// Whose; perhaps a store buffer's.
    pub thread: ThreadPath,
    /// What.
    pub kind: EventKind,
    /// Where, of accesses.
    pub site: Option<SiteNumber>,
    /// The address, as that run had it.
    pub object: u64,
}

/// Interprets the program, called with these words and variables, along a trace, and the thread that failed to its end.
///
/// # Errors
/// If the program does something on the way that is not modelled.
pub fn retrace(
    program: &Program,
    (arguments, environment): (&[Vec<u8>], Environment),
    trace: &[Traced],
    hooked: &dyn Fn(SiteNumber) -> bool,
    (failed, ending): (&ThreadPath, Ending),
) -> Result<Played, ExecuteError> {
    let code = crate::execute::Code::new(program, environment);
    let mut stage = Stage::begin(&code, arguments)?;
    stage.world.is_seen = Some(seen(program, hooked));
    for event in trace {
        if let Some(owner) = event.thread.buffer_of() {
            let owner = stage.position(&owner);
            stage.world.write_out(owner, event.object);
            continue;
        }
        let thread = stage.position(&event.thread);
        let until = match event.kind {
            EventKind::Exit => u32::MAX,
            kind if kind.is_access() || kind == EventKind::Store => {
                if !event.site.is_some_and(hooked) {
                    continue;
                }
                stage.world.buffers_next = (kind == EventKind::Store).then_some(event.object);
                stage.world.expect(thread)
            }
            kind if TICKS.contains(&kind) => stage.world.expect(thread),
            _ => continue,
        };
        stage.advance(thread, until)?;
    }
    if let Some(behind) = stage.world.behind() {
        let what = format!("thread {} does less than was traced", stage.paths[behind]);
        let spot = stage.threads[behind].0.spot();
        return Err(explain(program, Some(spot), Halt::OffPath(what)));
    }
    let failed = stage.position(failed);
    stage.advance(failed, u32::MAX)?;
    Ok(stage.finish(failed, Some(ending), arguments))
}

/// What is counted beside accesses.
const TICKS: [EventKind; 15] = [
    EventKind::Fork,
    EventKind::Join,
    EventKind::Fence,
    EventKind::Acquire,
    EventKind::Release,
    EventKind::AcquireShared,
    EventKind::ReleaseShared,
    EventKind::Wait,
    EventKind::Signal,
    EventKind::Broadcast,
    EventKind::Send,
    EventKind::Receive,
    EventKind::Arrive,
    EventKind::Depart,
    EventKind::Look,
];

fn seen(
    program: &Program,
    hooked: &dyn Fn(SiteNumber) -> bool,
) -> std::collections::HashSet<crate::event::Spot> {
    let sites = program.sites.iter().filter(|(number, _)| hooked(*number));
    sites
        .map(|(_, site)| crate::event::Spot {
            function: site.function,
            instruction: site.instruction,
        })
        .collect()
}

impl Stage<'_> {
    /// The position of a thread, which exists.
    fn position(&self, path: &ThreadPath) -> usize {
        let found = self.paths.iter().position(|one| one == path);
        found.unwrap_or(0)
    }

    /// Lets a thread go on until it has done so much that is counted.
    fn advance(&mut self, thread: usize, until: u32) -> Result<(), ExecuteError> {
        let program = self.code.program;
        self.world.limit = Some(until);
        while self.world.ticks(thread) < until {
            self.world.current = thread;
            let Some((acting, end)) = self.threads.get_mut(thread) else {
                return Ok(());
            };
            if end.is_some() {
                return Ok(());
            }
            let spot = acting.spot();
            match acting.step(&mut self.world) {
                Ok(Progress::On) => {}
                // Whatever it waits for was not counted; it goes on at its next event.
                Ok(Progress::Blocked) | Err(Halt::Fault(_)) => return Ok(()),
                Ok(Progress::Over(end)) => {
                    self.over(thread, end);
                    return Ok(());
                }
                Err(halt) => return Err(explain(program, Some(spot), halt)),
            }
            self.spawn().map_err(|halt| explain(program, None, halt))?;
        }
        Ok(())
    }
}
