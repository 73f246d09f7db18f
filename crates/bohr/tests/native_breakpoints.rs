//! Breakpoints without touching the source: real threads meet where the command
//! line says, controlled ones too, and what cannot be is refused with what could.

use crate::controlled;

use controlled::{Ended, Folder, read_source};
use serde_json::Value;

/// Where the n-th line of a program that holds these words is.
fn line(name: &str, words: &str, nth: usize) -> String {
    let source = read_source(name);
    let mut lines = source.lines().enumerate();
    let found = lines
        .by_ref()
        .filter(|(_, line)| line.contains(words))
        .nth(nth);
    format!("{name}.c:{}", 1 + found.expect("a line of the program").0)
}

fn run(folder: &Folder, how: &[&str], breakpoint: &str) -> Ended {
    let words = ["run", "--json", "--break", breakpoint];
    folder.bohr(&[&words[..], how, &["--", "./program"]].concat())
}

fn hits(told: &Value) -> u64 {
    told["breakpoints"][0]["hits"]
        .as_u64()
        .expect("a number of hits")
}

/// Both have read; whoever writes second loses the other's update.
fn lost_update() -> String {
    let second = line("lost_update", "pthread_mutex_lock(&lock)", 1);
    format!("{second} -> {second} if same-object")
}

#[test]
fn an_update_is_lost_in_every_native_run() {
    let folder = Folder::empty();
    folder.build("lost_update", &[]);
    for _ in 0..20 {
        let told = run(&folder, &["--native"], &lost_update()).expect(1).json();
        assert_eq!(hits(&told), 1, "{told}");
        assert_eq!(told["exit_code"], Value::Null, "{told}");
    }
}

#[test]
fn the_scheduler_honours_the_same_breakpoint() {
    let folder = Folder::empty();
    folder.build("lost_update", &[]);
    for seed in 0..20 {
        let seed = seed.to_string();
        let told = run(&folder, &["--seed", &seed], &lost_update())
            .expect(1)
            .json();
        assert_eq!(
            (hits(&told), &told["kind"]),
            (1, &"assertion".into()),
            "{told}"
        );
    }
}

#[test]
fn a_repaired_program_passes_and_nobody_waits_for_good() {
    let folder = Folder::empty();
    folder.build("lost_update", &["-DFIXED"]);
    let unlock = line("lost_update", "pthread_mutex_unlock(&lock)", 1);
    let after_all = line("lost_update", "assert(balance", 0);
    // Nobody comes, and nobody waits for somebody who cannot.
    let never = format!("{unlock} -> {after_all} pause 600s");
    let told = run(&folder, &["--native"], &never).expect(0).json();
    assert_eq!(hits(&told), 0, "{told}");
    let ended = |name: &str| told["breakpoints"][0][name].as_u64();
    assert_eq!(ended("postponed"), ended("timed_out"), "{told}");
}

#[test]
fn a_deadlock_is_told_from_a_notification_that_does_not_come() {
    let folder = Folder::empty();
    folder.build("crossed_locks", &[]);
    let second = |nth| line("crossed_locks", "pthread_mutex_lock", nth);
    let crossed = format!("{} -> {}", second(1), second(3));
    let told = run(&folder, &["--native"], &crossed).expect(1);
    let ending = told.json()["ending"].to_string();
    assert!(ending.contains("2 threads wait for each other"), "{ending}");
    folder.build("missed_signal", &[]);
    let early = format!(
        "{} -> {}",
        line("missed_signal", "pthread_cond_signal", 0),
        line("missed_signal", "pthread_cond_wait", 0)
    );
    let told = run(&folder, &["--native"], &early).expect(1);
    let ending = told.json()["ending"].to_string();
    assert!(ending.contains("nobody is left to wake them"), "{ending}");
}

