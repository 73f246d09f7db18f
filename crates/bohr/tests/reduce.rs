//! Reducing failures of real programs to the threads and iterations that they
//! need.

use crate::controlled;

use controlled::Folder;
use serde_json::{Value, json};
use std::process::Stdio;
use std::time::Duration;

fn crowd() -> Folder {
    let folder = Folder::empty();
    folder.build("crowd", &[]);
    let words = ["hunt", "--strategy", "random", "--", "./program"];
    folder.bohr(&words).expect(1);
    folder
}

fn reduce(folder: &Folder, words: &[&str]) -> Value {
    let words = [&["reduce", "program.bohr", "--json"], words].concat();
    folder.bohr(&words).expect(0).json()
}

#[test]
fn bystanders_and_repetitions_go_and_the_bug_stays() {
    let folder = crowd();
    let before = folder.bohr(&["replay", "program.bohr", "--json"]).expect(0);
    let report = reduce(&folder, &[]);
    assert_eq!(report["threads_before"], json!(9));
    assert_eq!(report["threads_after"], json!(3), "main and two depositors");
    assert_eq!(report["sequential"], json!(false));
    assert_eq!(report["verified"], json!(true));
    let number = |name: &str| report[name].as_u64().unwrap();
    assert!(number("events_after") < number("events_before"));
    assert!(number("iterations_after") < number("iterations_before"));
    let replays = folder
        .bohr(&["replay", "program.bohr", "--times", "50", "--json"])
        .expect(0)
        .json();
    assert_eq!(replays["reproduced"], json!(50));
    assert_eq!(replays["events"], report["events_after"]);
    assert_eq!(replays["signature"], before.json()["signature"]);
    // Nothing more goes.
    let again = reduce(&folder, &[]);
    assert_eq!(again["threads_after"], report["threads_after"]);
    assert_eq!(again["events_after"], report["events_after"]);
}

/// Whether some of a few runs by chance fail that leave out these threads.
fn fails_without(folder: &Folder, threads: &[&str]) -> bool {
    let without: Vec<&str> = { threads.iter() }
        .flat_map(|thread| ["--without-thread", thread])
        .collect();
    (1..=40).any(|seed| {
        let seed = seed.to_string();
        let words = ["run", "--strategy", "random", "--seed", &seed];
        let words = [&words[..], &without, &["--", "./program"]].concat();
        folder.bohr(&words).code() == 1
    })
}

#[test]
fn no_thread_that_is_left_can_go_by_itself() {
    let folder = crowd();
    let report = reduce(&folder, &[]);
    assert_eq!(report["minimal"], json!(true));
    let gone: Vec<&str> = { report["without_threads"].as_array().expect("a list").iter() }
        .filter_map(Value::as_str)
        .collect();
    let all: Vec<String> = (1..9).map(|number| format!("0:{number}")).collect();
    let left: Vec<&str> = { all.iter().map(String::as_str) }
        .filter(|path| !gone.contains(path))
        .collect();
    assert_eq!(left.len(), 2, "{gone:?}");
    assert!(fails_without(&folder, &gone), "as they are");
    for thread in left {
        let fewer = [&gone[..], &[thread]].concat();
        assert!(!fails_without(&folder, &fewer), "{thread} could go, too");
    }
}

#[test]
fn a_join_of_a_thread_that_stays_is_not_left_out() {
    let folder = Folder::empty();
    let source = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../museum/idle-workers/main.c"
    );
    let words = ["cc", "-g", "-O1", "-pthread", source, "-o", "program"];
    folder.bohr(&words).expect(0);
    folder.bohr(&["hunt", "--", "./program"]).expect(1);
    // The manifest proves that four threads beside main are needed, as long as
    // main waits for the listeners.
    assert_eq!(reduce(&folder, &[])["threads_after"], json!(5));
}

