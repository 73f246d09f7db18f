//! From the log of a native run that failed to a bug file that replays.

use crate::controlled;
use crate::cores::crash;

use controlled::Folder;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// Records until the program fails.
fn record(folder: &Folder, log: &str) {
    let until_failure = ["--until-failure", "--runs", "200", "--", "./program"];
    let words = [&["record", "--log", log][..], &until_failure].concat();
    folder.bohr(&words).expect(1);
}

/// Solves the log; what was solved replays.
fn solve(folder: &Folder) -> serde_json::Value {
    let solved = folder
        .bohr(&["solve", "--json", "program.log"])
        .expect(0)
        .json();
    assert_eq!(solved["solved"], true, "{solved}");
    assert_eq!(solved["bug_file"], "program.bohr", "{solved}");
    let replayed = folder.bohr(&["replay", "--json", "--times", "20", "program.bohr"]);
    let replayed = replayed.expect(0).json();
    assert_eq!(replayed["reproduced"], 20, "{replayed}");
    solved
}

#[test]
fn a_recorded_failure_becomes_a_bug_that_replays() {
    let folder = Folder::empty();
    folder.build("overdrawn", &[]);
    for log in ["path", "path+sync", "order"] {
        record(&folder, log);
        let solved = solve(&folder);
        assert_eq!(solved["kind"], "assertion", "{log}: {solved}");
    }
}

/// Records a run that a nap makes fail.
fn record_napping(folder: &Folder, arguments: &[&str]) {
    let words = [&["record", "--", "./program"], arguments].concat();
    let recorded = folder.command(&words).env("NAP", "1").output();
    let recorded = recorded.expect("bohr starts");
    assert_eq!(recorded.status.code(), Some(1), "{recorded:?}");
}

#[test]
fn a_core_says_which_failure_it_was() {
    let folder = Folder::empty();
    folder.build("two_bugs", &[]);
    crash(&folder, "");
    record_napping(&folder, &[]);
    let words = ["solve", "--json", "--core", "left.core", "program.log"];
    for way in ["execution", "order", "validate"] {
        let solved = folder.bohr(&[&words[..], &["--by", way]].concat());
        assert_eq!(solved.expect(0).json()["kind"], "crash-signal-11", "{way}");
    }
    // What the log takes for an abort is a hang to whoever looks at the threads.
    let crashed = folder.path("crashed.core");
    std::fs::rename(folder.path("left.core"), crashed).expect("a core");
    crash(&folder, "hang");
    record_napping(&folder, &["hang"]);
    let solved = folder.bohr(&words).expect(0).json();
    assert_eq!(solved["kind"], "deadlock", "{solved}");
    folder
        .bohr(&["replay", "program.bohr", "--times", "20"])
        .expect(0);
    // One of another run.
    let words = ["solve", "--by", "order", "--core", "crashed.core"];
    let refused = folder.bohr(&[&words[..], &["program.log"]].concat());
    let refused = refused.expect(2);
    let why = "no thread of the log ends where the core says that one failed: signal 11 in use";
    assert!(refused.messages().contains(why), "{refused}");
}

#[test]
fn time_and_chance_are_those_of_the_recorded_run() {
    let folder = Folder::empty();
    folder.build("clocked", &["-O2"]);
    for log in ["path", "path+sync", "order"] {
        record(&folder, log);
        let solved = solve(&folder);
        assert_eq!(solved["kind"], "assertion", "{log}: {solved}");
    }
}

