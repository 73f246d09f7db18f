//! `bohr core` on a core of a process that gdb has stopped.

use crate::controlled;

use controlled::Folder;
use std::process::Command;

fn stopped_at(folder: &Folder, place: &str) {
    let words = ["-batch", "-ex", "set breakpoint pending on", "-ex"];
    let status = Command::new("gdb")
        .args(words)
        .arg(format!("break {place}"))
        .args(["-ex", "run", "-ex", "generate-core-file taken.core"])
        .args(["-ex", "kill", "./program"])
        .current_dir(folder.path("."))
        .output();
    let output = status.expect("gdb is installed");
    assert!(folder.path("taken.core").exists(), "{output:?}");
}

#[test]
fn who_was_where() {
    let folder = Folder::with("lost_update", &[]);
    stopped_at(&folder, "main");
    let text = folder.bohr(&["core", "taken.core"]).expect(0).text();
    assert!(text.contains("#0 main at "), "{text}");
    assert!(text.contains("lost_update.c:"), "{text}");
    let words = ["core", "taken.core", "--program", "program", "--json"];
    let told = folder.bohr(&words).expect(0).json();
    assert_eq!(told["threads"][0]["frames"][0]["function"], "main");
    assert_eq!(told["threads"][0]["failed"], true);
    assert_eq!(told["missing_bytes"], 0);
}

/// Lets the program crash, with real threads, in the way that a nap makes certain.
/// Where the kernel leaves no core in the folder gdb does.
pub fn crash(folder: &Folder, arguments: &str) {
    let script = format!("ulimit -c unlimited; NAP=1 ./program {arguments}; mv core* left.core");
    let kernel = |script: &str| {
        let status = Command::new("sh")
            .args(["-c", script])
            .current_dir(folder.path("."))
            .output();
        status.expect("a shell")
    };
    kernel(&script);
    if !folder.path("left.core").exists() {
        let run = format!(
            "NAP=1 gdb -batch -ex 'run {arguments}' -ex 'generate-core-file left.core' ./program"
        );
        kernel(&run);
    }
    assert!(folder.path("left.core").exists());
}

#[test]
fn the_failure_that_left_a_core_is_hunted() {
    let folder = Folder::empty();
    folder.build("two_bugs", &[]);
    crash(&folder, "");
    let words = [
        "hunt",
        "--json",
        "--like",
        "left.core",
        "-o",
        "bug",
        "--",
        "./program",
    ];
    let told = folder.bohr(&words).expect(1).json();
    assert_eq!(told["kind"], "crash-signal-11");
    assert!(told["other_failures"].as_u64() > Some(0), "{told}");
    folder.bohr(&["replay", "bug", "--times", "20"]).expect(0);
    // Without the core the more frequent one is found.
    let words = ["hunt", "--json", "-o", "other", "--", "./program"];
    assert_eq!(folder.bohr(&words).expect(1).json()["kind"], "assertion");
}

#[test]
fn the_deadlock_that_left_a_core_is_hunted() {
    let folder = Folder::empty();
    folder.build("two_bugs", &[]);
    crash(&folder, "hang");
    let text = folder.bohr(&["core", "left.core"]).expect(0).text();
    assert!(text.contains("\ndeadlock: thread "), "{text}");
    let words = [
        "hunt",
        "--json",
        "--like",
        "left.core",
        "-o",
        "bug",
        "--",
        "./program",
        "hang",
    ];
    let ended = folder.bohr(&words).expect(1);
    assert_eq!(ended.json()["kind"], "deadlock");
    assert!(
        ended
            .messages()
            .contains("looks for a deadlock in take at ")
    );
}

