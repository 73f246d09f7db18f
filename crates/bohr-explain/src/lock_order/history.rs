//! Whether threads can come to the dependencies of a cycle at once: on its way a
//! thread may need locks that another one has already taken for good.
//!
//! For threads that give locks back in the opposite order in which they took them and
//! that nothing else orders, this is exact (Kahlon, Ivančić and Gupta, CAV 2005, for two
//! threads): they come there if and only if the uses of locks that have to come before
//! others took them for good have an order. Elsewhere it refuses only what cannot be.

use super::dependency::{Dependency, Watch};
use super::timeline::Point;

/// Demands beyond which nobody asks.
const MOST_DEMANDS: usize = 256;

/// One event that has to be over before another one.
struct Demand {
    /// Gives a lock back.
    over: Point,
    /// Takes it for good.
    taken: Point,
}

/// See the module.
pub fn can_come(watch: &Watch, cycle: &[&Dependency]) -> bool {
    let demands = demands(watch, cycle);
    if demands.len() > MOST_DEMANDS {
        return true;
    }
    let comes_before = |one: Point, other: Point| match one.0 == other.0 {
        true => one.1 < other.1,
        false => watch.timeline.precedes(one, other),
    };
    let follow = |one: &Demand, other: &Demand| comes_before(one.taken, other.over);
    !has_cycle(&demands, &follow)
}

fn demands(watch: &Watch, cycle: &[&Dependency]) -> Vec<Demand> {
    let mut demands = Vec::new();
    for holder in cycle {
        for hold in &holder.held {
            let others = cycle.iter().filter(|other| other.thread != holder.thread);
            demands.extend(others.filter_map(|other| {
                let over = watch.last_release(other.thread, hold, other.event)?;
                Some(Demand {
                    over: (other.thread, over),
                    taken: (holder.thread, hold.event),
                })
            }));
        }
    }
    demands
}

/// Whether demands, each of which is followed by others, lead back to one of them:
/// takes out those that follow none that is left.
fn has_cycle(demands: &[Demand], follow: &dyn Fn(&Demand, &Demand) -> bool) -> bool {
    let mut left: Vec<&Demand> = demands.iter().collect();
    loop {
        let count = left.len();
        let behind = |one: &&Demand| left.iter().any(|other| follow(other, one));
        left = { left.iter().copied() }.filter(behind).collect();
        if left.len() == count {
            return count > 0;
        }
    }
}