/// Writes a number into a pipe that has a name, for everybody who opens it.
fn say(pipe: &std::path::Path, number: &str) -> (Arc<AtomicBool>, JoinHandle<()>) {
    let over = Arc::new(AtomicBool::new(false));
    let (path, text, is_over) = (pipe.to_path_buf(), number.to_owned(), Arc::clone(&over));
    let speaker = std::thread::spawn(move || {
        while !is_over.load(Ordering::Relaxed) {
            let mut pipe = std::fs::OpenOptions::new().write(true).open(&path);
            // Whoever listened may be gone.
            let _ = pipe.as_mut().map(|pipe| pipe.write_all(text.as_bytes()));
            drop(pipe);
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    });
    (over, speaker)
}

/// What was read is in the log: at solving time nobody writes to the pipe, and the
/// file is gone.
#[test]
fn what_was_read_need_not_be_there_any_more() {
    let folder = Folder::empty();
    folder.build("heard", &[]);
    let (pipe, table) = (folder.path("pipe"), folder.path("table"));
    for log in ["path", "path+sync", "order"] {
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, mode).expect("a pipe");
        let (over, speaker) = say(&pipe, "6");
        std::fs::write(&table, "3\n4\n5\n6\n7\n8\n9\n10\n").expect("a table");
        let until_failure = ["--json", "--until-failure", "--runs", "300", "--"];
        let words = [&["record", "--log", log], &until_failure[..]].concat();
        let words = [&words[..], &["./program", "pipe", "table"]].concat();
        let told = folder.bohr(&words).expect(1).json();
        over.store(true, Ordering::Relaxed);
        drop(std::fs::File::options().read(true).write(true).open(&pipe));
        speaker.join().expect("it ends");
        std::fs::remove_file(&pipe).expect("a pipe");
        std::fs::remove_file(&table).expect("a table");
        // The two opened, what they said, and their ends.
        let bytes = told["input_bytes"].as_u64().expect("a number");
        assert!((8 * 20..8 * 40).contains(&bytes), "{told}");
        assert_eq!(solve(&folder)["kind"], "assertion", "{log}");
        if log == "path" {
            for by in ["execution", "order", "validate"] {
                assert_eq!(solve_and_replay(&folder, by)["kind"], "assertion");
            }
            without_what_was_read(&folder);
        }
    }
}

/// A log that lacks what was read does not lead there.
fn without_what_was_read(folder: &Folder) {
    change(folder, |recording| {
        for log in &mut recording.threads {
            log.inputs.truncate(1);
        }
    });
    let words = ["solve", "-o", "changed.bohr", "changed.log"];
    let refused = folder.bohr(&words).expect(2);
    assert!(refused.messages().contains("no schedule"), "{refused}");
    let refused = folder.bohr(&["solve", "--by", "order", "changed.log"]);
    let refused = refused.expect(2);
    let place = "open, of which the log does not tell the result";
    assert!(refused.messages().contains(place), "{refused}");
    assert!(refused.messages().contains("heard.c"), "{refused}");
}

/// What comes by streams, clocks and chance is known to the constraints; what another
/// process said is not what it would say now.
#[test]
fn every_way_to_read_a_stream_is_recorded() {
    let folder = Folder::empty();
    folder.build("asked", &[]);
    let file = folder.path("file");
    let until_failure = ["record", "--until-failure", "--runs", "300", "--"];
    let program = ["./program", "file", "date +%N"];
    for words in [&program[..2], &program[..]] {
        std::fs::write(&file, "hello\nabcdef5\n").expect("a file");
        folder.bohr(&[&until_failure[..], words].concat()).expect(1);
        std::fs::remove_file(&file).expect("a file");
        assert_eq!(solve(&folder)["kind"], "assertion");
        if words.len() == 2 {
            solve_and_replay(&folder, "order");
            solve_and_replay(&folder, "validate");
        }
    }
    let refused = folder.bohr(&["solve", "--by", "order", "program.log"]);
    let refused = refused.expect(2);
    assert!(refused.messages().contains("popen"), "{refused}");
}

/// A server that is gone at solving time, and a file; what threads send each other is
/// not from outside.
#[test]
fn connections_of_a_recorded_run_are_made_again_in_appearance() {
    let folder = Folder::empty();
    folder.build("connected", &["-D_FORTIFY_SOURCE=2", "-O2"]);
    let server = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = server.local_addr().expect("an address").port().to_string();
    let over = Arc::new(AtomicBool::new(false));
    let is_over = Arc::clone(&over);
    let answering = std::thread::spawn(move || {
        for connection in server.incoming() {
            if is_over.load(Ordering::Relaxed) {
                return;
            }
            let mut connection = connection.expect("a connection");
            let mut question = [0];
            // Whoever asked may be gone.
            let _ = connection.read_exact(&mut question);
            let _ = connection.write_all(b"40");
        }
    });
    std::fs::write(folder.path("file"), "x".repeat(0b1010_0110)).expect("a file");
    let until_failure = ["record", "--until-failure", "--runs", "300", "--json"];
    let words = [&until_failure[..], &["--", "./program", &port, "file"]].concat();
    let told = folder.bohr(&words).expect(1).json();
    assert_eq!(told["end"], "signal 6 in thread 0", "{told}");
    over.store(true, Ordering::Relaxed);
    drop(TcpStream::connect(format!("127.0.0.1:{port}")));
    answering.join().expect("it ends");
    std::fs::remove_file(folder.path("file")).expect("a file");
    assert_eq!(solve(&folder)["kind"], "assertion");
}

