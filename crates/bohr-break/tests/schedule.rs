//! A schedule as a unit test, as docs/breakpoints.md shows it.

use bohr_break::Breakpoint;
use std::sync::RwLock;
use std::time::Duration;

static EVICTED: Breakpoint =
    Breakpoint::conflict("evicted while read").pause(Duration::from_secs(10));

struct Cache(RwLock<Option<u32>>);

impl Cache {
    /// Under test: the entry may be evicted between the two looks.
    fn get(&self) -> Option<u32> {
        if self.0.read().unwrap().is_none() {
            return None;
        }
        let _turn = EVICTED.second(self);
        *self.0.read().unwrap()
    }

    fn evict(&self) {
        let _turn = EVICTED.first(self);
        *self.0.write().unwrap() = None;
    }
}

#[test]
fn an_entry_that_is_evicted_while_it_is_read_is_not_there() {
    let cache = Cache(RwLock::new(Some(7)));
    bohr_break::arm();
    std::thread::scope(|scope| {
        scope.spawn(|| cache.evict());
        assert_eq!(cache.get(), None); // this schedule, and no other
    });
}

#[test]
fn the_guide_shows_this_very_test() {
    let guide = include_str!("../../../docs/breakpoints.md");
    let own = include_str!("schedule.rs");
    let shown = own.split("\n\n#[test]\nfn the_guide").next().unwrap();
    let (_, shown) = shown.split_once("\n\n").unwrap();
    assert!(guide.contains(shown), "docs/breakpoints.md has another one");
}
