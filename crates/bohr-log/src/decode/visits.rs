//! The sites that the threads of a recorded run came by.

use super::walk::{self, Listener};
use super::{DecodeError, Step, plan};
use crate::Recording;
use bohr_event::{EventKind, ThreadPath};
use bohr_program::{FunctionNumber, InstructionNumber, Program, SiteNumber};
use cranelift_entity::EntityRef;
use std::ops::Range;

/// Where a program begins that is run under control: what comes before in its main
/// thread belongs to its loading.
const BEGIN: &str = "main";

struct Visits<'p> {
    program: &'p Program,
    wanted: &'p dyn Fn(SiteNumber) -> bool,
    sites: Vec<SiteNumber>,
    /// Whether other threads may be there.
    forked: bool,
}

impl Listener for Visits<'_> {
    fn step(&mut self, step: Step) {
        if let Step::Enter(function) = step
            && &self.program.texts[self.program.functions[function].name] == BEGIN
        {
            self.sites.clear();
        }
    }

    fn passed(&mut self, function: FunctionNumber, instructions: Range<usize>) {
        for instruction in instructions.map(InstructionNumber::new) {
            let site = self.program.site_at(function, instruction);
            self.sites.extend(site.filter(|site| (self.wanted)(*site)));
            let kind = site.map(|site| self.program.sites[site].kind());
            if !self.forked && kind == Some(EventKind::Fork) {
                self.forked = true;
                self.sites.clear();
            }
        }
    }
}

/// The wanted sites that every thread came by, in its order, up to where it was
/// when its log ended; of the main thread, from its first creation of a thread on, if
/// there is one: before that no schedule decides anything.
///
/// # Errors
/// If the log is of another program, or a path makes no sense.
pub fn visits(
    program: &Program,
    recording: &Recording,
    wanted: &dyn Fn(SiteNumber) -> bool,
) -> Result<Vec<(ThreadPath, Vec<SiteNumber>)>, DecodeError> {
    let paths = plan(program, recording)?;
    let threads = recording.threads.iter().map(|log| {
        let mut visits = Visits {
            program,
            wanted,
            sites: Vec::new(),
            forked: log.thread != ThreadPath::MAIN,
        };
        walk::thread(program, &paths, &log.thread, &log.path, &mut visits)?;
        Ok((log.thread.clone(), visits.sites))
    });
    threads.collect()
}
