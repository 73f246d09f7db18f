//! Refuses traces that no execution can have: whoever reorders events must be
//! able to rely on locks being held by one, and threads living once.

use crate::buffers::buffer_owners;
use crate::error::{Malformed, SimplifyError};
use crate::order::Execution;
use bohr_event::{EventKind, ThreadIndex, control::Step};
use bohr_trace::Sequence;
use std::collections::HashMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Life {
    Created,
    Running,
    Ended,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lock {
    Exclusive,
    Shared(u32),
}

/// What is known while a trace goes by. A thread as the object of an operation
/// is whatever its creation called it.
#[derive(Default)]
struct Observer {
    /// By object.
    lives: HashMap<u64, Life>,
    /// By index: the object of the thread that has it, if it started, and
    /// whether it can still do something.
    threads: HashMap<ThreadIndex, (Option<u64>, bool)>,
    /// Those that are held.
    locks: HashMap<u64, Lock>,
    arrivals: HashMap<(ThreadIndex, u64), u32>,
}

/// Checks a trace from front to back. The thread of the first event is there
/// from the beginning, and with `whole_threads` no other of the program is.
pub(crate) fn check(execution: Execution<'_>, whole_threads: bool) -> Result<(), SimplifyError> {
    let steps = execution.steps;
    let mut observer = Observer::default();
    // A store buffer is there as soon as something waits in it.
    for buffer in buffer_owners(execution.threads).into_keys() {
        observer.threads.insert(buffer, (None, true));
    }
    if let Some(first) = steps.first()
        && first.operation.kind != EventKind::Start
    {
        observer.threads.insert(first.thread, (None, true));
    }
    let mut alive = None;
    for (event, step) in (0..).map(Sequence).zip(steps) {
        // Most events are accesses of the thread that ran before.
        if step.operation.kind.is_access() && alive == Some(step.thread) {
            continue;
        }
        observer
            .watch(step, event, whole_threads)
            .map_err(|reason| SimplifyError::Malformed {
                event,
                kind: step.operation.kind,
                thread: step.thread,
                path: execution.threads.get(step.thread.position()).cloned(),
                reason,
            })?;
        alive = (step.operation.kind != EventKind::Exit).then_some(step.thread);
    }
    Ok(())
}

impl Observer {
    fn watch(
        &mut self,
        step: &Step,
        event: Sequence,
        whole_threads: bool,
    ) -> Result<(), Malformed> {
        if step.operation.kind == EventKind::Start {
            return self.start(step, event);
        }
        match self.threads.get(&step.thread) {
            Some((_, true)) => {}
            Some((_, false)) => return Err(Malformed::Ended),
            None if whole_threads => return Err(Malformed::NotStarted),
            None => {
                self.threads.insert(step.thread, (None, true));
            }
        }
        self.operate(step)
    }

    fn start(&mut self, step: &Step, event: Sequence) -> Result<(), Malformed> {
        let object = step.operation.object;
        if let Some((_, true)) = self.threads.insert(step.thread, (Some(object), true)) {
            return Err(Malformed::RunsAlready);
        }
        match self.lives.insert(object, Life::Running) {
            Some(Life::Created) => Ok(()),
            Some(Life::Running) => Err(Malformed::RunsAlready),
            None if event == Sequence(0) => Ok(()),
            None | Some(Life::Ended) => Err(Malformed::NotCreated),
        }
    }

    fn operate(&mut self, step: &Step) -> Result<(), Malformed> {
        let object = step.operation.object;
        match step.operation.kind {
            EventKind::Exit => self.exit(step),
            EventKind::Fork => self.fork(object),
            EventKind::Join => self.join(object),
            EventKind::Acquire => match self.locks.insert(object, Lock::Exclusive) {
                None => Ok(()),
                Some(_) => Err(Malformed::Held),
            },
            EventKind::Release => match self.locks.remove(&object) {
                Some(Lock::Exclusive) => Ok(()),
                _ => Err(Malformed::NotHeld),
            },
            EventKind::AcquireShared => self.share(object),
            EventKind::ReleaseShared => self.unshare(object),
            EventKind::Arrive => {
                *self.arrivals.entry((step.thread, object)).or_default() += 1;
                Ok(())
            }
            EventKind::Depart => match self.arrivals.get_mut(&(step.thread, object)) {
                Some(count) if *count > 0 => {
                    *count -= 1;
                    Ok(())
                }
                _ => Err(Malformed::NotArrived),
            },
            _ => Ok(()),
        }
    }

    fn exit(&mut self, step: &Step) -> Result<(), Malformed> {
        let object = step.operation.object;
        let own = self.threads.insert(step.thread, (Some(object), false));
        if let Some((Some(other), _)) = own
            && other != object
        {
            return Err(Malformed::OtherThread);
        }
        self.lives.insert(object, Life::Ended);
        Ok(())
    }

    fn fork(&mut self, object: u64) -> Result<(), Malformed> {
        match self.lives.insert(object, Life::Created) {
            None | Some(Life::Ended) => Ok(()),
            Some(_) => Err(Malformed::RunsAlready),
        }
    }

    fn join(&mut self, object: u64) -> Result<(), Malformed> {
        match self.lives.get(&object) {
            Some(Life::Ended) => Ok(()),
            Some(_) => Err(Malformed::StillRuns),
            None => Err(Malformed::UnknownThread),
        }
    }

    fn share(&mut self, object: u64) -> Result<(), Malformed> {
        match self.locks.entry(object).or_insert(Lock::Shared(0)) {
            Lock::Exclusive => Err(Malformed::Held),
            Lock::Shared(readers) => {
                *readers += 1;
                Ok(())
            }
        }
    }

    fn unshare(&mut self, object: u64) -> Result<(), Malformed> {
        match self.locks.get_mut(&object) {
            Some(Lock::Shared(1)) => {
                self.locks.remove(&object);
                Ok(())
            }
            Some(Lock::Shared(readers)) => {
                *readers -= 1;
                Ok(())
            }
            _ => Err(Malformed::NotHeld),
        }
    }
}
