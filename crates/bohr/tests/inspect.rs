//! `bohr inspect` on a small program: text, JSON, Graphviz, and its refusals.

use serde_json::Value;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

const SOURCE: &str = r#"#include <pthread.h>
static int total;
static const int weights[4] = {1, 2, 3, 4};
static int weigh(int n) {
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += weights[i & 3];
    return sum;
}
static void *worker(void *argument) {
    if (argument || total > 7)
        total += weigh(*(int *)argument);
    return 0;
}
int main(void) {
    pthread_t thread;
    int count = 3;
    pthread_create(&thread, 0, worker, &count);
    pthread_join(thread, 0);
    return total;
}
"#;

struct Built {
    folder: TempDir,
}

impl Built {
    fn new() -> Built {
        let built = Built {
            folder: tempfile::tempdir().unwrap(),
        };
        std::fs::write(built.path("weigh.c"), SOURCE).unwrap();
        let output = built.bohr(&["cc", "-g", "-O0", "-pthread", "weigh.c", "-o", "weigh"]);
        assert!(output.status.success(), "{output:?}");
        built
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn bohr(&self, words: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_bohr"))
            .args(words)
            .current_dir(self.folder.path())
            .env("BOHR_CACHE", self.path("cache"))
            .output()
            .unwrap()
    }

    /// What `bohr inspect weigh` prints with more words.
    fn inspect(&self, words: &[&str]) -> String {
        let output = self.bohr(&[&["inspect", "weigh"], words].concat());
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    }
}

/// Whether Graphviz accepts a graph.
fn is_drawn(graph: &str) -> bool {
    let mut dot = Command::new("dot")
        .arg("-Tsvg")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("graphviz is installed");
    dot.stdin
        .take()
        .unwrap()
        .write_all(graph.as_bytes())
        .unwrap();
    dot.wait().unwrap().success()
}

#[test]
fn a_program_at_a_glance() {
    let built = Built::new();
    let text = built.inspect(&[]);
    assert!(text.contains("functions     3 (C 3)"), "{text}");
    assert!(text.contains("may be shared"), "{text}");
    assert!(text.contains("private: never written"), "{text}");
    assert!(text.contains("1  repetitive code blocks"), "{text}");
    let sites = built.inspect(&["--sites"]);
    assert!(sites.contains("weigh.c:12:15"), "{sites}");
    let loops = built.inspect(&["--loops"]);
    assert!(loops.contains("loop0 at weigh.c:6:"), "{loops}");
    assert!(
        loops.contains("no gate: nothing in it can be noticed by others"),
        "{loops}"
    );
}

#[test]
fn gates_are_named_and_missing_ones_explained() {
    let built = Built::new();
    let source = SOURCE.replace("sum += weights", "total += weights");
    std::fs::write(built.path("weigh.c"), source).unwrap();
    let output = built.bohr(&["cc", "-g", "-O0", "-pthread", "weigh.c", "-o", "weigh"]);
    assert!(output.status.success(), "{output:?}");
    let text = built.inspect(&["--gates"]);
    assert!(text.contains("1  bodies of threads"), "{text}");
    let gates: Vec<&str> = text.lines().filter(|line| line.contains('/')).collect();
    assert_eq!(gates.len(), 2, "{text}");
    assert!(
        gates
            .iter()
            .any(|line| line.contains("loop0") && line.contains("weigh.c:6:")),
        "{text}"
    );
    let facts: Value = serde_json::from_str(&built.inspect(&["--json"])).unwrap();
    let listed = facts["gates"].as_array().unwrap();
    let of = |kind: &str| listed.iter().find(|gate| gate["kind"] == kind).unwrap();
    assert_eq!(of("body")["function"], "worker");
    assert_eq!(
        (&of("iteration")["function"], &of("iteration")["in_loop"]),
        (&"weigh".into(), &"loop0".into())
    );
    let weigh: Value =
        serde_json::from_str(&built.inspect(&["--function", "weigh", "--json"])).unwrap();
    assert_eq!(weigh["loops"][0]["gate"], of("iteration")["number"]);
    // Without what the profile's maker left, the analysis is made again.
    let profiles = std::fs::read_dir(built.path("cache/profiles")).unwrap();
    for profile in profiles {
        let kept = profile.unwrap().path().join("sharing");
        std::fs::write(kept, "of another version").unwrap();
    }
    let again: Value = serde_json::from_str(&built.inspect(&["--json"])).unwrap();
    assert_eq!(again["functions"], facts["functions"]);
    let reported = facts["profile"]["gates"].as_array().unwrap();
    let ids =
        |list: &[Value]| -> Vec<Value> { list.iter().map(|gate| gate["id"].clone()).collect() };
    assert_eq!(
        ids(reported),
        ids(listed),
        "the profile has the gates of the model"
    );
}

#[test]
fn the_same_as_json() {
    let built = Built::new();
    let facts: Value = serde_json::from_str(&built.inspect(&["--json"])).unwrap();
    assert_eq!(facts["version"], 1);
    assert_eq!(facts["totals"]["functions"], 3);
    let functions = facts["functions"].as_array().unwrap();
    let sites = functions
        .iter()
        .flat_map(|one| one["sites"].as_array().unwrap());
    assert_eq!(facts["totals"]["sites"], sites.count());
    let named = |name: &str| functions.iter().find(|one| one["name"] == name).unwrap();
    assert_eq!(named("worker")["runs_in_threads"], true);
    assert_eq!(named("main")["runs_in_threads"], false);
    assert_eq!(named("weigh")["loops"][0]["repetitive"], true);
    let shared = &named("main")["sites"]
        .as_array()
        .unwrap()
        .iter()
        .find(|site| site["kind"] == "read" && site["places"][0]["line"] == 20);
    assert_eq!(shared.unwrap()["sharing"], "shared");
}

#[test]
fn one_function() {
    let built = Built::new();
    let text = built.inspect(&["--function", "worker"]);
    for section in ["blocks", "post-dominators", "control dependences"] {
        assert!(text.contains(section), "{section} is missing:\n{text}");
    }
    // The body of the condition runs on one of two branches, which are one condition.
    let facts: Value =
        serde_json::from_str(&built.inspect(&["--function", "worker", "--json"])).unwrap();
    let blocks = facts["graph"].as_array().unwrap();
    let classes: Vec<&str> = blocks
        .iter()
        .map(|one| one["nesting"].as_str().unwrap())
        .collect();
    assert_eq!(classes, ["body", "one", "aggregated", "body"]);
    assert_eq!(blocks[0]["immediate_post_dominator"], "b3");
    assert_eq!(blocks[3]["immediate_post_dominator"], "exit");
}

#[test]
fn graphs_can_be_drawn() {
    let built = Built::new();
    assert!(is_drawn(&built.inspect(&["--dot"])));
    let graph = built.inspect(&["--function", "weigh", "--dot"]);
    assert!(
        graph.contains("peripheries=2"),
        "the loop has a header:\n{graph}"
    );
    assert!(is_drawn(&graph));
    assert!(!is_drawn("digraph {"));
}

#[test]
fn refusals_say_what_to_try() {
    let built = Built::new();
    let refused = built.bohr(&["inspect", "weigh", "--function", "work"]);
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(
        said.contains("no function `work`") && said.contains("worker"),
        "{said}"
    );
    let refused = built.bohr(&["inspect", "weigh.c"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(refused.stdout.is_empty());
}