/// Who of them comes first is the machine's business, and what they leave is not.
#[test]
fn threads_that_run_the_same_code_go_on_as_they_are_asked() {
    let folder = Folder::empty();
    folder.build("alike", &[]);
    let place = line("alike", "last =", 0);
    for order in [[1, 2, 3], [2, 3, 1], [3, 1, 2]] {
        let sides = order.map(|number| format!("{place} (thread {number} of 3)"));
        for round in 0..10 {
            let seed = round.to_string();
            for how in [&["--native"][..], &["--seed", &seed]] {
                let told = run(&folder, how, &sides.join(" -> ")).expect(1).json();
                let ended = (hits(&told), &told["exit_code"]);
                assert_eq!(ended, (1, &order[2].into()), "{told}");
            }
        }
    }
    let same = format!("{place} (thread 1 of 3) -> {place} (thread 1 of 3)");
    let refused = run(&folder, &["--native"], &same).expect(2).messages();
    assert!(refused.contains("does not meet itself"), "{refused}");
}

/// What passes is counted without being looked at, and told all the same.
#[test]
fn visits_that_pass_are_told() {
    let folder = Folder::empty();
    folder.build("alike", &[]);
    let place = line("alike", "last =", 0);
    let join = line("alike", "pthread_join", 0);
    let ignored = format!("{place} (ignore-first 2) -> {join} (ignore-first 100)");
    let told = run(&folder, &["--native"], &ignored).json();
    let counted = &told["breakpoints"][0];
    assert_eq!(
        counted["visits_by_side"],
        serde_json::json!([3, 3]),
        "{told}"
    );
    assert_eq!(
        (&counted["visits"], &counted["postponed"]),
        (&6.into(), &1.into()),
        "{told}"
    );
}

/// The first runs into the lock that the second holds, and nothing can happen any more
/// until the second goes on: the moment that was asked for is over.
#[test]
fn a_long_moment_ends_where_nobody_can_make_use_of_it() {
    let folder = Folder::empty();
    folder.build("crossed_locks", &[]);
    let second = |nth| line("crossed_locks", "pthread_mutex_lock", nth);
    let crossed = format!("{} -> {} pause 60s settle 20s", second(1), second(3));
    let told = run(&folder, &["--native"], &crossed).expect(1).json();
    assert_eq!(hits(&told), 1, "{told}");
    assert!(told["seconds"].as_f64().unwrap() < 10.0, "{told}");
}

/// Who goes first comes to the later side right away; it is not held up there for a
/// partner that could only be the wrong one.
#[test]
fn who_has_gone_first_passes_the_later_side() {
    let folder = Folder::empty();
    folder.build("last_handle", &[]);
    let both = format!(
        "{} -> {}",
        line("last_handle", "marker: closed", 0),
        line("last_handle", "marker: looked", 0)
    );
    for how in [&["--native"][..], &[]] {
        let told = run(&folder, how, &both).expect(1).json();
        assert_eq!(hits(&told), 1, "{told}");
        assert_eq!(told["breakpoints"][0]["timed_out"], 0, "{told}");
    }
}

#[test]
fn a_place_that_nobody_comes_by_is_told() {
    let folder = Folder::empty();
    folder.build("audit", &[]);
    let never = line("audit", "marker: never", 0);
    let breakpoint = format!("{} -> {never}", line("audit", "balance = seen + 1", 0));
    for how in [&["--native"][..], &[]] {
        let told = run(&folder, how, &breakpoint).json();
        let visits = &told["breakpoints"][0]["visits_by_side"];
        assert_eq!(visits, &serde_json::json!([1, 0]));
    }
    let words = ["run", "--native", "--break", &breakpoint, "--", "./program"];
    let told = folder.bohr(&words).messages();
    assert!(
        told.contains(&format!("nobody came by `{never}`")),
        "{told}"
    );
}

#[test]
fn nobody_of_the_parent_is_met_in_a_child() {
    let folder = Folder::empty();
    folder.build("child_alone", &[]);
    let place = |marker| line("child_alone", marker, 0);
    let (parent, child) = (place("marker: parent"), place("marker: child"));
    let breakpoint = format!("{parent} -> {child} pause 60s");
    let told = run(&folder, &["--native"], &breakpoint).expect(0).json();
    let told = &told["breakpoints"][0];
    assert_eq!(told["visits_by_side"], serde_json::json!([1, 1]), "{told}");
    assert_eq!(told["hits"], 0, "{told}");
}

