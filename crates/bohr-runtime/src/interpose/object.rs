//! What threads do to a lock or another object that they share: it is announced, and
//! refused where the object lies in memory that has been freed. Such a call is no access
//! of the program's own code, so no hook would notice it.

use crate::{
    engine::{ENGINE, Woken},
    heap, hooks,
    thread::Wait,
};
use bohr_event::Operation;

/// Announces an operation that may have to wait; it happens when this returns.
pub fn announce(operation: Operation, wait: Wait, deadline: u64) -> Woken {
    refuse_dead(&operation);
    let woken = ENGINE.announce(operation, wait, deadline);
    hooks::refuse_freed(&operation);
    woken
}

/// Announces an operation that does not wait.
pub fn attempt(operation: Operation, wait: Wait) {
    refuse_dead(&operation);
    ENGINE.attempt(operation, wait);
    hooks::refuse_freed(&operation);
}

/// Announces an operation that is always possible.
pub fn step(operation: Operation) {
    ENGINE.step(operation);
    hooks::refuse_freed(&operation);
}

/// Refuses at its turn what is begun with an object that is gone. Whether it would have
/// to wait, such an object does not tell; and who waits for one that is destroyed
/// meanwhile, as a condition or a barrier may be, has done nothing wrong.
pub fn refuse_dead(operation: &Operation) {
    if heap::freed_block(operation.object as usize).is_some() {
        step(*operation);
    }
}
