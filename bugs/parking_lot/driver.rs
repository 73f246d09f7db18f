//! A reader, a writer and an upgrader queue for a lock. In two rounds: the first
//! time that a lock is passed on, it is handed over.

use parking_lot::{RwLock, RwLockUpgradableReadGuard};

fn main() {
    let lock = RwLock::new(0);
    for _ in 0..2 {
        let held = lock.write();
        std::thread::scope(|scope| {
            scope.spawn(|| *RwLockUpgradableReadGuard::upgrade(lock.upgradable_read()) += 1);
            scope.spawn(|| *lock.read());
            scope.spawn(|| *lock.write() += 1);
            // The three spin for a while before they go to sleep.
            (0..30).for_each(|_| std::thread::yield_now());
            drop(held);
        });
    }
    assert_eq!(*lock.read(), 4);
}
