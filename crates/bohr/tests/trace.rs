//! Traces of real programs: the events that a filter asks for, and exports.

use crate::controlled;

use bohr_trace::{Completeness, Trace};
use controlled::Folder;
use std::process::Stdio;

fn found() -> Folder {
    let folder = Folder::empty();
    folder.build("lost_update", &[]);
    folder.bohr(&["hunt", "--", "./program"]).expect(1);
    folder
}

#[test]
fn a_filter_shows_what_it_admits_and_nothing_else() {
    let folder = found();
    let trace = |filter: &str| {
        let words = ["trace", "program.bohr", "--json", "--filter", filter];
        let told = folder.bohr(&words).expect(0).json();
        told["events"].as_array().unwrap().clone()
    };
    let all = trace("");
    let writes = trace("variable=balance,kind=write");
    assert_eq!(
        writes.len(),
        2,
        "two threads add to the balance: {writes:?}"
    );
    for event in &writes {
        assert_eq!(event["variable"], "balance");
        assert!(all.contains(event));
    }
    // Both have read the same and write the same: one update is lost.
    let values = |kind: &str| -> Vec<u64> {
        let events = trace(&format!("variable=balance,kind={kind}")).into_iter();
        events
            .map(|event| event["value"].as_u64().unwrap())
            .collect()
    };
    let (read, written) = (values("read"), values("write"));
    assert_eq!(read[0], read[1], "{read:?}");
    assert_eq!(written, [read[0] + 1, read[0] + 1]);
    let by_thread = ["0", "0:1", "0:2"].map(|thread| trace(&format!("thread={thread}")).len());
    assert_eq!(by_thread.iter().sum::<usize>(), all.len());
    let line = writes[0]["line"].as_str().unwrap();
    assert!(trace(&format!("line={line}")).contains(&writes[0]));
}

#[test]
fn an_export_has_every_event_by_name() {
    let folder = found();
    let shown = folder.bohr(&["trace", "program.bohr"]).expect(0);
    let events = shown.text().lines().count();
    let csv = folder
        .bohr(&["trace", "program.bohr", "--export", "csv"])
        .expect(0);
    let text = csv.text();
    assert_eq!(text.lines().count(), 1 + events);
    let mut lines = text.lines();
    let write = lines.find(|line| line.contains(",write,"));
    let write = write.expect("a write");
    assert!(
        write.contains("balance") && write.contains("lost_update.c:"),
        "{write}"
    );
    folder.export("parquet", "trace.parquet");
    folder.export("trace", "own.trace");
    let own = std::fs::read(folder.path("own.trace")).unwrap();
    let own = Trace::open(&own).unwrap();
    assert_eq!(own.len(), events as u64);
    assert_eq!(own.completeness(), Completeness::Complete);
    let bytes = std::fs::read(folder.path("trace.parquet")).unwrap();
    assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"));
}

/// A trace in a file of its own tells the same as its bug, without the program.
#[test]
fn a_bare_trace_is_shown_filtered_and_exported_alike() {
    let folder = found();
    let words = ["trace", "program.bohr", "--export", "trace"];
    folder
        .bohr(&[&words[..], &["-o", "run.trace"]].concat())
        .expect(0);
    let alike = |words: &[&str]| {
        let told = |file| folder.bohr(&[&["trace", file], words].concat()).expect(0);
        let (bug, bare) = (told("program.bohr").text(), told("run.trace").text());
        assert!(!bug.is_empty());
        assert_eq!(bug, bare, "{words:?}");
    };
    alike(&[]);
    alike(&["--filter", "variable=balance,thread=0:2", "--json"]);
    alike(&["--export", "csv"]);
    let refusal = folder.bohr(&["trace", "run.trace", "--relevant"]).expect(2);
    assert!(refusal.messages().contains("a trace alone"), "{refusal}");
}

#[test]
fn whoever_reads_no_further_has_seen_enough() {
    let folder = found();
    let mut command = folder.command(&["trace", "program.bohr", "--export", "csv"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(!said.contains("disk"), "{said}");
}

const PARTS: &str = r#"
#include <pthread.h>
#include <stdlib.h>

static int matrix[3][4];
static struct {
    int before;
    unsigned ready : 3, done : 5;
    int after;
} flags;

static void *work(void *argument) {
    matrix[1][2]++;
    flags.done++;
    return argument;
}

int main(void) {
    pthread_t one;
    pthread_create(&one, NULL, work, NULL);
    matrix[1][2]++;
    flags.done++;
    pthread_join(one, NULL);
    abort();
}
"#;

/// Elements by all their indices, and bit fields with those that are written with them.
#[test]
fn elements_and_bit_fields_have_names() {
    let folder = Folder::empty();
    std::fs::write(folder.path("parts.c"), PARTS).expect("a source");
    let words = ["cc", "-g", "-O1", "-pthread", "-o", "program", "parts.c"];
    folder.bohr(&words).expect(0);
    folder.bohr(&["hunt", "--", "./program"]).expect(1);
    let told = folder.bohr(&["trace", "program.bohr", "--json"]);
    let told = told.expect(0).json();
    let events = told["events"].as_array().expect("events").iter();
    let written: std::collections::BTreeSet<&str> = events
        .filter(|event| event["thread"] == "0:1" && event["kind"] == "write")
        .map(|event| event["variable"].as_str().expect("a name"))
        .collect();
    let expected = ["flags.ready|done", "matrix[1][2]"];
    assert!(written.iter().eq(&expected), "{told}");
}

#[test]
fn a_wrong_word_is_refused() {
    let folder = Folder::empty();
    for words in [
        &["trace", "program.bohr", "--filter", "tread=0"][..],
        &["trace", "program.bohr", "--export", "xml"][..],
        &["trace", "program.bohr", "-o", "file"][..],
    ] {
        folder.bohr(words).expect(2);
    }
}

#[test]
fn what_has_nothing_to_do_with_the_failure_is_not_relevant() {
    let folder = Folder::empty();
    folder.build("crowd", &[]);
    let hunt = ["hunt", "--strategy", "random", "--", "./program"];
    folder.bohr(&hunt).expect(1);
    let trace = |words: &[&str]| {
        let words = [&["trace", "program.bohr"], words].concat();
        folder.bohr(&words).expect(0).text()
    };
    let (all, relevant) = (trace(&[]), trace(&["--relevant"]));
    let count = |text: &str, name: &str| text.lines().filter(|line| line.contains(name)).count();
    assert!(count(&all, "counted") > 0, "{all}");
    assert_eq!(count(&relevant, "counted"), 0, "{relevant}");
    assert!(count(&all, "lost") > 0, "{all}");
    assert_eq!(count(&relevant, "lost"), count(&all, "lost"), "{relevant}");
}
