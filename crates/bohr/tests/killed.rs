//! Runs that are killed at any moment: what they had done is in their traces.

use crate::controlled;

use bohr_event::control::{Detailing, Job};
use bohr_explore::{Ran, Server, StoredTraceError, Subject, Voice};
use bohr_schedule::{Plan, Rule};
use bohr_trace::{Completeness, Record, Trace, TraceError};
use controlled::Folder;
use rustix::process::{Pid, Signal, kill_process};
use std::ops::ControlFlow;
use std::time::Duration;

fn subject(folder: &Folder) -> Subject {
    folder.build("phases", &[]);
    folder.subject("300000")
}

/// The run with seed 0; `None` if the process was hit that runs are cloned from.
fn run(server: &mut Server, subject: &Subject) -> Option<Ran> {
    let job = Job {
        trace: Detailing::Always,
        ..subject.job(&Plan::new(Rule::Random))
    };
    let mut ran = None;
    let done = server.run(job, &|| true, |reports| {
        ran = reports.into_iter().next();
        ControlFlow::Continue(())
    });
    done.ok().and(ran)
}

/// The events of a run, and whether they are all.
fn events(ran: &Ran) -> (Vec<Record>, Completeness) {
    let file = match ran.trace().expect("a trace").read() {
        Ok(file) => file,
        // Killed before it began to write.
        Err(StoredTraceError::Trace(TraceError::Foreign)) => {
            return (Vec::new(), Completeness::Unfinished);
        }
        Err(error) => panic!("{error}"),
    };
    let trace = Trace::open(&file).expect("a trace");
    let events = trace.events().map(|event| event.expect("an event").1);
    (events.collect(), trace.completeness())
}

/// The process that runs now: the youngest descendant of the template.
fn running(process: Pid) -> Option<Pid> {
    let number = process.as_raw_nonzero();
    let path = format!("/proc/{number}/task/{number}/children");
    let children = std::fs::read_to_string(path).ok()?;
    let child = children.split_whitespace().next_back()?;
    let child = Pid::from_raw(child.parse().ok()?)?;
    Some(running(child).unwrap_or(child))
}

#[test]
fn a_killed_run_leaves_the_beginning_of_its_trace() {
    let folder = Folder::empty();
    let subject = subject(&folder);
    let mut server = subject.serve(Voice::Muted, &|| true).expect("a server");
    let (whole, completeness) = events(&run(&mut server, &subject).expect("a run"));
    assert_eq!(completeness, Completeness::Complete);
    let mut unfinished = 0;
    for number in 0..12u32 {
        let mut server = subject.serve(Voice::Muted, &|| true).expect("a server");
        let template = server.process();
        let ran = std::thread::scope(|scope| {
            scope.spawn(|| {
                while running(template).is_none() {
                    std::thread::yield_now();
                }
                // Early and late: somewhere in a run of some tens of milliseconds.
                std::thread::sleep(Duration::from_micros(37 << number));
                if let Some(run) = running(template) {
                    // It may have ended in time.
                    let _ = kill_process(run, Signal::KILL);
                }
            });
            run(&mut server, &subject)
        });
        let Some(ran) = ran else {
            continue;
        };
        let (found, completeness) = events(&ran);
        assert_eq!(found, whole[..found.len()], "a prefix");
        match completeness {
            Completeness::Complete => assert_eq!(found.len(), whole.len()),
            Completeness::Unfinished => unfinished += usize::from(!found.is_empty()),
            other => panic!("{other}"),
        }
    }
    assert!(unfinished > 0, "some were killed on their way");
}
