//! Queues of store buffers among the threads: what the strategy sees of them, and
//! their steps, which nobody's stack is needed for.

use super::Engine;
use crate::{
    buffers::{self, Queue},
    record::RECORD,
    thread::Thread,
    trace::TRACER,
};
use bohr_event::{Operation, ThreadIndex};
use bohr_schedule::{Cause, Grant, Pending};

impl Engine {
    /// Enters a queue of a thread's store buffer into the table; nothing waits in
    /// it yet.
    pub fn add_queue(&self, owner: &Thread, number: u8) -> ThreadIndex {
        let path = owner.path.buffer(u32::from(number));
        let queue = Queue {
            owner: owner.index,
            number,
        };
        self.enter(|index| Thread::of_queue(index, path, queue))
            .index
    }

    /// What a queue is about to write; with nothing, it is as if it had ended.
    pub fn queue_changed(&self, queue: ThreadIndex, next: Option<Operation>) {
        let mut live = self.live.borrow_mut();
        let mut roster = self.roster.borrow_mut();
        match (next, live.binary_search(&queue)) {
            (Some(_), Err(gap)) => {
                live.insert(gap, queue);
                roster.note(queue, Cause::Own);
            }
            (None, Ok(position)) => {
                live.remove(position);
                roster.remove(queue);
            }
            _ => {}
        }
        let only_now = live.len() == 2 && next.is_some() && self.alone.get();
        drop((live, roster));
        if let Some(write) = next {
            self.pending.borrow_mut()[queue.position()] = Pending::of_buffer(write);
        }
        if only_now {
            self.is_no_longer_alone();
        }
    }

    /// Carries out a grant of a queue: the stores that wait in it longest are
    /// written to memory. Each may let the owner go on, so who has leave for
    /// accesses only is asked after each.
    pub(super) fn write_stores(&self, grant: Grant, queue: Queue) {
        let index = grant.thread;
        self.switch_record(index);
        let running = self.current();
        while buffers::is_ready(queue) {
            let Some(write) = self.thread(queue.owner).buffer.oldest(queue.number) else {
                break;
            };
            self.take_first_leave();
            self.settle();
            self.executed(write);
            buffers::write_oldest(queue, index, running, || TRACER.settle());
            if grant.accesses_only || self.reserve.get() == 0 {
                break;
            }
        }
        self.reserve.set(0);
        self.switched_at.set(self.settled.get());
    }

    /// Notes that somebody else executes the events from now on.
    pub(super) fn switch_record(&self, after: ThreadIndex) {
        let before = self.last_ran.replace(after);
        if before != after {
            RECORD.switch(before, after, self.settled.get());
        }
    }
}
