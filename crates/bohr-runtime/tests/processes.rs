//! The target's processes: none is left behind, whatever is killed, and those
//! that it starts itself run uncontrolled.

use crate::harness;

use bohr_event::FailureKind;
use bohr_event::control::{Checkpoints, Detailing, ForkPoint, Notice, Outcome, Output, Reply};
use bohr_schedule::{Plan, Rule};
use harness::{Program, Ran, Template, job};
use std::{
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

/// How many processes run this program.
fn running(program: &Path) -> usize {
    let processes = std::fs::read_dir("/proc").expect("there are processes");
    processes
        .filter_map(Result::ok)
        .filter_map(|entry| std::fs::read_link(entry.path().join("exe")).ok())
        .filter(|path| path == program)
        .count()
}

/// Waits until nobody runs the program any more.
fn ends(program: &Path) -> bool {
    let begin = Instant::now();
    while running(program) > 0 {
        if begin.elapsed() > Duration::from_secs(20) {
            return false;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    true
}

#[test]
fn killing_the_template_kills_its_run() {
    let program = Program::compile("failures.c");
    let mut template = program.start_with(&["hang"]);
    let mut hanging = job(&Plan::new(Rule::Random), 1);
    hanging.limits.milliseconds = 0;
    hanging.trace = Detailing::Never;
    template.send(&hanging);
    while std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", template.process()))
        .is_ok_and(|children| children.is_empty())
    {
        std::thread::sleep(Duration::from_millis(5));
    }
    drop(template);
    assert!(ends(&program.path));
}

#[test]
fn outposts_end_with_the_template_and_with_the_conversation() {
    let program = Program::compile("turns.c");
    for hangs_up in [false, true] {
        let mut template = program.start();
        let mut job = job(&harness::first_turns(4), 1);
        job.checkpoints = Checkpoints::At(1);
        for _ in 0..2 {
            template.run(&job);
        }
        assert!(matches!(template.point, Some(ForkPoint::Turn(_))));
        assert!(running(&program.path) > 0);
        match hangs_up {
            true => template.hang_up(),
            false => drop(template),
        }
        assert!(ends(&program.path));
    }
}

#[test]
fn the_end_of_the_conversation_ends_the_template() {
    let program = Program::compile("lost_update.c");
    let template = program.start();
    template.hang_up();
    assert!(ends(&program.path));
}

#[test]
fn a_program_that_forks_runs_its_child_uncontrolled_and_says_so() {
    let program = Program::compile("forks.c");
    for report in program.always_succeeds(5) {
        let detail = report.report.detail.expect("asked for");
        assert!(detail.notices.contains(&Notice::Process));
    }
}

/// The children of a run end with it, while the template that has made it goes on, and
/// theirs do.
#[test]
fn what_a_run_leaves_behind_ends_with_it() {
    let program = Program::compile("leaves_children.c");
    let mut template = program.start();
    for _ in 0..3 {
        let reports = template.run(&job(&Plan::new(Rule::Random), 1));
        let child = harness::output(&reports[0]);
        let folder = Path::new("/proc").join(child.trim());
        assert!(
            child.trim().parse::<u32>().is_ok() && !folder.exists(),
            "{child}"
        );
    }
    // The template and an outpost.
    assert!(running(&program.path) <= 2);
}

#[test]
fn processes_that_use_the_memory_of_a_run_are_not_the_run() {
    for report in Program::compile("guests.c").always_succeeds(5) {
        let detail = report.report.detail.expect("asked for");
        assert!(detail.notices.contains(&Notice::Process));
    }
}

#[test]
fn a_program_that_becomes_another_ends_with_it_and_says_so() {
    let program = Program::compile("becomes_another.c");
    let runs = job(&Plan::new(Rule::Random), 3);
    for report in program.start_with(&["echo here"]).run(&runs) {
        assert_eq!(report.outcome, Outcome::Exited { code: 0 });
        assert_eq!(harness::output(&report), "here\n");
        let detail = report.report.detail.expect("asked for");
        assert_eq!(detail.notices, [Notice::Process]);
    }
    let failed = &program.start_with(&["exit 3"]).run(&runs)[0];
    assert_eq!(failed.outcome, Outcome::Exited { code: 3 });
}

#[test]
fn what_runs_name_is_their_own() {
    Program::compile("named.c").always_succeeds(5);
    let left = std::fs::read_dir("/dev/shm").expect("it is there");
    let left = left.map(|entry| entry.expect("an entry").file_name());
    let left: Vec<_> = left
        .filter(|name| name.to_string_lossy().contains("bohr-test"))
        .collect();
    assert_eq!(left, [""; 0]);
}

#[test]
fn flags_of_open_files_do_not_go_from_run_to_run() {
    Program::compile("flags.c").always_succeeds(5);
}

/// What was made before `main` and is not memory cannot be put back.
#[test]
fn what_constructors_share_between_runs_is_told() {
    let told = |name: &str| {
        let reports = Program::compile(name).always_succeeds(2);
        let details = reports
            .into_iter()
            .filter_map(|report| report.report.detail);
        details.map(|detail| detail.notices).collect::<Vec<_>>()
    };
    for notices in told("constructed.c") {
        assert!(notices.contains(&Notice::SharedMemory), "{notices:?}");
        assert!(notices.contains(&Notice::SharedFile), "{notices:?}");
    }
    for notices in told("locks.c") {
        assert!(!notices.contains(&Notice::SharedMemory), "{notices:?}");
        assert!(!notices.contains(&Notice::SharedFile), "{notices:?}");
    }
}

#[test]
fn offsets_of_open_files_are_set_back() {
    let program = Program::compile("reads_input.c");
    let mut command = Command::new(&program.path);
    let directory = tempfile::tempdir().expect("a directory");
    let input = directory.path().join("input");
    std::fs::write(&input, "7").expect("a file");
    command.stdin(std::fs::File::open(&input).expect("the same file"));
    let mut template = Template::start_command(command);
    for report in template.run(&job(&Plan::new(Rule::Random), 5)) {
        assert_eq!(report.outcome, Outcome::Exited { code: 0 });
        assert_eq!(harness::output(&report), "read 7\n");
    }
}

#[test]
fn a_plan_that_cannot_be_read_is_refused() {
    let program = Program::compile("lost_update.c");
    let mut template = program.start();
    let mut odd = job(&Plan::new(Rule::Random), 1);
    odd.plan = vec![0xff; 3];
    template.send(&odd);
    assert!(matches!(template.receive(), Reply::Refused(_)));
    let reports = template.run(&job(&Plan::new(Rule::Random), 1));
    assert_eq!(reports.len(), 1, "the template is still there");
}

#[test]
fn many_runs_do_not_make_the_template_grow() {
    let program = Program::compile("lost_update.c");
    let mut template = program.start();
    let mut plain = job(&Plan::new(Rule::Random), 300);
    plain.details = Detailing::Never;
    plain.trace = Detailing::Never;
    plain.output = Output::Discard;
    template.run(&plain);
    let before = template.resident_pages();
    template.run(&plain);
    assert!(template.resident_pages() <= before + 8, "{before}");
}

/// However a process is copied, its copy runs uncontrolled from the beginning.
#[test]
fn copies_are_uncontrolled() {
    let program = Program::compile("copies.c");
    for way in [
        "fork",
        "_Fork",
        "clone",
        "by number",
        "described",
        "as it is",
    ] {
        let mut template = program.start_with(&[way]);
        for report in template.run(&job(&Plan::new(Rule::Random), 10)) {
            assert_eq!(report.outcome, Outcome::Exited { code: 0 }, "{way}");
            assert!(report.events < 100, "{way}: {} events", report.events);
            let detail = report.report.detail.expect("asked for");
            assert!(detail.notices.contains(&Notice::Process), "{way}");
        }
    }
}

/// A thread that a static constructor has started is joined like any other.
#[test]
fn threads_from_before_main_can_be_joined() {
    let program = Program::compile("early_threads.c");
    for report in program.always_succeeds(5) {
        let detail = report.report.detail.expect("asked for");
        assert!(detail.notices.contains(&Notice::EarlyThread));
    }
    let mut template = program.start_with(&["endless"]);
    for report in template.run(&job(&Plan::new(Rule::Random), 2)) {
        assert!(
            matches!(&report.outcome, Outcome::Unsupported(what) if what.contains("before `main`")),
            "{:?}",
            report.outcome
        );
    }
}

/// Constructors that start threads are the beginning of the first thread: what they start
/// is under control, up to the last destructor.
#[test]
fn threads_of_static_constructors_are_controlled() {
    let program = Program::compile("constructed_threads.c");
    for report in program.always_succeeds(10) {
        let detail = report.report.detail.expect("asked for");
        assert!(!detail.notices.contains(&Notice::EarlyThread));
        assert_eq!(report.report.threads, 4);
    }
    let mut template = program.start_with(&["careless"]);
    let reports = template.run(&job(&Plan::new(Rule::Random), 100));
    let hangs = |report: &&Ran| {
        matches!(&report.outcome, Outcome::Failed(failure)
            if failure.kind == FailureKind::Deadlock)
    };
    let missed = reports.iter().filter(hangs).count();
    assert!(missed > 0 && missed < reports.len(), "{missed}");
}

/// Wake-ups go from threads of a run to those who are not under control, and back; what
/// they wait for from each other is no deadlock.
#[test]
fn threads_and_those_outside_control_wake_each_other() {
    let program = Program::compile("neighbours.c");
    for way in ["semaphore", "condition", "barrier", "futex", "clone"] {
        for rule in [Rule::Random, Rule::Sequential] {
            let mut template = program.start_with(&[way]);
            for report in template.run(&job(&Plan::new(rule), 5)) {
                let ended = Outcome::Exited { code: 0 };
                assert_eq!(report.outcome, ended, "{way}");
            }
        }
    }
}

/// What such a thread does goes past the engine, also where it does it at the same time.
#[test]
fn threads_from_outside_go_past_the_engine() {
    let program = Program::compile("strangers.c");
    for rule in [Rule::Random, Rule::Sequential] {
        for report in program.start().run(&job(&Plan::new(rule), 5)) {
            assert_eq!(report.outcome, Outcome::Exited { code: 0 });
            let detail = report.detail.as_ref().expect("asked for");
            assert!(detail.notices.contains(&Notice::HiddenThread));
        }
    }
}

/// A child that has ended, or shares nothing that somebody waits for, saves nobody.
#[test]
fn a_deadlock_beside_children_is_one() {
    let program = Program::compile("deadlock_beside.c");
    for arguments in [&[][..], &["ended"]] {
        let mut template = program.start_with(arguments);
        for report in template.run(&job(&Plan::new(Rule::Random), 3)) {
            let deadlock = matches!(&report.outcome, Outcome::Failed(failure)
                if failure.kind == FailureKind::Deadlock);
            assert!(deadlock, "{:?}", report.outcome);
        }
    }
}
