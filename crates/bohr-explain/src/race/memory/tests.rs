//! Blocks against words one by one.

use super::*;
use proptest::prelude::*;

/// What [`Memory`] is for one who has the time.
#[derive(Default)]
struct Slow(HashMap<u64, Word>);

impl Slow {
    fn access(&mut self, (start, size): (u64, u64), epoch: Epoch, known: &Clock) -> Option<usize> {
        let raced = words(start, size).map(|(word, bytes)| {
            let word = self.0.entry(word).or_default();
            word.access(bytes, epoch, known)
        });
        raced.fold(None, |found, raced| raced.or(found))
    }

    fn forget(&mut self, start: u64, size: u64) {
        for (word, bytes) in words(start, size) {
            self.0.entry(word).or_default().forget(bytes);
        }
    }
}

#[derive(Clone, Debug)]
enum Deed {
    Access { thread: u32, writes: bool },
    Forget,
    Tick(u32),
}

fn deed() -> impl Strategy<Value = Deed> {
    prop_oneof![
        6 => (0u32..3, any::<bool>()).prop_map(|(thread, writes)| Deed::Access { thread, writes }),
        1 => Just(Deed::Forget),
        2 => (0u32..3).prop_map(Deed::Tick),
    ]
}

/// Small pieces and large ones, near the ends of blocks.
fn range() -> impl Strategy<Value = (u64, u64)> {
    let start = (0u64..4, prop_oneof![Just(0u64), 0..BLOCK]);
    let size = prop_oneof![
        1u64..20,
        (1u64..4).prop_map(|blocks| blocks * BLOCK),
        1u64..1500
    ];
    (start, size).prop_map(|((block, within), size)| (block * BLOCK + within, size))
}

proptest! {
    #[test]
    fn blocks_tell_what_words_do(deeds in prop::collection::vec((deed(), range()), 1..40)) {
        let (mut fast, mut slow) = (Memory::default(), Slow::default());
        let mut clocks = [Clock::default(), Clock::default(), Clock::default()];
        for (thread, clock) in (0..).zip(&mut clocks) {
            clock.tick(ThreadIndex(thread));
        }
        for (event, (deed, range)) in deeds.into_iter().enumerate() {
            match deed {
                Deed::Access { thread, writes } => {
                    let thread = ThreadIndex(thread);
                    let known = &clocks[thread.position()];
                    let epoch = Epoch { thread, time: known.time(thread), event, atomic: false, writes };
                    let found = fast.access(range, epoch, known, None);
                    prop_assert_eq!(found, slow.access(range, epoch, known));
                }
                Deed::Forget => {
                    fast.forget(range.0, range.1);
                    slow.forget(range.0, range.1);
                }
                Deed::Tick(thread) => {
                    // The next one hears of all that this one knows.
                    let told = clocks[thread as usize].clone();
                    clocks[thread as usize].tick(ThreadIndex(thread));
                    clocks[(thread as usize + 1) % 3].join(&told);
                }
            }
        }
    }
}
