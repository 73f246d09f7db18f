//! A table of shared objects with a count of handles each. Whoever closes the
//! last handle of an object frees it.
//!
//! `handle-count [users] [objects]`

use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::thread;

struct Object {
    bytes: usize,
}

struct Entry {
    handles: AtomicUsize,
    object: AtomicPtr<Object>,
}

impl Entry {
    fn new(bytes: usize, handles: usize) -> Entry {
        Entry {
            handles: AtomicUsize::new(handles),
            object: AtomicPtr::new(Box::into_raw(Box::new(Object { bytes }))),
        }
    }

    fn size(&self) -> usize {
        // SAFETY: whoever asks holds a handle, so the object is still there.
        unsafe { (*self.object.load(Ordering::Acquire)).bytes }
    }

    #[cfg(not(feature = "fixed"))]
    fn close(&self) {
        self.handles.fetch_sub(1, Ordering::AcqRel); // marker: handle-closed
        let left = self.handles.load(Ordering::Acquire); // marker: count-checked
        if left == 0 {
            self.free();
        }
    }

    #[cfg(feature = "fixed")]
    fn close(&self) {
        if self.handles.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.free();
        }
    }

    fn free(&self) {
        // SAFETY: the last handle is closed, so nobody else looks at the object.
        drop(unsafe { Box::from_raw(self.object.load(Ordering::Acquire)) }); // marker: object-freed
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse().unwrap());
    let users: usize = arguments.next().unwrap_or(2);
    let objects: usize = arguments.next().unwrap_or(5);

    let entries = (0..objects).map(|object| Entry::new(10 * object, users));
    let table: Arc<Vec<Entry>> = Arc::new(entries.collect());
    let threads: Vec<_> = (0..users)
        .map(|_| {
            let table = table.clone();
            thread::spawn(move || {
                let use_and_close = |entry: &Entry| {
                    let size = entry.size();
                    entry.close();
                    size
                };
                table.iter().map(use_and_close).sum::<usize>()
            })
        })
        .collect();
    let sizes = threads.into_iter().map(|user| user.join().unwrap());
    println!("{users} users read {} bytes", sizes.sum::<usize>());
}