/// By the paths that lead to them, wherever they lie.
#[test]
fn what_differs_from_a_good_run() {
    let folder = Folder::with("shelves", &["-O0"]);
    crash(&folder, "");
    std::fs::rename(folder.path("left.core"), folder.path("good.core")).expect("a core");
    crash(&folder, "other");
    let words = ["core", "left.core", "--against", "good.core", "--json"];
    let told = folder.bohr(&words).expect(0).json();
    let differences = told["differences"].as_array().expect("a list");
    let mut paths: Vec<&str> = differences
        .iter()
        .filter_map(|one| one["path"].as_str())
        .collect();
    paths.sort_unstable();
    let expected = [
        "finish::rest",
        "given_back.newest - begin",
        "main::book->lent",
        "main::book->title",
        "main::count",
        "shelves[1].books->next->next->year",
        "shelves[1].counts[2]",
        "shelves[1].height",
        "shelves[3].books",
        "visits",
    ];
    assert_eq!(paths, expected, "{told}");
    assert_eq!(told["cut_short"], false);
    let words = ["core", "left.core", "--against", "left.core"];
    let text = folder.bohr(&words).expect(0).text();
    assert!(text.contains(" values compared, 0 differ"), "{text}");
}

/// One of the two cores has a variable of that name that the other one has not. What is
/// inside a lock is nobody's variable.
#[test]
fn variables_of_inlined_functions_are_not_taken_for_others() {
    let folder = Folder::with("orders", &["-O0"]);
    crash(&folder, "");
    std::fs::rename(folder.path("left.core"), folder.path("good.core")).expect("a core");
    crash(&folder, "fails");
    let words = ["core", "left.core", "--against", "good.core", "--json"];
    let told = folder.bohr(&words).expect(0).json();
    let differences = told["differences"].as_array().expect("a list").iter();
    let paths = differences.filter_map(|one| one["path"].as_str());
    let mut paths: Vec<&str> = paths.collect();
    paths.sort_unstable();
    let expected = [
        "handle::fails",
        "handle::item->number",
        "main::count",
        "main::line.amount",
        "main::order.line->amount",
        "main::order.number",
    ];
    assert_eq!(paths, expected, "{told}");
}

#[test]
fn what_is_no_core() {
    let folder = Folder::with("lost_update", &[]);
    let messages = folder.bohr(&["core", "program"]).expect(2).messages();
    assert!(messages.contains("not a core file"), "{messages}");
    assert!(messages.contains("--program"), "{messages}");
    let messages = folder.bohr(&["core", "nothing"]).expect(2).messages();
    assert!(messages.contains("nothing cannot be read"), "{messages}");
}

/// What a program built for production left becomes a bug file: the failure's index to
/// the iteration, the variable that differs, and a schedule at one of the first tries.
#[test]
fn a_core_becomes_a_schedule_that_fails_like_it() {
    let folder = Folder::empty();
    folder.build("reset_flag", &["--production", "-O2"]);
    crash(&folder, "");
    let reproduce = |more: &[&str]| {
        let words = ["core", "left.core", "--program", "./program", "--json"];
        let words = [&words[..], &["-o", "bug"], more].concat();
        folder.bohr(&words).expect(1).json()
    };
    let told = reproduce(&[]);
    assert_eq!(told["thread"], "0:1");
    assert_eq!(told["alignment"], "closest");
    let index = told["index"].as_array().expect("a list").iter();
    let index: Vec<&str> = index.filter_map(|line| line.as_str()).collect();
    let third = index.iter().any(|line| line.starts_with("iteration 3 of "));
    assert!(third, "{index:?}");
    let called = |line: &&str| line.starts_with("use, called at ");
    assert!(index.iter().any(called), "{index:?}");
    let critical = told["critical"].as_array().expect("a list").iter();
    let critical: Vec<&str> = critical.filter_map(|one| one["path"].as_str()).collect();
    assert_eq!(critical, ["is_null"]);
    let guided = told["tries"].as_u64().expect("a number");
    assert!(guided <= 3, "{told}");
    folder.bohr(&["replay", "bug", "--times", "20"]).expect(0);
    let plain = reproduce(&["--guide", "none"])["tries"].as_u64();
    assert!(plain > Some(2 * guided), "{plain:?} against {guided}");
    let sliced = reproduce(&["--guide", "dependence"]);
    assert!(sliced["tries"].as_u64() <= Some(3), "{sliced}");
    assert!(sliced["sliced"].as_u64() > Some(0), "{sliced}");
}

