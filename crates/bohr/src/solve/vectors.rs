//! Order logs: what threads did to each other was written down, so nothing has to be
//! searched for. The vectors are merged into one order, and a run under control that
//! keeps to it is the recorded one.
//!
//! Who is woken by a signal was not written down, nor when it was sent: the first run
//! sends it when somebody waits for it, those that follow at any moment.

use super::{Args, SolveError, Solved, Solver, failure};
use crate::control::interruption;
use crate::outcome::Failure;
use bohr_explore::hunt::{Budget, Hunt, Shard, hunt};
use bohr_explore::native::hooked_sites;
use bohr_explore::{StrategyName, Subject, Voice, object_of_sites};
use bohr_log::{Recording, merge};
use bohr_schedule::{RecordedTurn, RecordedTurns, Ways};
use std::sync::atomic::Ordering;

/// Runs in which signals come at any moment.
const TRIES: u64 = 500;

/// What of an order a run has to keep to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Demand {
    /// Locks alone; the rest is searched for.
    Synchronisation,
    /// Everything, and nobody dawdles.
    Everything,
    /// Everything.
    Loosely,
}

/// The turns of a recorded run.
pub fn turns(recording: &Recording, demand: Demand) -> Result<RecordedTurns, Failure> {
    let paces = merge(recording).map_err(SolveError::from)?;
    let turns = paces.into_iter().map(|pace| RecordedTurn {
        thread: recording.threads[pace.thread as usize].thread.clone(),
        synchronises: pace.synchronises,
        steps: pace.steps,
    });
    Ok(RecordedTurns {
        turns: turns.collect(),
        accesses: demand != Demand::Synchronisation,
        prompt: demand == Demand::Everything,
    })
}

/// Runs the program along the recorded order until the recorded failure comes.
pub fn solve(args: &Args, recording: &Recording, subject: &Subject) -> Result<Solved, Failure> {
    let mut ways = ways(recording, subject)?;
    let wanted = failure::wanted(args, &subject.models[0], recording)?;
    let accesses = ways.turns.iter().flat_map(|turns| &turns.turns);
    let accesses = accesses.filter(|turn| !turn.synchronises);
    let accesses = accesses.map(|turn| turn.steps).sum();
    let (mut runs, mut others, mut seconds) = (0, 0, 0.0);
    for (strategy, most) in [(StrategyName::Sequential, 1), (StrategyName::Random, TRIES)] {
        let plan = Hunt {
            strategy,
            seed: 0,
            jobs: 1,
            shard: Shard::WHOLE,
            budget: Budget {
                runs: Some(most),
                time: Some(args.time),
            },
            keep_going: false,
            wanted: Some(wanted.clone()),
            ways: Some(ways.clone()),
            checkpoints: false,
            rewind: true,
            listed: None,
        };
        let result = hunt(subject, &plan, interruption(), &mut |_| {})?;
        runs += result.statistics.runs;
        others += result.statistics.others;
        seconds += result.statistics.seconds;
        if let Some(finding) = result.findings.into_iter().next() {
            return Ok(Solved {
                by: Solver::Execution,
                bug: finding.bug,
                runs,
                accesses,
                seconds,
                figures: serde_json::Map::new(),
            });
        }
        ways.turns = Some(turns(recording, Demand::Loosely)?);
    }
    let wanted = wanted.to_string();
    Err(SolveError::NoSchedule {
        wanted,
        runs,
        others,
    }
    .into())
}

/// Everything that threads wrote down has its turn: what is hooked under control is
/// what the order profile has calls at.
fn ways(recording: &Recording, subject: &Subject) -> Result<Ways, Failure> {
    let program = &subject.models[0];
    if program.identity != recording.bundle {
        let (recorded, found) = (recording.bundle, program.identity);
        return Err(
            SolveError::from(bohr_log::DecodeError::OtherProgram { recorded, found }).into(),
        );
    }
    let interrupted = interruption();
    let go_on = || !interrupted.load(Ordering::Relaxed);
    let server = subject.serve(Voice::Muted, &go_on)?;
    let object = object_of_sites(&server.ready().objects, &program.identity);
    drop(server);
    let hooked = hooked_sites(&subject.target.executable)?;
    let sites = program.sites.keys().map(bohr_program::SiteNumber::as_u32);
    Ok(Ways {
        object,
        sites: sites.filter(|site| hooked.contains(site)).collect(),
        threads: Default::default(),
        turns: Some(turns(recording, Demand::Everything)?),
    })
}
