//! Solving by execution: the program runs under control while every thread keeps
//! to the accesses that its log tells of, with no preemption, then one, then two.

use super::asked::Asked;
use super::vectors::{self, Demand};
use super::{Args, SolveError, Solved, Solver, failure};
use crate::control::{budget_bar, show_hunt};
use crate::outcome::Failure;
use bohr_explore::hunt::{Budget, Hunt, hunt};
use bohr_explore::native::hooked_sites;
use bohr_explore::{StrategyName, Subject, Voice, object_of_sites};
use bohr_log::{LogKind, Recording, visits};
use bohr_program::SiteNumber;
use bohr_schedule::Ways;
use std::sync::atomic::{AtomicBool, Ordering};

/// Searches for the recorded failure.
pub fn solve(
    args: &Args,
    recording: &Recording,
    subject: &Subject,
    asked: Option<&Asked>,
    interrupted: &AtomicBool,
) -> Result<Solved, Failure> {
    let go_on = || !interrupted.load(Ordering::Relaxed);
    let program = &subject.models[0];
    let object = {
        let server = subject.serve(Voice::Muted, &go_on)?;
        object_of_sites(&server.ready().objects, &program.identity)
    };
    let ways = ways(recording, subject, object, asked)?;
    let wanted = match asked {
        Some(asked) => asked.wanted.clone(),
        None => failure::wanted(args, program, recording)?,
    };
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32);
    let accesses = ways.threads.values().map(|way| way.len() as u64).sum();
    let plan = Hunt {
        strategy: StrategyName::Bounded,
        seed: 0,
        jobs: args.workers.unwrap_or(cores),
        shard: args.shard,
        budget: Budget {
            runs: None,
            time: Some(args.time),
        },
        keep_going: false,
        wanted: Some(wanted.clone()),
        ways: Some(ways),
        checkpoints: true,
        rewind: true,
        listed: None,
    };
    let bar = budget_bar(plan.budget);
    let result = hunt(subject, &plan, interrupted, &mut |progress| {
        show_hunt(&bar, progress)
    });
    bar.finish_and_clear();
    let result = result?;
    let figures = &result.statistics;
    let (wanted, runs, others) = (wanted.to_string(), figures.runs, figures.others);
    match result.findings.into_iter().next() {
        Some(finding) => Ok(Solved {
            by: Solver::Execution,
            bug: finding.bug,
            runs,
            accesses,
            seconds: figures.seconds,
            figures: serde_json::Map::new(),
        }),
        None if result.complete => Err(SolveError::NoSchedule {
            wanted,
            runs,
            others,
        }
        .into()),
        None => Err(SolveError::TooLong {
            wanted,
            runs,
            others,
        }
        .into()),
    }
}

/// Loads, stores and atomic operations with a hook. What functions of the library do
/// to memory may be nothing at all, and says nothing about the way.
fn ways(
    recording: &Recording,
    subject: &Subject,
    object: u16,
    asked: Option<&Asked>,
) -> Result<Ways, Failure> {
    let program = asked.map_or(&subject.models[0], |asked| &asked.recorded);
    let hooked = hooked_sites(&subject.target.executable)?;
    let now = |site: SiteNumber| match asked {
        Some(asked) => asked.sites.get(&site).copied(),
        None => Some(site),
    };
    let compared = |site: SiteNumber| {
        let facts = &program.sites[site];
        let called = program.instruction_of(facts).operation.call().is_some();
        let hooked = now(site).is_some_and(|site| hooked.contains(&site.as_u32()));
        hooked && facts.kind().is_access() && !called
    };
    let threads = visits(program, recording, &compared).map_err(SolveError::from)?;
    let numbers = |way: Vec<SiteNumber>| {
        let sites = way.into_iter().filter_map(now);
        sites.map(SiteNumber::as_u32).collect()
    };
    let sites = program.sites.keys().filter(|site| compared(*site));
    let mut sites: Vec<u32> = sites.filter_map(now).map(SiteNumber::as_u32).collect();
    sites.sort_unstable();
    let turns = match recording.kind {
        LogKind::PathAndSync => Some(vectors::turns(recording, Demand::Synchronisation)?),
        _ => None,
    };
    Ok(Ways {
        turns,
        object,
        sites,
        threads: threads
            .into_iter()
            .map(|(thread, way)| (thread, numbers(way)))
            .collect(),
    })
}
