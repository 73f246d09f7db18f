//! One order of everything that the threads of a run did to each other, from what
//! each wrote down (LEAP: the access vectors, merged).
//!
//! Of each step, a thread has written which stripes of memory it came by and how
//! often each was come by before. The steps of a stripe one after the other, and
//! those of a thread one after the other, are a partial order that happened; any
//! total order of it gives every read the same value.

use crate::Recording;
use bohr_event::ThreadPath;
use bohr_event::recording::{OrderWord, SYNCHRONISATION};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A thread makes some steps of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Which, by its place in the recording.
    pub thread: u32,
    /// Whether they synchronise; they are accesses otherwise.
    pub synchronises: bool,
    /// How many.
    pub steps: u64,
}

/// Why there is no order.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OrderError {
    /// A word that no thread writes there.
    #[error("thread {thread}: word {word} of its order is none")]
    NoWord {
        /// Whose.
        thread: ThreadPath,
        /// Which.
        word: usize,
    },
    /// Two came by at once.
    #[error("thread {thread}: word {word} of its order is where another thread was")]
    Twice {
        /// Whose.
        thread: ThreadPath,
        /// Which.
        word: usize,
    },
    /// Each of some steps comes before the next one and the last before the first.
    #[error("the vectors contradict each other at step {step} of thread {thread}")]
    Circle {
        /// Whose.
        thread: ThreadPath,
        /// Which.
        step: usize,
    },
}

/// One step: the stripes it came by, and when.
type Step = Vec<(u64, u64)>;

/// Merges what the threads have written; what comes before `main` is left out.
///
/// # Errors
/// If it makes no sense.
pub fn merge(recording: &Recording) -> Result<Vec<Pace>, OrderError> {
    let mut merging = Merging::of(recording)?;
    merging.run();
    match merging.stuck() {
        None => Ok(merging.paces),
        Some((thread, step)) => Err(OrderError::Circle {
            thread: recording.threads[thread].thread.clone(),
            step,
        }),
    }
}

struct Merging {
    threads: Vec<VecDeque<Step>>,
    done: Vec<usize>,
    /// Of every stripe, the turns that are to come, the next one first.
    stripes: BTreeMap<u64, VecDeque<u64>>,
    paces: Vec<Pace>,
}

impl Merging {
    fn of(recording: &Recording) -> Result<Merging, OrderError> {
        let mut threads = Vec::new();
        let mut stripes: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
        for log in &recording.threads {
            let main = log.order.iter().rposition(|word| *word == OrderWord::MAIN);
            let begin = main.map_or(0, |main| main + 1);
            let mut steps: VecDeque<Step> = VecDeque::new();
            let mut open = false;
            for (word, value) in log.order.iter().enumerate().skip(begin) {
                let thread = || log.thread.clone();
                let Some(read) = OrderWord::read(*value) else {
                    return Err(OrderError::NoWord {
                        thread: thread(),
                        word,
                    });
                };
                let turns = stripes.entry(read.stripe).or_default();
                if !turns.insert(read.turn) {
                    return Err(OrderError::Twice {
                        thread: thread(),
                        word,
                    });
                }
                let place = (read.stripe, read.turn);
                match steps.back_mut().filter(|_| open) {
                    Some(step) => step.push(place),
                    None => steps.push_back(vec![place]),
                }
                open = read.more;
            }
            threads.push(steps);
        }
        let in_order = |(stripe, turns): (u64, BTreeSet<u64>)| {
            (stripe, turns.into_iter().collect::<VecDeque<u64>>())
        };
        Ok(Merging {
            done: vec![0; threads.len()],
            threads,
            stripes: stripes.into_iter().map(in_order).collect(),
            paces: Vec::new(),
        })
    }

    /// Goes on with a thread as long as it can, then with the next one: few switches.
    fn run(&mut self) {
        let mut idle = 0;
        let mut thread = 0;
        while idle < self.threads.len() {
            let before = self.done[thread];
            while self.step(thread) {}
            idle = if self.done[thread] == before {
                idle + 1
            } else {
                0
            };
            thread = (thread + 1) % self.threads.len();
        }
    }