/// What an event loop was told of the world outside is in the log, and what the program
/// itself has made ready has to be ready again.
#[test]
fn what_event_loops_were_told_is_recorded() {
    let folder = Folder::empty();
    folder.build("event_loop", &[]);
    let pipe = folder.path("pipe");
    for way in ["poll", "select", "epoll", "alone-poll", "alone-select"] {
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, mode).expect("a pipe");
        let (over, speaker) = say(&pipe, "12");
        let until_failure = ["record", "--until-failure", "--runs", "300", "--"];
        let words = [&until_failure[..], &["./program", way, "pipe"]].concat();
        folder.bohr(&words).expect(1);
        over.store(true, Ordering::Relaxed);
        drop(std::fs::File::options().read(true).write(true).open(&pipe));
        speaker.join().expect("it ends");
        std::fs::remove_file(&pipe).expect("a pipe");
        assert_eq!(solve(&folder)["kind"], "assertion", "{way}");
        match way.contains("alone") {
            true => {
                for by in ["order", "validate"] {
                    assert_eq!(solve_and_replay(&folder, by)["kind"], "assertion", "{way}");
                }
            }
            false => without_what_was_ready(&folder),
        }
    }
}

/// A log that lacks what the loop was told leads nowhere: nobody is at the other end.
fn without_what_was_ready(folder: &Folder) {
    use bohr_event::inputs::{Input, Question, answer_words, read};
    change(folder, |recording| {
        let words = &mut recording.threads[0].inputs;
        let inputs = read(words);
        words.clear();
        for input in inputs {
            let Input::Answer(answer) = input else {
                panic!("nothing but answers");
            };
            if answer.question != Question::Ready {
                let bytes = [&answer.bytes[..]];
                answer_words(answer.question, answer.result, &bytes, |word| {
                    words.push(word)
                });
            }
        }
    });
    let words = ["solve", "-o", "changed.bohr", "changed.log"];
    folder.bohr(&words).expect(2);
}

/// What a good run could have come to, on the ways that its threads went.
#[test]
fn another_failure_than_the_recorded_one_can_be_asked_for() {
    let folder = Folder::empty();
    folder.build("wrong_total", &[]);
    let words = ["record", "--slices", "1000", "--", "./program", "4"];
    let recorded = folder.bohr(&words).expect(0);
    assert!(recorded.messages().contains("exit code 0"), "{recorded}");
    let ask = |bug: &str, more: &[&str]| {
        let words = ["solve", "--json", "--bug", bug, "program.log"];
        folder.bohr(&[&words[..], more].concat())
    };
    let solved = ask("total != expected@wrong_total.c:34", &[]);
    let solved = solved.expect(0).json();
    assert_eq!(solved["kind"], "crash-signal-4", "{solved}");
    assert_eq!(solved["bug"], "wrong_total.c:34 if total != expected");
    assert_eq!(solved["program"], "program.bohr.program");
    let words = ["replay", "program.bohr", "--times", "20"];
    folder.bohr(&words).expect(0);

    // Entries are lost, but none is made up.
    let more = ["--time", "2s", "-o", "never.bohr"];
    let never = ask("total > expected@wrong_total.c:34", &more).expect(2);
    for part in ["along the recorded ways", "the check at wrong_total.c:34"] {
        assert!(never.messages().contains(part), "{never}");
    }
    // Neither can be asked.
    let messages = ask("totl != 2@wrong_total.c:34", &[]).expect(2).messages();
    assert!(
        messages.contains("cannot be built with a check"),
        "{messages}"
    );
    let by = ["--by", "order"];
    let messages = ask("total != expected@wrong_total.c:34", &by)
        .expect(2)
        .messages();
    assert!(messages.contains("is for `--by execution`"), "{messages}");
}

/// Who reads nothing writes nothing down.
#[test]
fn programs_that_read_nothing_have_no_more_to_write() {
    let folder = Folder::empty();
    folder.build("sums", &["-O1"]);
    let words = ["record", "--json", "--", "./program", "10"];
    let told = folder.bohr(&words).expect(0).json();
    // Where `main` begins.
    assert_eq!(told["input_bytes"], 8, "{told}");
}

#[test]
fn a_recorded_order_is_followed_to_the_same_end() {
    let folder = Folder::empty();
    folder.build("order_matters", &["-O2"]);
    for _ in 0..3 {
        record(&folder, "order");
        let solved = solve(&folder);
        let kind = solved["kind"].as_str().expect("a kind");
        assert!(kind.starts_with("exit-"), "{solved}");
    }
}

