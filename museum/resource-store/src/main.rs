//! A web server keeps the pages that it served last in a store of fixed size.
//! Clients read pages; now and then a client's page is not in the store and it
//! is loaded into the page's slot. A housekeeper empties slots to keep the
//! store small. What a client receives is set into a frame that all pages share.
//!
//! `resource-store [clients] [requests per client] [letters of the frame]`

use std::sync::{Arc, Mutex};
use std::thread;

struct Resource {
    page: usize,
    body: String,
}

struct Store {
    slots: Vec<Mutex<Option<Resource>>>,
    frame: Vec<u8>,
}

impl Store {
    fn new(pages: usize, letters: usize) -> Store {
        Store {
            slots: (0..pages).map(|_| Mutex::new(None)).collect(),
            frame: vec![b'x'; letters],
        }
    }

    /// The length of a page in its frame; what is blank is not sent.
    fn framed(&self, body: usize) -> usize {
        body + { self.frame.iter() }
            .filter(|letter| **letter != b' ')
            .count()
    }

    fn is_loaded(&self, page: usize) -> bool {
        self.slots[page].lock().unwrap().is_some() // marker: slot-checked
    }

    fn load(&self, page: usize) {
        let body = format!("<h1>page {page}</h1>");
        *self.slots[page].lock().unwrap() = Some(Resource { page, body }); // marker: slot-filled
    }

    fn evict(&self, page: usize) {
        *self.slots[page].lock().unwrap() = None; // marker: slot-emptied
    }

    #[cfg(not(feature = "fixed"))]
    fn serve(&self, page: usize) -> usize {
        if !self.is_loaded(page) {
            self.load(page);
        }
        let slot = self.slots[page].lock().unwrap();
        let resource = slot.as_ref().expect("a page that was loaded"); // marker: slot-used
        assert_eq!(resource.page, page);
        resource.body.len()
    }

    #[cfg(feature = "fixed")]
    fn serve(&self, page: usize) -> usize {
        loop {
            if let Some(resource) = self.slots[page].lock().unwrap().as_ref() {
                assert_eq!(resource.page, page);
                return resource.body.len();
            }
            if !self.is_loaded(page) {
                self.load(page);
            }
        }
    }
}

fn main() {
    let mut arguments = std::env::args()
        .skip(1)
        .map(|text| text.parse().expect("a number"));
    let clients: usize = arguments.next().unwrap_or(10);
    let requests: usize = arguments.next().unwrap_or(10);
    let letters: usize = arguments.next().unwrap_or(0);
    let pages = 4;

    let store = Arc::new(Store::new(pages, letters));
    let housekeeper = {
        let store = store.clone();
        thread::spawn(move || (0..requests).for_each(|round| store.evict(round % pages)))
    };
    let readers: Vec<_> = (0..clients)
        .map(|client| {
            let store = store.clone();
            thread::spawn(move || {
                (0..requests)
                    .map(|request| store.framed(store.serve((client + request) % pages)))
                    .sum::<usize>()
            })
        })
        .collect();
    // A client that panics takes the server with it.
    let served: usize = readers
        .into_iter()
        .map(|reader| reader.join().unwrap())
        .sum();
    housekeeper.join().unwrap();
    println!("{clients} clients received {served} bytes");
}
