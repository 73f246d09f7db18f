//! The Rust standard library's threads.

use std::{
    cell::Cell,
    collections::HashMap,
    sync::{Arc, Barrier, Condvar, Mutex, Once, OnceLock, RwLock, atomic::*, mpsc},
    thread,
    time::{Duration, Instant},
};

struct Loud(Arc<AtomicU32>);
impl Drop for Loud {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}
thread_local!(static KEPT: Cell<Option<Loud>> = const { Cell::new(None) });

fn main() {
    let counter = Mutex::new(0);
    let map = RwLock::new(HashMap::new());
    let dropped = Arc::new(AtomicU32::new(0));
    let barrier = Barrier::new(3);
    static ONCE: Once = Once::new();
    static CELL: OnceLock<u32> = OnceLock::new();
    let initialised = AtomicU32::new(0);
    thread::scope(|scope| {
        let mut threads = Vec::new();
        for number in 0..3 {
            let (counter, map, barrier, initialised) = (&counter, &map, &barrier, &initialised);
            let dropped = dropped.clone();
            threads.push(scope.spawn(move || {
                KEPT.set(Some(Loud(dropped)));
                for _ in 0..3 {
                    *counter.lock().unwrap() += 1;
                }
                barrier.wait();
                assert_eq!(*counter.lock().unwrap(), 9);
                map.write().unwrap().insert(number, thread::current().id());
                assert!(map.read().unwrap().contains_key(&number));
                ONCE.call_once(|| {
                    initialised.fetch_add(1, Ordering::SeqCst);
                });
                assert_eq!(*CELL.get_or_init(|| 5), 5);
            }));
        }
        // A scope does not wait for the destructors of thread locals; joining does.
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
    assert_eq!(map.read().unwrap().len(), 3);
    assert_eq!(initialised.load(Ordering::SeqCst), 1);
    assert_eq!(dropped.load(Ordering::SeqCst), 3);

    let (sender, receiver) = mpsc::sync_channel(1);
    let other = sender.clone();
    let first = thread::spawn(move || (0..3).for_each(|i| sender.send(i).unwrap()));
    let second = thread::spawn(move || (10..13).for_each(|i| other.send(i).unwrap()));
    let mut all: Vec<i32> = receiver.iter().collect();
    all.sort();
    assert_eq!(all, [0, 1, 2, 10, 11, 12]);
    first.join().unwrap();
    second.join().unwrap();

    let pair = Arc::new((Mutex::new(false), Condvar::new()));
    let theirs = pair.clone();
    let setter = thread::spawn(move || {
        *theirs.0.lock().unwrap() = true;
        theirs.1.notify_one();
    });
    let mut ready = pair.0.lock().unwrap();
    while !*ready {
        ready = pair.1.wait(ready).unwrap();
    }
    drop(ready);
    setter.join().unwrap();
    let before = Instant::now();
    let (_guard, result) = pair.1.wait_timeout(pair.0.lock().unwrap(), Duration::from_secs(3600)).unwrap();
    assert!(result.timed_out() && before.elapsed() >= Duration::from_secs(3600));

    let parked = thread::spawn(thread::park);
    parked.thread().unpark();
    parked.join().unwrap();
    thread::sleep(Duration::from_secs(10));
    assert!(thread::spawn(|| 7).join().is_ok_and(|seven| seven == 7));
}