/// A core without values serves as well.
#[test]
fn a_core_for_others_to_look_at() {
    let folder = Folder::empty();
    folder.build("reset_flag", &["--production", "-O2"]);
    crash(&folder, "secret-argument");
    let hidden = ["core", "anonymise", "left.core", "-o", "hidden.core"];
    folder.bohr(&hidden).expect(0);
    let has = |core: &str| {
        let bytes = std::fs::read(folder.path(core)).expect("a core");
        bytes.windows(15).any(|part| part == b"secret-argument")
    };
    assert!(has("left.core"));
    assert!(!has("hidden.core"));
    let words = ["core", "hidden.core", "--program", "./program", "--json"];
    let told = folder
        .bohr(&[&words[..], &["-o", "bug"]].concat())
        .expect(1)
        .json();
    assert_eq!(told["thread"], "0:1");
    assert_eq!(told["critical"][0]["path"], "is_null");
    assert!(told["tries"].as_u64() <= Some(3), "{told}");
    // What it is compared with is made anonymous, too, as far as it can be.
    let against = |other: &str, code: i32| {
        let words = ["core", "hidden.core", "--against", other];
        folder.bohr(&words).expect(code)
    };
    assert!(against("left.core", 0).text().contains(", 0 differ"));
    let other = ["core", "anonymise", "left.core", "-o", "other.core"];
    folder.bohr(&other).expect(0);
    let messages = against("other.core", 2).messages();
    assert!(messages.contains("--like OTHER"), "{messages}");
    let alike = [&other[..], &["--like", "hidden.core"]].concat();
    folder.bohr(&alike).expect(0);
    assert!(against("other.core", 0).text().contains(", 0 differ"));
}

/// Lets the program run until each of its threads waits for another one. By signal, the
/// kernel leaves the core; where it does not, gdb takes one.
fn hang(folder: &Folder, arguments: &str) {
    let shell = |script: &str| {
        let mut shell = Command::new("sh");
        shell.args(["-c", script]).current_dir(folder.path("."));
        shell
    };
    let run = |end: &dyn Fn(u32) -> String| {
        let script = format!("ulimit -c unlimited; NAP=1 exec ./program {arguments}");
        let mut process = shell(&script).spawn().expect("a shell");
        while !stands_still(process.id()) {}
        let _ = shell(&end(process.id())).output();
        // The core is whole when the process has ended.
        process.wait().expect("it ends");
    };
    run(&|process| format!("kill -QUIT {process}"));
    let _ = shell("mv core* left.core").output();
    if !folder.path("left.core").exists() {
        run(&|process| format!("gcore -o left {process}; mv left.* left.core; kill -9 {process}"));
    }
    assert!(folder.path("left.core").exists());
}

/// Whether all threads wait for a word in memory, and go on doing so.
fn stands_still(process: u32) -> bool {
    const FUTEX: &str = "202 ";
    (0..5).all(|_| {
        std::thread::sleep(std::time::Duration::from_millis(20));
        let tasks = std::fs::read_dir(format!("/proc/{process}/task"));
        let mut tasks = tasks.into_iter().flatten().flatten();
        let call = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("syscall"));
        tasks.all(|task| call(task).is_ok_and(|call| call.starts_with(FUTEX)))
    })
}