    /// Makes the next step of a thread, if its turn has come everywhere.
    fn step(&mut self, thread: usize) -> bool {
        let Some(step) = self.threads[thread].front() else {
            return false;
        };
        let ready = step
            .iter()
            .all(|(stripe, turn)| self.stripes[stripe].front() == Some(turn));
        if !ready {
            return false;
        }
        let synchronises = step.iter().any(|(stripe, _)| *stripe == SYNCHRONISATION);
        for (stripe, _) in self.threads[thread].pop_front().unwrap_or_default() {
            if let Some(turns) = self.stripes.get_mut(&stripe) {
                turns.pop_front();
            }
        }
        self.done[thread] += 1;
        let thread = thread as u32;
        match self.paces.last_mut() {
            Some(last) if last.thread == thread && last.synchronises == synchronises => {
                last.steps += 1;
            }
            _ => self.paces.push(Pace {
                thread,
                synchronises,
                steps: 1,
            }),
        }
        true
    }

    /// A step that never came.
    fn stuck(&self) -> Option<(usize, usize)> {
        let thread = self.threads.iter().position(|steps| !steps.is_empty())?;
        Some((thread, self.done[thread]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{End, LogKind, ThreadLog};
    use proptest::prelude::*;

    fn recording(orders: Vec<Vec<u64>>) -> Recording {
        let threads = (0..).zip(orders).map(|(index, order)| ThreadLog {
            thread: match index {
                0 => ThreadPath::MAIN,
                child => ThreadPath::MAIN.child(child),
            },
            path: Vec::new(),
            order,
            inputs: Vec::new(),
        });
        Recording::of_threads(LogKind::Order, threads.collect(), End::Exit(1))
    }

    /// What threads write that come by these stripes, one step after the other.
    fn written(steps: &[(usize, Vec<u64>)]) -> Vec<Vec<u64>> {
        let mut orders = vec![vec![OrderWord::MAIN], Vec::new(), Vec::new()];
        let mut turns: BTreeMap<u64, u64> = BTreeMap::new();
        for (thread, stripes) in steps {
            for (at, stripe) in stripes.iter().enumerate() {
                let turn = turns.entry(*stripe).or_default();
                let word = OrderWord {
                    more: at + 1 < stripes.len(),
                    stripe: *stripe,
                    turn: *turn,
                };
                orders[*thread].push(word.word());
                *turn += 1;
            }
        }
        orders
    }

    fn steps() -> impl Strategy<Value = Vec<(usize, Vec<u64>)>> {
        let stripes = prop::collection::btree_set(0u64..4, 1..3);
        let step = (0usize..3, stripes.prop_map(|set| set.into_iter().collect()));
        prop::collection::vec(step, 0..40)
    }

    proptest! {
        /// Two steps that touch one stripe, or are one thread's, keep their order.
        #[test]
        fn the_merged_order_is_one_that_happened(steps in steps()) {
            let merged = merge(&recording(written(&steps))).unwrap();
            let mut next = [0usize; 3];
            let mut order = Vec::new();
            for pace in merged {
                for _ in 0..pace.steps {
                    let thread = pace.thread as usize;
                    let own = steps.iter().enumerate().filter(|(_, step)| step.0 == thread);
                    order.push(own.map(|(at, _)| at).nth(next[thread]).unwrap());
                    next[thread] += 1;
                }
            }
            prop_assert_eq!(order.len(), steps.len());
            for (at, one) in order.iter().enumerate() {
                for other in &order[at + 1..] {
                    let shared = steps[*one].1.iter().any(|stripe| steps[*other].1.contains(stripe));
                    let dependent = shared || steps[*one].0 == steps[*other].0;
                    prop_assert!(!dependent || one < other);
                }
            }
        }

        #[test]
        fn any_words_are_merged_or_refused(
            orders in prop::collection::vec(prop::collection::vec(any::<u64>(), 0..6), 0..4),
            marked: bool,
        ) {
            let mark = |word: u64| if marked { word | 1 << 63 } else { word };
            let marked = |order: Vec<u64>| order.into_iter().map(mark).collect();
            let _ = merge(&recording(orders.into_iter().map(marked).collect()));
        }
    }

    #[test]
    fn contradictions_are_told() {
        let word = |stripe, turn| {
            OrderWord {
                more: false,
                stripe,
                turn,
            }
            .word()
        };
        let circle = vec![vec![word(1, 1), word(2, 0)], vec![word(2, 1), word(1, 0)]];
        assert!(matches!(
            merge(&recording(circle)),
            Err(OrderError::Circle { step: 0, .. })
        ));
        let twice = vec![vec![word(1, 1)], vec![word(1, 1)]];
        assert!(matches!(
            merge(&recording(twice)),
            Err(OrderError::Twice { word: 0, .. })
        ));
        let none = vec![vec![7]];
        assert!(matches!(
            merge(&recording(none)),
            Err(OrderError::NoWord { word: 0, .. })
        ));
    }
}
