//! A fiber and its three states. All checks are made here, so that switching
//! is safe to call: a fiber runs, or it waits to be resumed, or it has ended.
//!
//! Usually the carrier runs all fibers in turn. A fiber can have a thread of the
//! system for itself instead, for debuggers: stack, thread-local storage and
//! every address in it are the same.

use crate::{FiberError, ParkedThread, Recycled, Registers, StackRegion, switch, tls};
use core::{cell::Cell, convert::Infallible, marker::PhantomData, sync::atomic::AtomicU32};

/// What a fiber does.
#[derive(Clone, Copy, Debug)]
pub struct Body {
    /// Called on the fiber's stack at the first switch to it.
    pub run: extern "C-unwind" fn(usize),
    /// Called after `run`, on the same stack; must switch away for good. The
    /// flag tells that `run` was left by `pthread_exit`.
    pub finish: extern "C" fn(usize, bool) -> !,
    /// Passed to both.
    pub argument: usize,
}

/// Who goes on after a fiber that had a thread of the system for itself.
#[derive(Clone, Copy, Debug)]
pub enum Successor<'a> {
    /// A thread that waits until this word is not 0.
    Waiting(&'a AtomicU32),
    /// A fiber that has no thread yet.
    Suspended(&'a Fiber),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Running,
    /// `saved` is valid and has not been resumed.
    Suspended,
    Ended,
}

/// One line of execution with its own stack and thread-local storage.
#[derive(Debug)]
pub struct Fiber {
    saved: Cell<usize>,
    state: Cell<State>,
    fs_base: usize,
    parked: Option<ParkedThread>,
    /// Bound to its carrier.
    carrier: PhantomData<*mut ()>,
}

impl Fiber {
    /// The running thread itself, which becomes the carrier.
    ///
    /// # Errors
    /// If the processor or the kernel cannot do it.
    pub fn of_carrier() -> Result<Fiber, FiberError> {
        tls::require_fs_base()?;
        Ok(Fiber {
            saved: Cell::new(0),
            state: Cell::new(State::Running),
            fs_base: tls::fs_base(),
            parked: None,
            carrier: PhantomData,
        })
    }

    /// A fiber that borrows from `parked` and begins with `body`.
    #[must_use]
    pub fn new(parked: ParkedThread, body: Body) -> Fiber {
        let top = parked.top;
        // SAFETY: the parked thread never runs again, and below `top` its stack is unused.
        unsafe { Fiber::on_stack(parked, top, body) }
    }

    /// The same with another stack: the memory below `top`.
    ///
    /// # Safety
    /// The memory must belong to the fiber until it has ended.
    #[must_use]
    pub unsafe fn on_stack(parked: ParkedThread, top: usize, body: Body) -> Fiber {
        // SAFETY: the caller gives the memory.
        let saved = unsafe { switch::lay_out(top, switch::enter, &body) };
        Fiber {
            saved: Cell::new(saved),
            state: Cell::new(State::Suspended),
            fs_base: parked.fs_base,
            parked: Some(parked),
            carrier: PhantomData,
        }
    }

    /// A fiber with a stack of its own and the thread-local storage of the
    /// carrier, for a thread that is to go on elsewhere.
    ///
    /// # Errors
    /// If the processor or the kernel cannot do it.
    pub fn with_own_stack(region: StackRegion, body: Body) -> Result<Fiber, FiberError> {
        Fiber::in_running_thread(region, switch::enter, body)
    }

    /// The same for one that is no thread and only works for the one that runs,
    /// whose `pthread_exit` is no business of it.
    ///
    /// # Errors
    /// If the processor or the kernel cannot do it.
    pub fn aside(region: StackRegion, body: Body) -> Result<Fiber, FiberError> {
        Fiber::in_running_thread(region, switch::enter_aside, body)
    }

    fn in_running_thread(
        region: StackRegion,
        entry: unsafe extern "C" fn(),
        body: Body,
    ) -> Result<Fiber, FiberError> {
        tls::require_fs_base()?;
        // SAFETY: the region is a fresh stack, given to us.
        let saved = unsafe { switch::lay_out(region.end(), entry, &body) };
        Ok(Fiber {
            saved: Cell::new(saved),
            state: Cell::new(State::Suspended),
            fs_base: tls::fs_base(),
            parked: None,
            carrier: PhantomData,
        })
    }

    /// Suspends this fiber and continues `other`. Returns when somebody
    /// switches back.
    ///
    /// # Panics
    /// If this fiber is not running, or `other` not suspended.
    #[inline]
    pub fn switch_to(&self, other: &Fiber) {
        self.leave_for(other, State::Suspended);
    }

    /// Ends this fiber and continues `other`.
    ///
    /// # Panics
    /// If this fiber is not running, or `other` not suspended.
    pub fn end_and_switch_to(&self, other: &Fiber) -> ! {
        self.leave_for(other, State::Ended);
        unreachable!("an ended fiber was resumed");
    }

    /// Continues this fiber on a new thread of the system, beside the calling one.
    /// From then on that thread is the only one that may touch it, and it ends by
    /// [`Fiber::end_thread`].
    ///
    /// # Errors
    /// If the system gives no thread.
    ///
    /// # Panics
    /// If this fiber is not suspended.
    pub fn continue_beside(&self) -> Result<(), FiberError> {
        self.resume_beside(false)
    }

    /// Ends this fiber and the thread of the system that runs it. The last thing
    /// that thread does is to let another go on, which may then recycle the fiber.
    ///
    /// # Errors
    /// If `successor` needs a thread and the system gives none; otherwise it does
    /// not return.
    ///
    /// # Panics
    /// If this fiber is not running.
    pub fn end_thread(&self, successor: Successor<'_>) -> Result<Infallible, FiberError> {
        assert!(
            self.state.replace(State::Ended) == State::Running,
            "only a running fiber can end"
        );
        match successor {
            // SAFETY: the caller's word; whoever it is for outlives this fiber.
            Successor::Waiting(word) => unsafe { switch::raise_and_end(word.as_ptr()) },
            Successor::Suspended(fiber) => fiber.resume_beside(true)?,
        }
        unreachable!("a thread that has ended goes on");
    }

    fn resume_beside(&self, ends: bool) -> Result<(), FiberError> {
        assert!(
            self.state.replace(State::Running) == State::Suspended,
            "only a suspended fiber can be continued"
        );
        let flags = libc::CLONE_VM
            | libc::CLONE_FS
            | libc::CLONE_FILES
            | libc::CLONE_SIGHAND
            | libc::CLONE_THREAD
            | libc::CLONE_SYSVSEM
            | libc::CLONE_SETTLS;
        // SAFETY: as in `leave_for`; who ends has given up its fiber.
        let answer =
            unsafe { switch::switch_beside(flags as usize, self.saved.get(), self.fs_base, ends) };
        match answer {
            0.. => Ok(()),
            error => Err(FiberError::NoThread(-error as i32)),
        }
    }

    #[inline]
    fn leave_for(&self, other: &Fiber, state: State) {
        assert!(
            self.state.get() == State::Running,
            "only the running fiber can switch"
        );
        assert!(
            other.state.get() == State::Suspended,
            "only a suspended fiber can be continued"
        );
        self.state.set(state);
        other.state.set(State::Running);
        // SAFETY: `other` is suspended, so its saved stack pointer is valid and
        // is used once: it now counts as running. Its FS base belongs to it.
        unsafe { switch::switch(self.saved.as_ptr(), other.saved.get(), other.fs_base) };
    }

    /// Whether it waits to be continued.
    #[must_use]
    pub fn is_suspended(&self) -> bool {
        self.state.get() == State::Suspended
    }

    /// Where it will continue; `None` unless it is suspended.
    #[must_use]
    pub fn registers(&self) -> Option<Registers> {
        if self.state.get() != State::Suspended {
            return None;
        }
        // SAFETY: a suspended fiber's registers lie at its saved stack pointer.
        Some(unsafe { switch::registers(self.saved.get()) })
    }

    /// Whether it has ended.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.state.get() == State::Ended
    }

    /// The parked thread that it borrows from; `None` for the carrier itself.
    #[must_use]
    pub fn parked(&self) -> Option<&ParkedThread> {
        self.parked.as_ref()
    }

    /// Gives the parked thread of an ended fiber back for another one.
    #[must_use]
    pub fn recycle(self) -> Option<Recycled> {
        if !self.has_ended() {
            return None;
        }
        self.parked.map(Recycled)
    }
}
