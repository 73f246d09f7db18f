//! What the engine keeps about each thread of the target.

use crate::{
    baton::Baton,
    buffers::{Queue, StoreBuffer},
    clock::CLOCK,
    interpose::affinity,
    signals::{Handled, alternate::Alternate},
    spin::Spin,
};
use bohr_event::{ThreadIndex, ThreadPath};
use bohr_fiber::Fiber;
use core::{cell::Cell, ffi::c_void};

/// `pthread_create`'s start routine.
pub type Start = unsafe extern "C-unwind" fn(*mut c_void) -> *mut c_void;

/// What has to be true before a thread's pending operation is possible.
///
/// Where the C library keeps the truth in the object itself (a mutex, a
/// semaphore), the condition looks there: no second book-keeping can disagree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Wait {
    /// Nothing.
    Nothing,
    /// The mutex at this address can be taken by this thread.
    Mutex(usize),
    /// The reader-writer lock at this address can be taken for reading.
    ReadLock(usize),
    /// The same, for writing.
    WriteLock(usize),
    /// The semaphore at this address is above zero.
    Semaphore(usize),
    /// The spin lock at this address is free.
    SpinLock(usize),
    /// The futex at this address, which holds the number of its owner, has none.
    PriorityLock(usize),
    /// The once control at this address is not being worked on.
    Once(usize),
    /// That thread has ended.
    End(ThreadIndex),
    /// Somebody has woken this thread from its wait on the object.
    Wake(usize),
    /// A signal of this set is pending for this thread.
    Signal(u64),
    /// The descriptor is ready for one of these `poll` events.
    Descriptor(i32, i16),
    /// The mutex at this address can be given back by this thread.
    Held(usize),
    /// The timer with this number has expired, or is gone.
    Timer(usize),
    /// Any of the descriptors of a `poll`, `select` or `epoll` call is ready:
    /// the address of the call's own check.
    Check(usize),
}

/// The deadline of whoever does not wait.
pub const NOW: u64 = 0;

/// Which handlers end a wait with `EINTR`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interruptible {
    /// None.
    Never,
    /// Those that were not installed with `SA_RESTART`.
    Unrestarted,
    /// All.
    Always,
}

impl Interruptible {
    /// Whether these handlers do.
    pub fn is_ended_by(self, handled: Handled) -> bool {
        match handled {
            Handled::Nothing => false,
            Handled::Restarts => self == Interruptible::Always,
            Handled::Interrupts => self != Interruptible::Never,
        }
    }
}

/// Where a thread is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// It can still execute events.
    Alive,
    /// It has ended; its result waits for somebody.
    Ended,
    /// Its result was taken, or nobody wants it: the name can be used again.
    Gone,
}

/// One thread of the target.
#[derive(Debug)]
pub struct Thread {
    /// Its name in this run.
    pub index: ThreadIndex,
    /// Its name in all runs.
    pub path: ThreadPath,
    /// What `pthread_self` gives in it.
    pub handle: Cell<libc::pthread_t>,
    /// The number by which the C library notes it as the owner of a mutex.
    pub owner_number: Cell<i32>,
    /// Where it runs; null for a thread that has been recycled.
    pub fiber: Cell<*const Fiber>,
    /// Its side of the baton, where threads pass one.
    pub baton: Baton,
    /// The lowest address of its stack and the first behind it.
    pub stack: Cell<(usize, usize)>,
    /// How much of it, from its lowest address, is not the program's.
    pub reserve: Cell<usize>,
    /// Condition of its pending operation.
    pub wait: Cell<Wait>,
    /// Virtual time at which it stops waiting; `u64::MAX` for never.
    pub deadline: Cell<u64>,
    /// Somebody has woken it.
    pub woken: Cell<bool>,
    /// The object that it waited on when a handler began to run in it, and whether
    /// somebody has woken it since.
    pub left_at: Cell<(usize, bool)>,
    /// What it carries from its waker: the bit set of a futex, the turn of a barrier.
    pub token: Cell<u64>,
    /// What a futex must not hold any more for its wait to end: where others could wake
    /// it whom the engine does not see.
    pub expects: Cell<Option<u32>>,
    /// When it began to wait: orders the waiters of one object.
    pub since: Cell<u64>,
    /// Alive, ended, gone.
    pub life: Cell<Life>,
    /// It has nothing left to do but to end.
    pub leaves: Cell<bool>,
    /// Nobody will join it.
    pub detached: Cell<bool>,
    /// What it returned.
    pub result: Cell<usize>,
    /// How many threads it has created or been told not to.
    pub children: Cell<u32>,
    /// What it runs.
    pub start: Cell<Option<(Start, usize)>>,
    /// Number of its heap region.
    pub region: usize,
    /// Cancellation.
    pub cancel: Cancel,
    /// Signals sent to this thread that have not been handled, one bit each.
    pub signals: Cell<u64>,
    /// Signals that it does not want now.
    pub mask: Cell<u64>,
    /// Where it wants handlers to run.
    pub alternate: Cell<Alternate>,
    /// Which handlers end the wait that it is in.
    pub interruptible: Cell<Interruptible>,
    /// A handler has ended it.
    pub interrupted: Cell<bool>,
    /// Whether it goes round in circles.
    pub spin: Spin,
    /// The processors that it wants to run on, one bit each; never 0.
    pub processors: Cell<u8>,
    /// What the program calls it, up to the first 0.
    pub name: Cell<[u8; 16]>,
    /// It left by `pthread_exit`, so its stack is not used again.
    pub left_early: Cell<bool>,
    /// Its stores that others do not see yet.
    pub buffer: StoreBuffer,
    /// It is no thread of the program but a queue of this one's buffer.
    pub queue: Option<Queue>,
}

