//! Where a thread is: in which calling context, under which locks. Breakpoints can
//! be bound to it.

use std::cell::RefCell;

thread_local! {
    static SCOPES: RefCell<Vec<&'static str>> = const { RefCell::new(Vec::new()) };
}

/// Ends with the guard.
#[must_use = "the scope ends with its guard"]
#[derive(Debug)]
pub struct Scope {
    name: &'static str,
    /// Belongs to the thread that began it.
    _thread: std::marker::PhantomData<*const ()>,
}

/// Says that this thread is in a calling context or holds a lock of some kind, for
/// [`Breakpoint::within`](crate::Breakpoint::within).
pub fn scope(name: &'static str) -> Scope {
    // While the thread's own storage is taken down nobody asks any more.
    let _ = SCOPES.try_with(|scopes| scopes.borrow_mut().push(name));
    Scope {
        name,
        _thread: std::marker::PhantomData,
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        let _ = SCOPES.try_with(|scopes| {
            let mut scopes = scopes.borrow_mut();
            // Guards may end in another order than they began in.
            if let Some(position) = scopes.iter().rposition(|name| *name == self.name) {
                scopes.remove(position);
            }
        });
    }
}

/// Whether this thread is in a scope of that name.
pub(crate) fn is_within(name: &str) -> bool {
    SCOPES
        .try_with(|scopes| scopes.borrow().contains(&name))
        .unwrap_or(false)
}
