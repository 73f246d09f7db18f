//! Where a thread is: in which calling context, under which locks. Breakpoints can
//! be bound to it.

use crate::condition::Object;
use std::cell::RefCell;

thread_local! {
    static SCOPES: RefCell<Vec<Mark>> = const { RefCell::new(Vec::new()) };
}

/// What a scope says about its thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    /// It is in a context of this name, or holds a lock of this kind.
    Named(&'static str),
    /// It holds this lock.
    Holds(Object),
}

/// Ends with the guard.
#[must_use = "the scope ends with its guard"]
#[derive(Debug)]
pub struct Scope {
    mark: Mark,
    /// Belongs to the thread that began it.
    _thread: std::marker::PhantomData<*const ()>,
}

/// Says that this thread is in a calling context or holds a lock of some kind, for
/// [`Breakpoint::within`](crate::Breakpoint::within).
pub fn scope(name: &'static str) -> Scope {
    begin(Mark::Named(name))
}

/// Says that this thread holds this very lock, for [`is_held`]. A lock of Rust does
/// not tell who has it, so the guard goes beside the lock's own.
pub fn holding<T: ?Sized>(lock: &T) -> Scope {
    begin(Mark::Holds(lock.into()))
}

/// Whether this thread is in the scope of [`holding`] this lock; for
/// [`Breakpoint::when`](crate::Breakpoint::when).
#[must_use]
pub fn is_held<T: ?Sized>(lock: &T) -> bool {
    is_marked(Mark::Holds(lock.into()))
}

/// Whether this thread is in a scope of that name.
pub(crate) fn is_within(name: &'static str) -> bool {
    is_marked(Mark::Named(name))
}

fn begin(mark: Mark) -> Scope {
    // While the thread's own storage is taken down nobody asks any more.
    let _ = SCOPES.try_with(|scopes| scopes.borrow_mut().push(mark));
    Scope {
        mark,
        _thread: std::marker::PhantomData,
    }
}

fn is_marked(mark: Mark) -> bool {
    SCOPES
        .try_with(|scopes| scopes.borrow().contains(&mark))
        .unwrap_or(false)
}

impl Drop for Scope {
    fn drop(&mut self) {
        let _ = SCOPES.try_with(|scopes| {
            let mut scopes = scopes.borrow_mut();
            // Guards may end in another order than they began in.
            if let Some(position) = scopes.iter().rposition(|mark| *mark == self.mark) {
                scopes.remove(position);
            }
        });
    }
}