#[test]
fn what_is_reduced_can_be_simplified_and_explained() {
    let folder = crowd();
    let report = reduce(&folder, &["-o", "small.bohr"]);
    let simple = folder
        .bohr(&["simplify", "small.bohr", "--json"])
        .expect(0)
        .json();
    assert_eq!(simple["preemptive_after"], json!(1));
    folder
        .bohr(&["replay", "small.bohr", "--fresh", "--times", "5"])
        .expect(0);
    let text = folder.bohr(&["explain", "small.bohr"]).expect(0).text();
    assert!(text.contains("balance"), "{text}");
    let replayed = folder.bohr(&["replay", "small.bohr"]).expect(0).text();
    let gone = report["without_threads"].as_array().expect("a list");
    assert!(!gone.is_empty());
    for thread in gone.iter().filter_map(Value::as_str) {
        for text in [&text, &replayed] {
            assert!(!text.contains(&format!("thread {thread} ")), "{text}");
        }
    }
}

/// A run with fewer events may take more switches than the one that was found; nobody
/// would call that reduced.
#[test]
fn what_is_reduced_has_no_more_switches() {
    let folder = Folder::empty();
    let source = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../museum/log-rotation/main.c"
    );
    let words = ["cc", "-g", "-O2", "-pthread", source, "-o", "program"];
    folder.bohr(&words).expect(0);
    let words = ["hunt", "--", "./program", "2", "16"];
    folder.bohr(&words).expect(1);
    let report = reduce(&folder, &[]);
    let number = |name: &str| report[name].as_u64().unwrap();
    assert!(number("events_after") < number("events_before"), "{report}");
    let (before, after) = (number("switches_before"), number("switches_after"));
    assert!(after <= before, "{before} switches became {after}");
}

#[test]
fn a_program_without_gates_is_left_as_it_is() {
    let folder = Folder::with("lost_update", &[]);
    folder.bohr(&["hunt", "--", "./program"]).expect(1);
    let report = reduce(&folder, &[]);
    assert_eq!(report["threads_after"], report["threads_before"]);
    assert_eq!(report["iterations_before"], json!(0));
    folder.bohr(&["replay", "program.bohr"]).expect(0);
}