/// Threads that stand still without a circle of mutexes: a signal that nobody heard, and
/// a lock with readers, who leave no name in it.
#[test]
fn a_core_of_a_standstill_becomes_a_schedule() {
    let folder = Folder::empty();
    folder.build("standing_still", &["--production", "-O2"]);
    let reproduced = |mode: &str, place: &str| {
        hang(&folder, mode);
        let text = folder.bohr(&["core", "left.core"]).expect(0).text();
        assert!(text.contains("nobody can go on: every thread"), "{text}");
        assert!(text.contains("waits for the end of thread "), "{text}");
        let words = ["core", "left.core", "--program", "./program", "--json"];
        let told = [&words[..], &["-o", "bug", "--"], &[mode][..]].concat();
        let told = folder.bohr(&told).expect(1).json();
        let failure = told["failure"].as_str().expect("a text");
        assert!(
            failure.starts_with(&format!("a deadlock in {place} at ")),
            "{told}"
        );
        assert!(told["tries"].as_u64() <= Some(10), "{told}");
        folder.bohr(&["replay", "bug", "--times", "20"]).expect(0);
        std::fs::remove_file(folder.path("left.core")).expect("it is there");
    };
    reproduced("signal", "consume");
    reproduced("readers", "enter");
}

/// A hang is about the locks that the thread holds and waits for.
#[test]
fn a_core_of_a_deadlock_becomes_a_schedule() {
    let folder = Folder::empty();
    folder.build("two_bugs", &["--production", "-O2"]);
    crash(&folder, "hang");
    let words = [
        "core",
        "left.core",
        "--program",
        "./program",
        "--json",
        "-o",
        "bug",
        "--",
        "hang",
    ];
    let told = folder.bohr(&words).expect(1).json();
    let critical = told["critical"].as_array().expect("a list").iter();
    let waited = critical.filter(|one| one["failing"] == "waited for");
    assert_eq!(waited.count(), 1, "{told}");
    assert!(told["tries"].as_u64() <= Some(5), "{told}");
    folder.bohr(&["replay", "bug", "--times", "20"]).expect(0);
}

/// Whoever comes too late has to be kept back until main has freed the queue, for which
/// all the others have to do their work; and main never waits for it afterwards.
#[test]
fn a_core_of_a_use_after_the_end_becomes_a_schedule() {
    let folder = Folder::empty();
    folder.build("torn_down", &["--production", "-O2"]);
    crash(&folder, "");
    let words = ["core", "left.core", "--program", "./program", "--json"];
    let told = folder.bohr(&[&words[..], &["-o", "bug"]].concat());
    let told = told.expect(1).json();
    assert!(told["tries"].as_u64() <= Some(10), "{told}");
    assert_eq!(told["alignment"], "exact");
    folder.bohr(&["replay", "bug", "--times", "20"]).expect(0);
}

/// By counted blocks the good run is compared one iteration too late, where the flag is
/// as it was in the core: what an index is for.
#[test]
fn counting_blocks_misses_what_the_index_tells() {
    let folder = Folder::empty();
    folder.build("reset_flag", &["--production=count", "-O2"]);
    crash(&folder, "");
    let words = ["core", "left.core", "--program", "./program", "--json"];
    let words = [&words[..], &["-o", "bug"]].concat();
    let counted = [&words[..], &["--align", "count"]].concat();
    let told = folder.bohr(&counted).expect(0).json();
    assert!(told["blocks"].as_u64() > Some(10), "{told}");
    assert_eq!(told["alignment"], "exact");
    let critical = told["critical"].as_array().expect("a list").iter();
    assert_eq!(
        critical.filter(|one| one["path"] == "is_null").count(),
        0,
        "{told}"
    );
    let paged = [&counted[..], &["--html", "page.html"]].concat();
    folder.bohr(&paged).expect(0);
    let page = std::fs::read_to_string(folder.path("page.html")).expect("a page");
    assert!(page.contains("not reproduced in"), "{page}");
    assert!(page.contains("iteration 3 of the loop at"), "{page}");
    let told = folder.bohr(&words).expect(1).json();
    assert_eq!(told["critical"][0]["path"], "is_null");
    // Somebody has to have counted.
    folder.build("reset_flag", &["--production", "-O2"]);
    crash(&folder, "");
    let messages = folder.bohr(&counted).expect(2).messages();
    assert!(messages.contains("--production=count"), "{messages}");
}

