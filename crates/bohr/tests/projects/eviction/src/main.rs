//! A cache that looks whether it has an entry and then gets it. Somebody may evict the
//! entry in between. All that happens in memory happens in the library's table.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::thread;

struct Cache {
    entries: Mutex<HashMap<u32, String>>,
}

impl Cache {
    fn get(&self, key: u32) -> String {
        if !self.entries.lock().unwrap().contains_key(&key) {
            return String::new();
        }
        self.entries.lock().unwrap()[&key].clone()
    }

    fn evict(&self, key: u32) {
        self.entries.lock().unwrap().remove(&key);
    }
}

fn main() {
    let entries = HashMap::from([(7, "seven".to_string())]);
    let cache = Arc::new(Cache {
        entries: Mutex::new(entries),
    });
    let other = cache.clone();
    let reader = thread::spawn(move || other.get(7));
    cache.evict(7);
    println!("{}", reader.join().unwrap());
}
