//! Pictures of small and large runs.

use super::*;
use crate::told::Told;
use bohr_event::control::{Recorded, Step};
use bohr_event::{Operation, PlaceNumber, Segment, ThreadIndex};
use bohr_explain::Window;

/// What lies at places from 100 on belongs to a library.
struct Words;

impl Teller for Words {
    fn tell(&mut self, moment: &Moment) -> Told {
        Told {
            thread: moment.thread.to_string(),
            kind: moment.operation.kind.verb().to_string(),
            object: format!("x{}", moment.operation.object),
            takes_object: moment.operation.kind.takes_object(),
            ..Told::default()
        }
    }

    fn source(&mut self, _: &str) -> Option<String> {
        None
    }

    fn is_written(&mut self, moment: &Moment) -> bool {
        moment.operation.place.0 < 100
    }
}

/// Segments of reads: thread, and the places that it comes by.
fn explanation(segments: &[(u32, &[u64])], marked: &[usize]) -> Explanation {
    let path = |thread: u32| match thread {
        0 => ThreadPath::MAIN,
        _ => ThreadPath::MAIN.child(thread),
    };
    let mut run = Recorded {
        threads: (0..32).map(path).collect(),
        ..Recorded::default()
    };
    for (thread, places) in segments {
        run.schedule.push(Segment {
            thread: path(*thread),
            events: places.len() as u64,
            end: None,
        });
        run.steps.extend(places.iter().map(|place| Step {
            thread: ThreadIndex(*thread),
            operation: Operation::plain(EventKind::Read, 4, *place, PlaceNumber(*place)),
        }));
    }
    let windows = marked.iter().map(|event| Window {
        thread: ThreadPath::MAIN,
        opens: Some(Moment::at(&run, *event)),
        closes: None,
        intrusion: None,
        culprit: None,
        width: 1,
        passing: None,
        early: None,
    });
    Explanation {
        windows: windows.collect(),
        run,
        ..Explanation::default()
    }
}

fn picture(segments: &[(u32, &[u64])], marked: &[usize]) -> String {
    Columns::new(&explanation(segments, marked), &mut Words).to_string()
}

#[test]
fn the_ends_of_segments_and_what_matters_are_shown() {
    let found = picture(&[(0, &[1, 2, 3, 4, 5, 6]), (1, &[7])], &[2]);
    let expected = "
  thread 0                                    thread 0:1
    reads x1
    reads x2
  ▶ reads x3
    … 1 event
    reads x5
    reads x6
                                                reads x7
";
    assert_eq!(found, expected[1..]);
}

#[test]
fn what_a_library_does_at_the_ends_is_counted() {
    let found = picture(&[(0, &[100, 1, 101, 102, 2, 103, 104])], &[3]);
    let expected = "
  thread 0
    … 1 event
    reads x1
    … 1 event
  ▶ reads x102
    reads x2
    … 2 events
";
    assert_eq!(found, expected[1..]);
}

#[test]
fn of_many_threads_those_that_matter_have_columns() {
    let threads = [0, 3, 1, 4, 5, 6, 7, 8, 2, 0];
    let segments = threads.map(|thread| (thread, &[1, 2][..]));
    // Of the threads 0:1 and 0:2 one event each matters; the run ends with 0.
    let found = picture(&segments, &[4, 16]);
    let expected = "
  thread 0                                    thread 0:1                                  thread 0:2
    reads x1
    reads x2
    … thread 0:3: 2 events
                                              ▶ reads x1
                                                reads x2
    … threads 0:4, 0:5, 0:6, 2 more: 10 events
                                                                                          ▶ reads x1
                                                                                            reads x2
    reads x1
    reads x2
";
    assert_eq!(found, expected[1..]);
}

#[test]
fn a_long_run_fits() {
    let segments: Vec<(u32, &[u64])> = (0..400)
        .map(|number| (number % 3, &[1, 2, 3, 4, 5, 6][..]))
        .collect();
    let columns = Columns::new(&explanation(&segments, &[600, 1207]), &mut Words);
    assert!(columns.rows.len() <= MOST_ROWS, "{columns}");
    let marked = columns.rows.iter().filter(|row| row.marked);
    assert_eq!(marked.count(), 2, "{columns}");
}

#[test]
fn one_line_is_shown_once_however_often_it_is_named() {
    let found = picture(&[(0, &[1, 2, 2, 2, 3, 2])], &[2]);
    let expected = "
  thread 0
    reads x1
  ▶ reads x2
    … 1 event
    reads x3
    reads x2
";
    assert_eq!(found, expected[1..]);
}

#[test]
fn what_threads_wait_for_in_vain_comes_last() {
    let mut explanation = explanation(&[(0, &[1]), (1, &[2])], &[]);
    let waits = Moment {
        thread: ThreadPath::MAIN.child(1),
        number: 1,
        operation: Operation::plain(EventKind::Acquire, 0, 7, PlaceNumber(7)),
    };
    explanation
        .circle
        .push(bohr_explain::Link { holds: None, waits });
    let found = Columns::new(&explanation, &mut Words).to_string();
    let expected = "
  thread 0                                    thread 0:1
    reads x1
                                                reads x2
                                              ▶ waits at locks x7
";
    assert_eq!(found, expected[1..]);
}
