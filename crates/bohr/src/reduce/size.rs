//! How large a failing run is: the figures that reduction is measured by.

use super::question::Base;
use bohr_event::control::{GateReference, Omissions, Recorded};
use bohr_event::{ThreadIndex, ThreadPath};
use bohr_reduce::reduction::{Block, Cut};
use bohr_trace::{Record, Trace, Writer, pack};
use std::collections::BTreeSet;

/// The figures of one run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Size {
    pub threads: u64,
    /// Threads that run in one piece, not among the others.
    pub serial: u64,
    pub events: u64,
    /// Of the run as a trace file.
    pub bytes: u64,
    pub switches: u64,
    /// Passes of all threads through all blocks.
    pub iterations: u64,
    /// Blocks of the program that somebody came by.
    pub blocks: u64,
    /// Calls and stores that were left out.
    pub calls_left_out: u64,
    pub stores_left_out: u64,
    pub replay_seconds: f64,
}

impl Size {
    /// How many threads of a run are interleaved.
    pub fn threads(run: &Recorded, cut: &Cut) -> u64 {
        let there = |path: &&ThreadPath| {
            path.buffer_of().is_none()
                && !cut.without.threads.contains(path)
                && !cut.serial.contains(path)
        };
        run.threads.iter().filter(there).count() as u64
    }

    /// All but the time.
    pub fn of(base: &Base, cut: &Cut) -> Size {
        let Base {
            run, blocks: all, ..
        } = base;
        let blocks = || all.iter().filter(|block| block.gate.is_block());
        let Cut { without, serial } = cut;
        let passes: u64 = blocks().map(|block| made(block, without)).sum();
        let left_out = |is_of: fn(&GateReference) -> bool| {
            let blocks = all.iter().filter(|block| is_of(&block.gate));
            blocks
                .map(|block| block.passes - made(block, without))
                .sum()
        };
        let gates: BTreeSet<_> = blocks().map(|block| block.gate).collect();
        let apart = |path: &&_| serial.contains(path);
        Size {
            threads: Size::threads(run, cut),
            serial: run.threads.iter().filter(apart).count() as u64,
            events: run.steps.len() as u64,
            bytes: bytes(run),
            switches: run.schedule.switches() as u64,
            iterations: passes,
            blocks: gates.len() as u64,
            calls_left_out: left_out(GateReference::is_call),
            stores_left_out: left_out(GateReference::is_store),
            replay_seconds: 0.0,
        }
    }
}

/// The passes through a block that are made.
fn made(block: &Block, without: &Omissions) -> u64 {
    let mut omitted = without.iterations.iter();
    let omitted = omitted.find(|one| one.gate == block.gate && one.thread == block.thread);
    let Some(omitted) = omitted else {
        return block.passes;
    };
    let end = omitted.beyond.unwrap_or(u64::MAX).min(block.passes);
    end - omitted.numbers.partition_point(|number| *number < end) as u64
}

/// How many bytes the trace of a run takes.
fn bytes(run: &Recorded) -> u64 {
    let Ok(mut writer) = Writer::new(Vec::new()) else {
        return 0;
    };
    for (index, path) in (0u32..).zip(&run.threads) {
        writer.name_thread(ThreadIndex(index), path.steps());
    }
    for step in &run.steps {
        writer.push(&Record {
            thread: step.thread,
            operation: step.operation,
            value: None,
        });
    }
    let file = writer.finish();
    let packed = Trace::open(&file).and_then(|trace| pack(&trace));
    packed.map_or(0, |packed| packed.len() as u64)
}
