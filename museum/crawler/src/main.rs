//! A web crawler. Workers take addresses from a queue, read each page, follow
//! its links and queue the pages they have not met before. When the queue is
//! empty and nobody is at work, the crawl is over and the report is printed.
//! The web is a binary tree of pages that needs no network; all have the same
//! text.
//!
//! `crawler [workers] [pages] [letters per page]`

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

struct Crawl {
    queue: Mutex<VecDeque<usize>>,
    changed: Condvar,
    at_work: AtomicUsize,
    fetched: AtomicUsize,
    pages: usize,
    text: Vec<u8>,
}

impl Crawl {
    /// The next page, or nothing when the crawl is over.
    fn take(&self) -> Option<usize> {
        let mut queue = self.queue.lock().unwrap();
        loop {
            if let Some(page) = queue.pop_front() {
                #[cfg(feature = "fixed")]
                self.at_work.fetch_add(1, Ordering::SeqCst);
                return Some(page); // marker: page-taken
            }
            if self.is_idle() {
                return None;
            }
            queue = self.changed.wait(queue).unwrap();
        }
    }

    /// Asked with the queue locked and empty.
    fn is_idle(&self) -> bool {
        self.at_work.load(Ordering::SeqCst) == 0 // marker: idle-checked
    }

    fn fetch(&self, page: usize) {
        #[cfg(not(feature = "fixed"))]
        self.at_work.fetch_add(1, Ordering::SeqCst); // marker: work-announced
        let links = [2 * page + 1, 2 * page + 2];
        self.read();
        self.fetched.fetch_add(1, Ordering::SeqCst);

        let mut queue = self.queue.lock().unwrap();
        queue.extend(links.into_iter().filter(|link| *link < self.pages));
        self.at_work.fetch_sub(1, Ordering::SeqCst);
        self.changed.notify_all();
    }

    fn read(&self) {
        let tags = self.text.iter().filter(|letter| **letter == b'<').count();
        assert_eq!(tags, 0, "a page without tags");
    }

    fn work(&self) {
        while let Some(page) = self.take() {
            self.fetch(page);
        }
    }

    fn wait_until_over(&self) {
        let mut queue = self.queue.lock().unwrap();
        while !(queue.is_empty() && self.is_idle()) {
            queue = self.changed.wait(queue).unwrap();
        }
    }
}

fn main() {
    let mut arguments = std::env::args()
        .skip(1)
        .map(|text| text.parse().expect("a number"));
    let workers: usize = arguments.next().unwrap_or(2);
    let pages: usize = arguments.next().unwrap_or(12);
    let letters: usize = arguments.next().unwrap_or(0);

    let crawl = Arc::new(Crawl {
        queue: Mutex::new(VecDeque::from([0])),
        changed: Condvar::new(),
        at_work: AtomicUsize::new(0),
        fetched: AtomicUsize::new(0),
        pages,
        text: vec![b'x'; letters],
    });
    let threads: Vec<_> = (0..workers)
        .map(|_| {
            let crawl = crawl.clone();
            thread::spawn(move || crawl.work())
        })
        .collect();

    crawl.wait_until_over();
    let fetched = crawl.fetched.load(Ordering::SeqCst);
    assert_eq!(fetched, pages, "the report is short"); // marker: report-complete
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
    println!("{workers} workers fetched {pages} pages");
}
