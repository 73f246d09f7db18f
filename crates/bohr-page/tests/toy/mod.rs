//! Small and large runs, and what everything in them is called.

use bohr_event::control::Step;
use bohr_event::{EventKind, Operation, PlaceNumber, ThreadIndex, ThreadPath};
use bohr_page::{Ending, Lexicon, Page, Run, SourceText, Whereabouts};
use bohr_report::{Bug, Columns, Finding, FindingKind, Story, Told};

/// Calls variables and functions by a word, and everything by its number.
pub struct Words {
    pub word: String,
    pub has_sources: bool,
}

impl Lexicon for Words {
    fn variable(&mut self, operation: &Operation) -> String {
        format!("{}{}", self.word, operation.object)
    }

    fn whereabouts(&mut self, place: PlaceNumber) -> Whereabouts {
        Whereabouts {
            line: Some((format!("{}.c", self.word), place.0 as u32)),
            function: Some(format!("{}_{}", self.word, place.0)),
        }
    }

    fn source(&mut self, file: &str) -> Option<SourceText> {
        let line = |number: u32| format!("int {}{number} = {number}; // {file}\n", self.word);
        self.has_sources.then(|| SourceText {
            text: (1..200).map(line).collect(),
            is_newer: self.word == "newer",
        })
    }
}

pub fn step(thread: u32, kind: EventKind, object: u64, place: u64) -> Step {
    Step {
        thread: ThreadIndex(thread),
        operation: Operation::plain(kind, 4, object, PlaceNumber(place)),
    }
}

/// The main thread and `count` children.
pub fn threads(count: u32) -> Vec<ThreadPath> {
    let children = (1..=count).map(|child| ThreadPath::MAIN.child(child));
    std::iter::once(ThreadPath::MAIN).chain(children).collect()
}

/// A lost update on variable 8: reads and writes of two threads, in this order.
pub fn lost_update(order: &[(u32, EventKind)]) -> Vec<Step> {
    use EventKind::{Exit, Fork, Read, Start, Write};
    let mut steps = vec![step(0, Start, 0, 1), step(0, Write, 8, 2)];
    for child in [1, 2] {
        let object = ThreadIndex(child).object();
        steps.push(step(0, Fork, object, 3));
        steps.push(step(child, Start, object, 4));
    }
    let access = |&(thread, kind): &(u32, EventKind)| {
        let place = if kind == Read { 10 } else { 11 };
        step(thread, kind, 8, place)
    };
    steps.extend(order.iter().map(access));
    steps.extend([1, 2].map(|child| step(child, Exit, ThreadIndex(child).object(), 5)));
    steps
}

/// What the `number`-th event of a thread is told as.
pub fn told(thread: &str, number: u64, kind: EventKind, word: &str) -> Told {
    let place = if kind == EventKind::Read { 10 } else { 11 };
    Told {
        thread: thread.to_string(),
        number,
        kind: kind.verb().to_string(),
        object: format!("{word}8"),
        takes_object: true,
        function: Some(format!("{word}_{place}")),
        line: Some(format!("{word}.c:{place}")),
        lines: Vec::new(),
    }
}

pub fn story(moments: Vec<Told>, word: &str) -> Story {
    Story {
        bug: Bug {
            signature: "0123456789abcdef".to_string(),
            kind: "assertion".to_string(),
            description: format!("assertion failed: {word}\n  it printed:\n      {word}"),
        },
        findings: vec![Finding {
            kind: FindingKind::Atomicity,
            variable: Some(format!("{word}8")),
            sentence: format!("thread 0:2 writes {word}8,\n    after thread 0:1 reads it"),
            moments,
            remedy: format!("hold {word} still"),
        }],
        windows: Vec::new(),
        orders: Vec::new(),
        races: Vec::new(),
        lock_cycles: Vec::new(),
        unexamined: 0,
        columns: Columns::default(),
        events: 0,
        switches: 3,
    }
}

pub fn failing<'a>(
    threads: &'a [ThreadPath],
    steps: &'a [Step],
    values: &'a [Option<u64>],
    word: &str,
) -> Run<'a> {
    Run {
        threads,
        steps,
        values,
        ending: Ending {
            fails: true,
            thread: Some(threads[threads.len() - 1].clone()),
            words: format!("fails: {word}"),
        },
    }
}

/// The page of the lost update; everything in it is called by this word.
pub fn small_page(word: &str, has_sources: bool) -> String {
    use EventKind::{Read, Write};
    let threads = threads(2);
    let bad = lost_update(&[(1, Read), (2, Read), (2, Write), (1, Write)]);
    let good = lost_update(&[(1, Read), (1, Write), (2, Read), (2, Write)]);
    let values = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0].map(Some);
    let passed = [0, 0, 0, 0, 0, 0, 0, 1, 1, 2, 0, 0].map(Some);
    let moments = vec![
        told("0:1", 1, Read, word),
        told("0:2", 2, Write, word),
        told("0:1", 2, Write, word),
    ];
    let page = Page {
        program: word,
        story: &story(moments, word),
        runs: vec![
            failing(&threads, &bad, &values, word),
            Run {
                ending: Ending {
                    words: "ends without failing".to_string(),
                    ..Ending::default()
                },
                ..failing(&threads, &good, &passed, word)
            },
        ],
    };
    page.as_html(&mut Words {
        word: word.to_string(),
        has_sources,
    })
}
