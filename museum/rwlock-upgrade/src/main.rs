//! A reader-writer lock by hand whose readers may become the writer without
//! letting go. Clerks look an article up and, if its stock is low, upgrade and
//! reorder it.
//!
//! `rwlock-upgrade [clerks] [articles]`

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

#[derive(Default)]
struct UpgradableLock {
    state: Mutex<Holders>,
    changed: Condvar,
}

#[derive(Default)]
struct Holders {
    readers: usize,
    writing: bool,
    upgrading: bool,
}

impl UpgradableLock {
    fn read(&self) {
        let mut holders = self.state.lock().unwrap();
        while holders.writing {
            holders = self.changed.wait(holders).unwrap();
        }
        holders.readers += 1; // marker: reader-entered
    }

    fn release_read(&self) {
        self.state.lock().unwrap().readers -= 1;
        self.changed.notify_all();
    }

    /// Turns the caller's read lock into the write lock, if nobody else is
    /// about to do the same; otherwise the caller has to let go and look again.
    fn try_upgrade(&self) -> bool {
        let mut holders = self.state.lock().unwrap();
        if cfg!(feature = "fixed") && holders.upgrading {
            return false;
        }
        holders.upgrading = true;
        loop {
            let readers = holders.readers; // marker: readers-counted
            if readers <= 1 {
                break;
            }
            holders = self.changed.wait(holders).unwrap(); // marker: upgrader-waits
        }
        *holders = Holders {
            readers: 0,
            writing: true,
            upgrading: false,
        };
        true
    }

    fn release_write(&self) {
        self.state.lock().unwrap().writing = false;
        self.changed.notify_all();
    }
}

#[derive(Default)]
struct Article {
    lock: UpgradableLock,
    stock: AtomicUsize,
}

fn reorder_if_low(article: &Article) {
    loop {
        article.lock.read();
        if article.stock.load(Ordering::Relaxed) > 0 {
            return article.lock.release_read();
        }
        if article.lock.try_upgrade() {
            article.stock.fetch_add(10, Ordering::Relaxed);
            return article.lock.release_write();
        }
        article.lock.release_read();
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse().unwrap());
    let clerks: usize = arguments.next().unwrap_or(2);
    let articles: usize = arguments.next().unwrap_or(5);

    let store: Arc<Vec<Article>> = Arc::new((0..articles).map(|_| Article::default()).collect());
    let threads: Vec<_> = (0..clerks)
        .map(|_| {
            let store = store.clone();
            thread::spawn(move || store.iter().for_each(reorder_if_low))
        })
        .collect();
    threads.into_iter().for_each(|clerk| clerk.join().unwrap());
    let stock: usize = store
        .iter()
        .map(|article| article.stock.load(Ordering::Relaxed))
        .sum();
    println!("{stock} pieces of {articles} articles");
}