#[test]
fn what_cannot_be_solved_is_told() {
    let folder = Folder::empty();
    folder.build("ways", &[]);
    folder.bohr(&["record", "--", "./program"]).expect(0);
    let good = folder.bohr(&["solve", "program.log"]).expect(2);
    assert!(good.messages().contains("was good"), "{good}");
    folder.bohr(&["record", "--", "./program", "a"]).expect(1);
    // Another build of the program.
    folder.build("ways", &["-O2"]);
    let other = folder.bohr(&["solve", "program.log"]).expect(2);
    assert!(other.messages().contains("another build"), "{other}");
    std::fs::write(folder.path("half.log"), "bohr-log").expect("a file");
    let half = folder.bohr(&["solve", "half.log"]).expect(2);
    assert!(half.messages().contains("truncated"), "{half}");
}

/// Solves the recorded failure in one way, and replays what comes out.
fn solve_and_replay(folder: &Folder, by: &str) -> serde_json::Value {
    let words = [
        "solve",
        "--by",
        by,
        "--json",
        "-o",
        "by.bohr",
        "program.log",
    ];
    let solved = folder.bohr(&words).expect(0).json();
    assert_eq!(solved["by"], by, "{solved}");
    let replayed = folder.bohr(&["replay", "--json", "--times", "20", "by.bohr"]);
    let replayed = replayed.expect(0).json();
    assert_eq!(replayed["reproduced"], 20, "{by}: {replayed}");
    solved
}

#[test]
fn all_ways_of_solving_come_to_the_same_failure() {
    for program in ["overdrawn", "tally"] {
        let folder = Folder::empty();
        folder.build(program, &[]);
        record(&folder, "path");
        let ways = ["execution", "order", "validate"];
        let [first, order, tried] = ways.map(|by| solve_and_replay(&folder, by));
        for other in [&order, &tried] {
            assert_eq!(first["signature"], other["signature"], "{first} {other}");
        }
        // Both use the fewest preemptions there are.
        assert_eq!(order["bound"], tried["bound"], "{order} {tried}");
    }
}

/// A failing run under control: the same in every run of the test.
fn record_under_control(folder: &Folder) {
    let slices = [
        "record",
        "--slices",
        "5",
        "--until-failure",
        "--runs",
        "500",
    ];
    let words = [&slices[..], &["--", "./program"]].concat();
    folder.bohr(&words).expect(1);
}

#[test]
fn constraints_are_written_for_other_solvers() {
    let folder = Folder::empty();
    folder.build("tally", &[]);
    record_under_control(&folder);
    // The program ends with 0 or 1.
    change(&folder, |recording| recording.end = bohr_log::End::Exit(9));
    for (log, verdict) in [("program.log", "sat"), ("changed.log", "unsat")] {
        let told = folder.bohr(&["solve", "--emit", "smt2", "--json", "-o", "all.smt2", log]);
        let told = told.expect(0).json();
        assert_eq!(told["emitted"], "all.smt2", "{told}");
        let mut z3 = std::process::Command::new("z3");
        let z3 = z3.arg("-T:60").arg(folder.path("all.smt2")).output();
        let said = z3.expect("z3, which `cargo xtask test` installs").stdout;
        let said = String::from_utf8_lossy(&said).into_owned();
        assert_eq!(said.lines().next(), Some(verdict), "{log}: {said}");
    }
}

#[test]
fn machines_share_the_schedules_that_are_tried() {
    let folder = Folder::empty();
    folder.build("tally", &[]);
    record_under_control(&folder);
    let parts = ["1/3", "2/3", "3/3"];
    let finds = |shard: &&&str| {
        let words = ["solve", "--by", "validate", "--shard", shard];
        let words = [&words[..], &["-o", "part.bohr", "program.log"]].concat();
        folder.bohr(&words);
        std::fs::remove_file(folder.path("part.bohr")).is_ok()
    };
    assert!(parts.iter().filter(finds).count() > 0);
    let refused = folder.bohr(&["solve", "--shard", "4/3", "program.log"]);
    assert!(refused.expect(2).messages().contains("not a shard"));
}

/// The log of the failing run, changed.
fn change(folder: &Folder, change: impl FnOnce(&mut bohr_log::Recording)) {
    let bytes = std::fs::read(folder.path("program.log")).expect("a log");
    let mut recording = bohr_log::read(&bytes).expect("a good log");
    change(&mut recording);
    let changed = bohr_log::write(&recording);
    std::fs::write(folder.path("changed.log"), changed).expect("a file");
}