#[test]
fn refinements_hold_threads_up_only_where_they_hold() {
    let folder = Folder::empty();
    folder.build("lost_update", &[]);
    let second = line("lost_update", "pthread_mutex_lock(&lock)", 1);
    for (refinement, expected) in [
        ("within deposit", 1),
        ("within main", 0),
        ("balance == 0", 1),
        ("balance > 0", 0),
        ("ignore-first 9", 0),
        ("holding lock", 0),
    ] {
        let breakpoint = format!("{second} ({refinement}) -> {second} pause 30ms");
        let told = run(&folder, &["--native"], &breakpoint).json();
        assert_eq!(hits(&told), expected, "{refinement}: {told}");
    }
}

#[test]
fn what_cannot_be_is_refused_with_what_could() {
    let folder = Folder::empty();
    folder.build("lost_update", &[]);
    let under_lock = line("lost_update", "balance = seen + 1", 0);
    let also = line("lost_update", "int seen", 0);
    let taken = line("lost_update", "pthread_mutex_lock", 0);
    for (breakpoint, words) in [
        (
            "lost_update.c:1 -> lost_update.c:12",
            "nearest places: lost_update.c:1",
        ),
        ("lost.c:1 -> lost_update.c:12", "it has: "),
        ("depost#1 -> deposit#1", "similar names: deposit"),
        ("deposit#99 -> deposit#1", "the nearest is `deposit#"),
        (
            "deposit#1 -> lost_update.c:12#99",
            "the nearest is `lost_update.c:12",
        ),
        ("deposit#1", "has one side"),
        (
            "deposit#1 (holding lok) -> deposit#1",
            "similar names: lock",
        ),
        (&format!("{under_lock} -> {also}"), "both hold `lock` there"),
        (
            &format!("{under_lock} -> {also}"),
            "break where the lock is taken",
        ),
        (
            &format!("{taken} -> {under_lock} if same-object"),
            "are never at the same object: `lock` and `balance`",
        ),
    ] {
        let refused = run(&folder, &["--native"], breakpoint).expect(2);
        assert!(
            refused.messages().contains(words),
            "{breakpoint}: {refused}"
        );
    }
    let context = "deposit#1 (within main) -> deposit#1";
    let refused = run(&folder, &[], context).expect(2).messages();
    assert!(refused.contains("--native"), "{refused}");
}

#[test]
fn whoever_frees_an_object_is_at_all_of_it() {
    let folder = Folder::empty();
    folder.build("closed_session", &[]);
    let at = |mark: &str| line("closed_session", mark, 0);
    let freed = format!(
        "{} -> {} if same-object pause 20s",
        at("// closed"),
        at("// used")
    );
    let told = run(&folder, &["--native"], &freed).json();
    assert_eq!(hits(&told), 1, "{told}");
    let told = run(&folder, &[], &freed).expect(1).json();
    assert_eq!(hits(&told), 1, "{told}");
    assert_eq!(told["kind"], "use-after-free", "{told}");
}

#[test]
fn an_object_that_is_freed_while_somebody_waits_there_is_told() {
    let folder = Folder::empty();
    folder.build("closed_session", &[]);
    let at = |mark: &str| line("closed_session", mark, 0);
    let (used, closed) = (at("// used"), at("// closed"));
    let never = format!("{used} -> {} if same-object pause 1s", at("// opened"));
    for how in [&["--native"][..], &[]] {
        let ended = run(&folder, how, &never);
        let held = format!("what a thread was held up for at {used} was freed at ");
        let meet = format!("{closed} -> {used} if same-object` has the two meet");
        let told = ended.messages();
        assert!(told.contains(&held) && told.contains(&meet), "{ended}");
        assert_eq!(ended.json()["breakpoints"][0]["freed"], 1, "{ended}");
    }
}

#[test]
fn a_line_is_all_its_copies_and_a_call_is_one_of_them() {
    let folder = Folder::empty();
    folder.build("put_inline", &[]);
    // Each of two threads comes by both copies, or by the one of the call.
    let visits = |words: &str| {
        let place = line("put_inline", words, 0);
        // Nobody else ever comes, so everybody passes.
        let breakpoint = format!("{place} (ignore-first 99) -> {place} (ignore-first 99)");
        let told = run(&folder, &["--native"], &breakpoint).json();
        told["breakpoints"][0]["visits"].as_u64().unwrap()
    };
    // `main` looks once at the end.
    assert_eq!(visits("// looks"), 5);
    assert_eq!(visits("// before"), 2);
    assert_eq!(visits("// after"), 2);
}
