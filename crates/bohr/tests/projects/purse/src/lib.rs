//! A purse that many take from. That somebody else may come between looking and taking
//! does not occur to it.

use std::hint::black_box;
use std::sync::Mutex;

pub struct Purse {
    left: Mutex<i64>,
    taken: Mutex<Vec<i64>>,
}

impl Purse {
    pub fn with(left: i64) -> Purse {
        Purse {
            left: Mutex::new(left),
            taken: Mutex::new(Vec::new()),
        }
    }

    pub fn left(&self) -> i64 {
        *self.left.lock().unwrap()
    }

    pub fn take(&self, wanted: i64) {
        if self.left() < wanted {
            return;
        }
        // Long enough for somebody else to come, and nothing that lets others go first.
        (0..300_000).for_each(|number| drop(black_box(number)));
        let mut left = self.left.lock().unwrap();
        *left -= wanted;
        self.taken.lock().unwrap().push(wanted); // marker: taken
    }
}
