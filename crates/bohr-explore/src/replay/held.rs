//! A replay that stops where it failed, for a debugger: real threads, each with
//! its real stack.

use super::job;
use crate::bug_file::Bug;
use crate::error::ExploreError;
use crate::server::Voice;
use crate::subject::Subject;
use bohr_event::control::{Backend, Job, Limits, Output};
use rustix::process::{Pid, Signal, kill_process};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// People take their time. Days, in milliseconds.
const NO_HURRY: u32 = u32::MAX / 4;

/// How often bohr looks whether the run has stopped.
const SLICE: Duration = Duration::from_millis(10);

/// Replays the bug on threads of the system, in a process that stops where it
/// fails, and calls `debug` with that process. It is killed afterwards. Says
/// whether the run failed in a way that the runtime sees.
///
/// # Errors
/// If the program cannot be run.
pub fn hold(
    subject: &Subject,
    bug: &Bug,
    go_on: &dyn Fn() -> bool,
    debug: impl FnOnce(Pid) + Send,
) -> Result<bool, ExploreError> {
    let subject = Subject {
        backend: Backend::Threads,
        limits: Limits {
            milliseconds: NO_HURRY,
            ..subject.limits
        },
        ..subject.clone()
    };
    let mut server = subject.serve(Voice::Aside, go_on)?;
    let atlas = subject.atlas(&server);
    let job = Job {
        hold: true,
        output: Output::Inherit,
        ..job(&subject, bug, &atlas, 1)
    };
    let template = server.process();
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watching = scope.spawn(|| watch(template, &ended, debug));
        // The user talks to the debugger now: Ctrl-C is not for bohr.
        let run = server.run(job, &|| true, |_| ControlFlow::Continue(()));
        ended.store(true, Ordering::Relaxed);
        let held = watching
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        run?;
        Ok(held)
    })
}

/// Waits until a run of the template has stopped, and has it debugged.
pub(crate) fn watch(template: Pid, ended: &AtomicBool, debug: impl FnOnce(Pid)) -> bool {
    while !ended.load(Ordering::Relaxed) {
        if let Some(run) = stopped_child(template) {
            debug(run);
            // It may have been killed in the debugger.
            let _ = kill_process(run, Signal::KILL);
            return true;
        }
        std::thread::sleep(SLICE);
    }
    false
}

/// A process that the template, or a template that it has made, has cloned and
/// that has stopped.
fn stopped_child(parent: Pid) -> Option<Pid> {
    let number = parent.as_raw_nonzero();
    let path = format!("/proc/{number}/task/{number}/children");
    let children = std::fs::read_to_string(path).ok()?;
    children.split_whitespace().find_map(|child| {
        let child = Pid::from_raw(child.parse().ok()?)?;
        match is_stopped(child) {
            true => Some(child),
            false => stopped_child(child),
        }
    })
}

fn is_stopped(process: Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", process.as_raw_nonzero()));
    // The name, in parentheses, may hold anything; the state comes after it.
    stat.is_ok_and(|stat| {
        let state = stat.rsplit(") ").next();
        state.is_some_and(|state| state.starts_with('T'))
    })
}