#[test]
fn a_log_of_what_cannot_have_been_is_refused() {
    let folder = Folder::empty();
    folder.build("tally", &[]);
    record(&folder, "path");
    // The program ends with 0 or 1.
    change(&folder, |recording| recording.end = bohr_log::End::Exit(9));
    let solve = ["solve", "--by", "order", "changed.log"];
    let other = folder.bohr(&solve).expect(2);
    assert!(other.messages().contains("contradict"), "{other}");
    assert!(other.messages().contains("bug"), "{other}");
    // Nobody waits for a thread that did nothing.
    change(&folder, |recording| drop(recording.threads.pop()));
    let fewer = folder.bohr(&solve).expect(2);
    assert!(fewer.messages().contains("was waited for"), "{fewer}");
}

/// No native run on x86 shows the second: the runs that are recorded are controlled.
#[test]
fn failures_that_take_store_buffers_are_recorded_and_solved() {
    for model in ["tso", "pso"] {
        let folder = Folder::empty();
        folder.build("store_buffers", &[]);
        let record = [
            "record",
            "--model",
            model,
            "--until-failure",
            "--runs",
            "2000",
        ];
        folder
            .bohr(&[&record[..], &["--", "./program"]].concat())
            .expect(1);
        for by in ["order", "validate"] {
            let words = ["solve", "--by", by, "--model", model, "-o", "by.bohr"];
            folder
                .bohr(&[&words[..], &["program.log"]].concat())
                .expect(0);
            let replayed = folder.bohr(&["replay", "--json", "--times", "20", "by.bohr"]);
            assert_eq!(replayed.expect(0).json()["reproduced"], 20, "{by}, {model}");
        }
        // Without buffers there is no such run.
        let refused = folder.bohr(&["solve", "--by", "order", "program.log"]);
        assert!(refused.expect(2).messages().contains("contradict"));
    }
}

/// The runtime and the solvers agree on what a store buffer is empty for: what an
/// exhaustive hunt finds is solved, and what it does not find contradicts the log.
#[test]
fn store_buffers_are_emptied_by_the_same_calls_everywhere() {
    let folder = Folder::empty();
    folder.build("between", &[]);
    let mut late = Vec::new();
    for between in ["-", "y", "n", "f", "s", "u", "o", "c", "p"] {
        let hunt = ["hunt", "--model", "tso", "--strategy", "exhaustive"];
        let program = ["--json", "--", "./program", between];
        let hunted = folder.bohr(&[&hunt[..], &program].concat());
        let found = hunted.json()["bugs"]
            .as_array()
            .is_some_and(|it| !it.is_empty());
        let program = ["--", "./program", between];
        folder.bohr(&[&["record", "--model", "tso"], &program[..]].concat());
        change(&folder, |recording| recording.end = bohr_log::End::Exit(1));
        for by in ["order", "validate"] {
            let solve = ["solve", "--by", by, "--model", "tso", "-o", "by.bohr"];
            let solved = folder.bohr(&[&solve[..], &["changed.log"]].concat());
            let code = if found { 0 } else { 2 };
            assert_eq!(solved.code(), code, "{between}, {by}: {solved}");
        }
        late.extend(found.then_some(between));
    }
    assert_eq!(late, ["-", "s"]);
}

/// The log of a controlled run is that of its trace, however many threads wait for one
/// condition and come back to one lock.
#[test]
fn what_many_threads_did_under_control_is_what_their_log_says() {
    let folder = Folder::empty();
    folder.build("tickets", &[]);
    for seed in ["0", "1", "2", "3", "4", "5"] {
        let record = ["record", "--slices", "6", "--seed", seed, "-o"];
        let program = ["program.log", "--", "./program", "5", "5"];
        let recorded = folder.bohr(&[&record[..], &program].concat());
        assert_ne!(recorded.code(), 2, "{recorded}");
        change(&folder, |recording| recording.end = bohr_log::End::Exit(1));
        // Whether or not an order is found in time, the ways lead to where threads ended.
        let solved = folder.bohr(&["solve", "--by", "order", "--time", "1s", "changed.log"]);
        let told = solved.messages();
        let led = !["does not fit", "nothing fails"]
            .iter()
            .any(|it| told.contains(it));
        assert!(led, "{solved}");
        let visits = ["visits.log", "--", "./program", "5", "5", "visits"];
        let recorded = folder.bohr(&[&record[..], &visits].concat());
        assert_ne!(recorded.code(), 2, "{recorded}");
    }
}
