//! Which blocks of a trace can hold what a filter admits: the others need not be
//! decoded.

use bohr_event::{Operation, ThreadIndex};
use bohr_trace::{Record, Sequence, Summary, Trace, TraceError};
use std::ops::Range;

/// Addresses that are looked for one by one; of more, most blocks hold one.
const MOST_OBJECTS: usize = 4096;

/// See the module; `None` is everything.
#[derive(Clone, Debug, Default)]
pub struct Aim {
    threads: Option<Vec<ThreadIndex>>,
    objects: Option<Vec<Range<u64>>>,
}

impl Aim {
    /// At these threads and what these operations touch.
    pub fn new(threads: Option<Vec<ThreadIndex>>, objects: Option<Vec<Operation>>) -> Aim {
        let touched = |operation: &Operation| {
            let size = u64::from(operation.size.max(1));
            operation.object..operation.object.saturating_add(size)
        };
        let objects = objects.filter(|objects| objects.len() <= MOST_OBJECTS);
        Aim {
            threads,
            objects: objects.map(|objects| objects.iter().map(touched).collect()),
        }
    }

    fn may_be_in(&self, summary: &Summary) -> bool {
        let threads = self.threads.as_ref();
        let objects = self.objects.as_ref();
        threads.is_none_or(|all| all.iter().any(|thread| summary.may_have_thread(*thread)))
            && objects.is_none_or(|all| all.iter().any(|object| summary.may_touch(object)))
    }

    /// Looks at the events of all blocks that may hold what it aims at.
    ///
    /// # Errors
    /// If one of them is damaged.
    pub fn visit(
        &self,
        trace: &Trace<'_>,
        mut look: impl FnMut(Sequence, &Record),
    ) -> Result<(), TraceError> {
        for block in trace.blocks() {
            let summary = trace.summary(block);
            if summary.is_some_and(|summary| !self.may_be_in(&summary)) {
                continue;
            }
            let range = trace.block_range(block);
            let count = range.end.0 - range.start.0;
            for event in trace.from(range.start).take(count as usize) {
                let (sequence, record) = event?;
                look(sequence, &record);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bohr_event::{EventKind, PlaceNumber};
    use bohr_trace::Writer;

    fn record(event: u64) -> Record {
        Record {
            thread: ThreadIndex((event / 200_000) as u32),
            operation: Operation::plain(
                EventKind::Write,
                8,
                0x1000 + event / 200_000 * 0x10_0000 + event % 50 * 8,
                PlaceNumber(event % 7),
            ),
            value: None,
        }
    }

    /// All that is aimed at is seen, and by far not everything else.
    #[test]
    fn blocks_without_the_thread_or_the_variable_are_passed_over() {
        let mut writer = Writer::new(Vec::new()).unwrap();
        let records: Vec<Record> = (0..1_000_000).map(record).collect();
        records.iter().for_each(|record| writer.push(record));
        let file = writer.finish();
        let trace = Trace::open(&file).unwrap();
        let aims = [
            Aim::new(Some(vec![ThreadIndex(3)]), None),
            Aim::new(None, Some(vec![records[700_000].operation])),
        ];
        for aim in aims {
            let (mut seen, mut wanted) = (0, 0);
            let looked = aim.visit(&trace, |sequence, record| {
                assert_eq!(*record, records[sequence.0 as usize]);
                seen += 1;
                wanted += u64::from(record.thread == ThreadIndex(3));
            });
            looked.unwrap();
            assert_eq!(wanted, 200_000);
            assert!(seen < 500_000, "{seen}");
        }
        let mut seen = 0;
        Aim::default().visit(&trace, |_, _| seen += 1).unwrap();
        assert_eq!(seen, 1_000_000);
    }
}