/// State of `pthread_cancel` for one thread.
#[derive(Debug, Default)]
pub struct Cancel {
    /// Somebody asked for it.
    pub requested: Cell<bool>,
    /// The thread has said that it does not want it now.
    pub disabled: Cell<bool>,
    /// The thread wants it at any moment, not at cancellation points only.
    pub asynchronous: Cell<bool>,
    /// The thread waits where it can be cancelled.
    pub at_point: Cell<bool>,
    /// It is already unwinding.
    pub acting: Cell<bool>,
}

impl Cancel {
    /// Whether the thread could be cancelled where it waits.
    pub fn is_open(&self) -> bool {
        let somehow = self.at_point.get() || self.asynchronous.get();
        somehow && !self.disabled.get() && !self.acting.get()
    }

    /// Whether the thread is to end where it waits.
    pub fn takes_effect(&self) -> bool {
        self.requested.get() && self.is_open()
    }

    /// Whether the thread is to end at its next cancellation point.
    pub fn is_due(&self) -> bool {
        self.requested.get() && !self.disabled.get() && !self.acting.get()
    }
}

impl Thread {
    /// A thread that has not run yet.
    pub fn new(index: ThreadIndex, path: ThreadPath, region: usize) -> Thread {
        Thread {
            index,
            path,
            handle: Cell::new(0),
            owner_number: Cell::new(0),
            fiber: Cell::new(core::ptr::null()),
            baton: Baton::default(),
            stack: Cell::new((0, 0)),
            reserve: Cell::new(0),
            wait: Cell::new(Wait::Nothing),
            deadline: Cell::new(u64::MAX),
            woken: Cell::new(false),
            left_at: Cell::new((0, false)),
            token: Cell::new(0),
            expects: Cell::new(None),
            since: Cell::new(0),
            life: Cell::new(Life::Alive),
            leaves: Cell::new(false),
            detached: Cell::new(false),
            result: Cell::new(0),
            children: Cell::new(0),
            start: Cell::new(None),
            region,
            cancel: Cancel::default(),
            signals: Cell::new(0),
            mask: Cell::new(0),
            alternate: Cell::new(Alternate::default()),
            interruptible: Cell::new(Interruptible::Never),
            interrupted: Cell::new(false),
            spin: Spin::default(),
            processors: Cell::new(affinity::ALL),
            name: Cell::new([0; 16]),
            left_early: Cell::new(false),
            buffer: StoreBuffer::new(),
            queue: None,
        }
    }

    /// A queue of a store buffer: nobody can address it, no signal reaches it, and
    /// it has no stack.
    pub fn of_queue(index: ThreadIndex, path: ThreadPath, queue: Queue) -> Thread {
        Thread {
            handle: Cell::new(libc::pthread_t::MAX),
            mask: Cell::new(u64::MAX),
            queue: Some(queue),
            ..Thread::new(index, path, 0)
        }
    }

    /// Its fiber, while it lives.
    pub fn fiber(&self) -> &'static Fiber {
        // SAFETY: fibers are freed only after their threads have ended and been joined.
        unsafe { &*self.fiber.get() }
    }

    /// Its name as the object of events: the same with any back end.
    pub fn object(&self) -> usize {
        self.index.object() as usize
    }

    /// Whether the time at which it stops waiting has come.
    pub fn is_expired(&self) -> bool {
        self.deadline.get() <= CLOCK.now()
    }

    /// The number of its next child; every creation consumes one.
    pub fn next_child(&self) -> u32 {
        self.children.set(self.children.get() + 1);
        self.children.get()
    }

    /// Whether it waits on the object and nobody has woken it yet.
    pub fn awaits(&self, object: usize) -> bool {
        let waits =
            self.wait.get() == Wait::Wake(object) && !self.woken.get() && !self.is_expired();
        self.life.get() == Life::Alive && (waits || self.left_at.get() == (object, false))
    }

    /// Wakes it from its wait on the object.
    pub fn wake(&self, object: usize) {
        match self.left_at.get().0 == object {
            true => self.left_at.set((object, true)),
            false => self.woken.set(true),
        }
    }

    /// Notes the beginning of a wait.
    pub fn begin(&self, wait: Wait, deadline: u64, now: u64) {
        self.wait.set(wait);
        // Whoever comes too late does not wait.
        let is_past = deadline <= CLOCK.now();
        self.deadline.set(if is_past { NOW } else { deadline });
        self.woken.set(false);
        self.since.set(now);
    }
}