/// Kills a reduction as soon as it has written so many results, each of them not the
/// one before, or once it has ended by itself; whether it was killed.
fn killed_at_result(folder: &Folder, words: &[&str], mut number: usize) -> bool {
    let result = || std::fs::read(folder.path("small.bohr")).ok();
    let mut before = result();
    let mut command = folder.command(words);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut reduction = command.spawn().expect("bohr starts");
    loop {
        if reduction.try_wait().expect("it can be asked").is_some() {
            return false;
        }
        let now = result();
        number -= usize::from(now != before);
        before = now;
        if number == 0 {
            reduction.kill().expect("it can be killed");
            reduction.wait().expect("it ends");
            return true;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_killed_reduction_loses_nothing_and_is_resumed() {
    let folder = crowd();
    let words = ["reduce", "program.bohr", "-o", "small.bohr", "--resume"];
    let mut events = Vec::new();
    while events.len() < 8 && killed_at_result(&folder, &words, 1) {
        let replay = ["replay", "small.bohr", "--times", "5", "--json"];
        let replays = folder.bohr(&replay).expect(0).json();
        assert_eq!(replays["reproduced"], json!(5));
        events.extend(replays["events"].as_u64());
    }
    assert!(events.len() > 1, "it was killed more than once: {events:?}");
    assert!(events.last() <= events.first(), "{events:?}");
    let report = reduce(&folder, &["-o", "small.bohr", "--resume"]);
    assert_eq!(report["threads_before"], json!(9));
    assert_eq!(report["threads_after"], json!(3));
    let text = folder.bohr(&["explain", "small.bohr"]).expect(0).text();
    assert!(text.contains("reduced from 9 threads"), "{text}");
}

#[test]
fn runs_add_up_to_what_they_were_made_for() {
    let folder = crowd();
    let report = reduce(&folder, &["-o", "small.bohr"]);
    let purposes = report["runs_for"].as_object().expect("purposes").values();
    let purposes: u64 = purposes.filter_map(|one| one["runs"].as_u64()).sum();
    let runs = report["runs"].as_u64().expect("a number");
    // So do the stages; runs before and after them are of none.
    let stages = report["stages"].as_array().expect("stages");
    let of_stages = |field: &str| -> u64 {
        let figures = stages.iter().filter_map(|stage| stage[field].as_u64());
        figures.sum()
    };
    let events = report["events_run"].as_u64().expect("a number");
    assert!((1..=runs).contains(&of_stages("runs")), "{report}");
    assert!((1..=events).contains(&of_stages("events_run")), "{report}");
    // The rest are the run as it was found, good ones, and those that are timed.
    assert!(purposes <= runs && purposes + 60 > runs, "{report}");
    // The bug, what is left of it, and perhaps a result on the way: nothing is replayed
    // again that was seen to come every time.
    let replaying = report["runs_for"]["replaying"]["runs"].as_u64();
    assert!(replaying.is_some_and(|runs| runs <= 80), "{report}");
    // There is nowhere that it could go.
    let words = ["reduce", "program.bohr", "-o", "nowhere/small.bohr"];
    let refused = folder.bohr(&words).expect(2).messages();
    assert!(refused.contains("`nowhere/small.bohr`"), "{refused}");
}

#[test]
fn only_the_same_bug_is_resumed() {
    let folder = crowd();
    reduce(&folder, &["-o", "small.bohr"]);
    let hunt = [
        "hunt",
        "--seed",
        "77",
        "--strategy",
        "random",
        "-o",
        "other.bohr",
    ];
    let hunt = [&hunt[..], &["--", "./program"]].concat();
    folder.bohr(&hunt).expect(1);
    let words = ["reduce", "other.bohr", "-o", "small.bohr", "--resume"];
    let refused = folder.bohr(&words).expect(2);
    assert!(refused.messages().contains("holds another bug"));
}

#[test]
fn the_number_of_examiners_changes_nothing() {
    let folder = crowd();
    let few = reduce(&folder, &["-o", "one.bohr", "--jobs", "1"]);
    let many = reduce(&folder, &["-o", "four.bohr", "--jobs", "4"]);
    let read = |name: &str| std::fs::read(folder.path(name)).expect("a bug file");
    assert_eq!(read("one.bohr"), read("four.bohr"));
    for field in ["events_after", "threads_after", "blocks_redundant"] {
        assert_eq!(few[field], many[field]);
    }
}

#[test]
fn the_dependence_graph_alone_removes_what_nobody_waits_for() {
    let folder = crowd();
    let report = reduce(&folder, &["--method", "er"]);
    let number = |name: &str| report[name].as_u64().expect("a number");
    assert!(number("er_events_removed") < number("events_before"));
    let words = ["reduce", "program.bohr", "--method", "er", "-o", "x.bohr"];
    let refused = folder.bohr(&words).expect(2).messages();
    assert!(refused.contains("only counts"), "{refused}");
    // Nothing was written.
    let replay = folder.bohr(&["replay", "program.bohr", "--json"]).expect(0);
    assert_eq!(replay.json()["events"], report["events_before"]);
}

#[test]
fn threads_that_cannot_go_run_in_one_piece() {
    let folder = Folder::empty();
    folder.build("counted", &[]);
    folder.bohr(&["hunt", "--", "./program"]).expect(1);
    let report = reduce(&folder, &["--time", "10m"]);
    assert_eq!(report["threads_before"], json!(6));
    assert_eq!(report["threads_after"], json!(3), "main and two that race");
    assert_eq!(report["threads_serial"], json!(3));
    assert_eq!(report["verified"], json!(true));
    let replay = ["replay", "program.bohr", "--times", "20", "--json"];
    let replays = folder.bohr(&replay).expect(0).json();
    assert_eq!(replays["reproduced"], json!(20));
    let text = folder.bohr(&["explain", "program.bohr"]).expect(0).text();
    assert!(text.contains("in one piece each: 0:"), "{text}");
}

const CHAT: &str = "good morning\nhow are you\nlet us go home\nno, stay\nwell then\n";

#[test]
fn inputs_shrink_to_what_the_failure_needs() {
    let folder = Folder::empty();
    folder.build("chatter", &[]);
    std::fs::write(folder.path("chat"), CHAT).expect("a file");
    let hunt = ["hunt", "--stdin", "chat", "--", "./program"];
    folder.bohr(&hunt).expect(1);
    let report = reduce(&folder, &["--shrink-input", "stdin"]);
    assert_eq!(report["input_bytes_before"], json!(CHAT.len()));
    assert_eq!(report["input_bytes_after"], json!(2), "`go` is enough");
    assert_eq!(report["verified"], json!(true));
    folder.bohr(&["replay", "program.bohr"]).expect(0);

    folder.bohr(&["hunt", "--", "./program", "chat"]).expect(1);
    let words = ["--shrink-input", "chat", "-o", "small.bohr"];
    assert_eq!(reduce(&folder, &words)["input_bytes_after"], json!(2));
    assert_eq!(
        std::fs::read(folder.path("small.input")).ok().as_deref(),
        Some(&b"go"[..])
    );
    folder.bohr(&["replay", "small.bohr"]).expect(0);
    let words = ["reduce", "program.bohr", "--shrink-input", "elsewhere"];
    let refused = folder.bohr(&words).expect(2).messages();
    assert!(
        refused.contains("no argument of the program is `elsewhere`"),
        "{refused}"
    );
}

/// What the smaller input is written over is never what the bug file names.
#[test]
fn a_killed_shrinking_leaves_a_bug_that_replays() {
    let folder = Folder::empty();
    folder.build("chatter", &[]);
    let chat = CHAT.repeat(6);
    // Where the smaller one would lie.
    let input = folder.path("small.input");
    std::fs::write(&input, &chat).expect("a file");
    let words = ["hunt", "--", "./program", "small.input"];
    folder.bohr(&words).expect(1);
    let words = ["reduce", "program.bohr", "-o", "small.bohr"];
    let shrinking = [&words[..], &["--shrink-input", "small.input"]].concat();
    let mut killed = 0;
    for number in [1, 2, 3, 4] {
        let _ = std::fs::remove_file(folder.path("small.bohr"));
        killed += u32::from(killed_at_result(&folder, &shrinking, number));
        let replay = ["replay", "small.bohr", "--fresh", "--times", "3"];
        folder.bohr(&replay).expect(0);
    }
    assert!(killed > 0, "it never wrote a result in between");
    // What was come to is gone on with.
    let report = reduce(&folder, &["-o", "small.bohr", "--resume"]);
    assert_eq!(report["verified"], json!(true));
    let report = reduce(&folder, &shrinking[2..]);
    assert_eq!(report["input_bytes_after"], json!(2));
    folder.bohr(&["replay", "small.bohr"]).expect(0);
    let left = std::fs::read(&input).expect("the user's file");
    assert_eq!(left, chat.as_bytes());
    assert!(!folder.path("small.other").exists(), "nobody needs it");
}

fn chores() -> Folder {
    let folder = Folder::empty();
    folder.build("chores", &[]);
    folder.bohr(&["hunt", "--", "./program"]).expect(1);
    folder
}

/// How many events of the failing run a function has.
fn events_of(folder: &Folder, words: &[&str], function: &str) -> usize {
    let words = [&["trace", "program.bohr", "--json"], words].concat();
    let trace = folder.bohr(&words).expect(0).json();
    let events = trace["events"].as_array().expect("a list").iter();
    events.filter(|event| event["function"] == function).count()
}

#[test]
fn calls_that_nothing_depends_on_are_not_made() {
    let folder = chores();
    assert!(events_of(&folder, &[], "tidy") > 0);
    assert_eq!(events_of(&folder, &["--relevant"], "tidy"), 0);
    let report = reduce(&folder, &[]);
    assert_eq!(report["verified"], json!(true));
    assert_eq!(events_of(&folder, &[], "tidy"), 0);
    assert!(events_of(&folder, &[], "post") > 0);
}

#[test]
fn lines_that_the_user_names_go_together() {
    let folder = Folder::empty();
    folder.build("chores", &[]);
    // A failure late in the run, as long slices show it.
    let hunt = ["hunt", "--strategy", "slices:30", "--", "./program"];
    folder.bohr(&hunt).expect(1);
    let found = events_of(&folder, &[], "post");
    let source = include_str!("controlled/programs/chores.c");
    let line = |mark: &str| {
        let at = source.lines().position(|line| line.contains(mark));
        1 + at.expect("a marked line")
    };
    let (first, last) = (line("the chores begin"), line("the chores end"));
    let lines = format!("chores.c:{first}-{last}");
    let report = reduce(&folder, &["--rcb", &lines]);
    assert_eq!(report["verified"], json!(true));
    // One entry of one clerk in the middle of one of the other: a read, a write
    // and a read each, at most.
    let left = events_of(&folder, &[], "post");
    assert!(left <= 6 && left < found, "{left} of {found}");
    let words = ["reduce", "program.bohr", "--rcb", "chores.c:1-3"];
    let refused = folder.bohr(&words).expect(2).messages();
    assert!(refused.contains("nothing in chores.c:1-3"), "{refused}");
    let words = ["reduce", "program.bohr", "--rcb", "chores.c"];
    folder.bohr(&words).expect(2);
}

#[test]
fn passes_around_what_has_gone_go_too() {
    let folder = Folder::empty();
    let include = concat!(env!("CARGO_MANIFEST_DIR"), "/../../include");
    folder.build("requests", &["-I", include]);
    let hunt = ["hunt", "--strategy", "random", "--", "./program"];
    folder.bohr(&hunt).expect(1);
    let report = reduce(&folder, &["--time", "10m"]);
    let number = |name: &str| report[name].as_u64().expect("a number");
    assert_eq!(number("threads_after"), 3, "{report}");
    // Two requests, each a pass of the loop and one of the block in it; two threads
    // that are created and joined.
    assert!(number("iterations_after") <= 8, "{report}");
    assert_eq!(report["minimal"], json!(true));
    let replay = ["replay", "program.bohr", "--times", "20"];
    folder.bohr(&replay).expect(0);
    // Fewer switches are not looked for again where nothing has gone since.
    let mut as_calm_as_can_be = false;
    let mut repeated = 0;
    for stage in report["stages"].as_array().expect("a list") {
        let progress = stage["progress"] == json!(true);
        if stage["name"] == "switches" {
            repeated += u64::from(as_calm_as_can_be);
            assert!(!as_calm_as_can_be || stage["rounds"] == json!(0), "{stage}");
            as_calm_as_can_be = !progress;
        }
        as_calm_as_can_be &= !progress && stage["events_removed"] == json!(0);
    }
    assert!(repeated > 0, "{report}");
}

#[test]
fn a_long_run_comes_down_to_its_beginnings() {
    let folder = Folder::empty();
    folder.build("clerks", &[]);
    let hunt = ["hunt", "--strategy", "slices:20000", "--", "./program"];
    folder.bohr(&hunt).expect(1);
    let report = reduce(&folder, &["--time", "10m"]);
    let number = |name: &str| report[name].as_u64().expect("a number");
    assert!(number("events_before") > 20_000, "it is long");
    // At once: this is the first stage, and LEAN's come after it.
    let first = &report["stages"][0];
    assert_eq!(
        (&first["name"], &first["progress"]),
        (&json!("threads"), &json!(true))
    );
    assert_eq!(number("threads_after"), 3);
    assert!(number("events_after") < 30, "{}", report["events_after"]);
    assert!(
        number("iterations_after") <= 6,
        "{}",
        report["iterations_after"]
    );
    assert_eq!(report["sequential"], json!(false));
    assert_eq!(report["minimal"], json!(true));
    let words = [
        "replay",
        "program.bohr",
        "--fresh",
        "--times",
        "20",
        "--json",
    ];
    let replays = folder.bohr(&words).expect(0).json();
    assert_eq!(replays["reproduced"], json!(20));
}

const CLERKS: &str = r#"use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::thread;

static BALANCE: AtomicU64 = AtomicU64::new(0);
static DEPOSITS: AtomicU64 = AtomicU64::new(0);
static VISITORS: AtomicU64 = AtomicU64::new(0);

fn deposit() {
    let seen = BALANCE.load(SeqCst);
    DEPOSITS.fetch_add(1, SeqCst);
    BALANCE.store(seen + 1, SeqCst);
}

fn main() {
    let rounds: u64 = std::env::args().nth(1).map_or(0, |word| word.parse().unwrap());
    let clerks = (0..5).map(|_| thread::spawn(move || for _ in 0..rounds { deposit() }));
    let visitors = (0..3).map(|_| thread::spawn(|| { VISITORS.fetch_add(1, SeqCst); }));
    let threads: Vec<_> = clerks.chain(visitors).collect();
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(BALANCE.load(SeqCst), DEPOSITS.load(SeqCst));
}
"#;

#[test]
fn threads_and_iterations_of_rust_go() {
    let folder = Folder::empty();
    folder.build_rust("clerks", CLERKS);
    let words = ["hunt", "--strategy", "random", "-o", "program.bohr", "--"];
    let words = [&words[..], &["target/release/clerks", "9"]].concat();
    folder.bohr(&words).expect(1);
    let report = reduce(&folder, &["--time", "10m"]);
    assert_eq!(report["threads_before"], json!(9));
    assert_eq!(report["threads_after"], json!(3), "main and two clerks");
    assert_eq!(report["sequential"], json!(false));
    assert_eq!(report["verified"], json!(true));
    let number = |name: &str| report[name].as_u64().expect("a number");
    assert!(number("iterations_before") >= 18, "{report}");
    assert!(number("iterations_after") <= 8, "{report}");
}

#[test]
fn whoever_is_not_in_the_circle_of_a_deadlock_goes() {
    let folder = Folder::empty();
    folder.build("bystanders", &[]);
    let words = ["hunt", "--strategy", "random", "--", "./program"];
    folder.bohr(&words).expect(1);
    let report = reduce(&folder, &["--time", "10m"]);
    assert_eq!(report["threads_after"], json!(3), "{report}");
    assert_eq!(report["threads_serial"], json!(0), "{report}");
    let evaluated = report["evaluated"].to_string();
    for marker in ["left-wanted", "right-wanted"] {
        let line = controlled::marker("bystanders", marker);
        assert!(evaluated.contains(&line), "{evaluated}");
    }
    let other = controlled::marker("bystanders", "door-wanted");
    assert!(!evaluated.contains(&other), "{evaluated}");
}

#[test]
fn a_bug_that_comes_and_goes_is_refused() {
    let folder = Folder::empty();
    folder.build("whim", &["-O0"]);
    let whim = folder.path("whim");
    std::fs::write(&whim, "y").expect("a file");
    let hunt = ["hunt", "--strategy", "random", "--", "./program"];
    let hunt = [&hunt[..], &[whim.to_str().expect("a plain path")]].concat();
    folder.bohr(&hunt).expect(1);
    let before = std::fs::read(folder.path("program.bohr")).expect("a bug");
    // Whether the first replay shows it or not.
    for whim in ["y", "n"] {
        std::fs::write(folder.path("whim"), whim).expect("a file");
        let words = ["reduce", "program.bohr", "-o", "small.bohr"];
        let refused = folder.bohr(&words).expect(2).messages();
        assert!(refused.contains("the bug is flaky"), "{refused}");
        assert!(refused.contains("bohr check"), "{refused}");
        assert!(!folder.path("small.bohr").exists());
    }
    let after = std::fs::read(folder.path("program.bohr")).expect("a bug");
    assert_eq!(before, after);
}