/// A core of a build without marks is refused, with what can be done.
#[test]
fn a_core_of_an_ordinary_build_cannot_be_aligned() {
    let folder = Folder::empty();
    folder.build("reset_flag", &["-O2"]);
    crash(&folder, "");
    let words = ["core", "left.core", "--program", "./program", "-o", "bug"];
    let messages = folder.bohr(&words).expect(2).messages();
    assert!(
        messages.contains("was not built for production"),
        "{messages}"
    );
    assert!(messages.contains("bohr hunt --like"), "{messages}");
}

/// What an optimiser makes of a loop whose variable nobody needs.
#[test]
fn the_iteration_of_a_loop_that_calls_is_told() {
    let folder = Folder::empty();
    folder.build("counted_down", &["--production", "-O2"]);
    crash(&folder, "");
    let words = ["core", "left.core", "--program", "program", "--json"];
    let told = folder.bohr(&[&words[..], &["-o", "bug"]].concat());
    let told = told.expect(1).json();
    let index = told["index"].as_array().expect("a list").iter();
    let index: Vec<&str> = index.filter_map(|entry| entry.as_str()).collect();
    let seventh = |entry: &&str| entry.starts_with("iteration 7 of the loop");
    assert!(index.iter().any(seventh), "{index:?}");
}

/// A run that goes wrong without a crash: the core is taken where a condition holds.
#[test]
fn a_core_is_taken_where_the_result_is_wrong() {
    let folder = Folder::empty();
    folder.build("wrong_total", &["--production", "-O2"]);
    let at = |place: &str, more: &[&str]| {
        let words = ["core", "--at", place, "--program", "program", "--json"];
        let words = [&words[..], &["-o", "bug"], more, &["--", "30000"]].concat();
        folder.bohr(&words)
    };
    let told = at("wrong_total.c:34 if total != expected", &[]);
    let told = told.expect(1).json();
    assert_eq!(told["alignment"], "closest", "{told}");
    assert_eq!(told["thread"], "0");
    let failure = told["failure"].as_str().expect("a text");
    assert!(failure.ends_with("wrong_total.c:34"), "{failure}");
    let critical = told["critical"].as_array().expect("a list").iter();
    let mut critical = critical.filter_map(|one| one["path"].as_str());
    assert!(critical.any(|path| path == "total"), "{told}");
    assert!(told["tries"].as_u64() <= Some(10), "{told}");
    assert_eq!(told["taken"]["core"], "bug.core");
    folder.bohr(&["replay", "bug", "--times", "20"]).expect(0);
    // The core is one like any other, of the program that is left beside it.
    let words = ["core", "bug.core", "--program", "./bug.program"];
    let text = folder.bohr(&words).expect(0).text();
    assert!(text.contains("#0 main at "), "{text}");
    assert!(text.contains("signal 4"), "{text}");

    // What never holds, and what cannot be asked.
    let never = at("wrong_total.c:34 if total > expected", &["--time", "1s"]);
    let messages = never.expect(2).messages();
    assert!(messages.contains("the check stopped none"), "{messages}");
    assert!(messages.contains("bohr hunt -- bug.program"), "{messages}");
    let messages = at("wrong_total.c:34 if totl != 2", &[])
        .expect(2)
        .messages();
    assert!(messages.contains("totl"), "{messages}");
    let messages = at("right_total.c:31", &[]).expect(2).messages();
    assert!(
        messages.contains("no source file right_total.c"),
        "{messages}"
    );
    assert!(messages.contains("/wrong_total.c"), "{messages}");
    let messages = at("wrong_total.c:3400", &[]).expect(2).messages();
    assert!(messages.contains("has no line 3400"), "{messages}");
    let messages = at("wrong_total.c", &[]).expect(2).messages();
    assert!(messages.contains("FILE:LINE if CONDITION"), "{messages}");
}
