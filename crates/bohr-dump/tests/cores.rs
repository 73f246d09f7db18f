//! Cores of real programs, read as a debugger reads them.

mod harness;

use bohr_dump::anonymous::anonymised;
use bohr_dump::{Awaited, Dump, DumpError, Wait, circles, unpack, wait};
use harness::{Crashed, tell};
use proptest::prelude::*;
use std::io::Write;
use std::sync::OnceLock;

#[track_caller]
fn contains(told: &str, expected: &str) {
    assert!(
        told.contains(expected),
        "`{expected}` is missing in\n{told}"
    );
}

#[test]
fn threads_frames_and_variables() {
    let crashed = Crashed::new("missing_node.c", &["-O0", "-pthread"]);
    let told = crashed.told(&crashed.core).expect("a core");
    assert_eq!(told.matches("thread\n").count(), 4);
    assert_eq!(told.matches("  idle missing_node.c:20\n").count(), 3);
    let innermost = "thread
  look missing_node.c:28
    missing = null
    local = 0
    depth = 0
    node = 0x";
    assert!(told.starts_with(innermost), "{told}");
    for depth in 1..=3 {
        let expected = format!("    local = {}\n    depth = {depth}\n", 3 * depth);
        contains(&told, &expected);
    }
    contains(
        &told,
        "  main missing_node.c:42\n    numbers = [1, 2, 3, 4, -5]\n",
    );
    contains(
        &told,
        "    node = {key = 42, weight = 2.5, name = \"forty-two\", next = null, flag = 5, more = 17, colour = GREEN}\n",
    );
}

#[test]
fn enums_of_rust() {
    let crashed = Crashed::new("nothing.rs", &["--edition", "2024"]);
    let told = crashed.told(&crashed.core).expect("a core");
    contains(&told, "  nothing::crash nothing.rs:");
    contains(&told, "    pointer = null\n");
    contains(&told, "    boxed = {None = {}}\n");
    contains(&told, "    square = {Square = {side = 7}}\n");
    contains(&told, "    circle = {Circle = {__0 = 1.5}}\n");
}

/// Lines of the program's own source on the stack of the thread that failed.
fn lines(told: &str, source: &str) -> Vec<String> {
    let words = told.split_whitespace();
    let places = words.filter_map(|word| word.rsplit('/').next());
    let own = places.filter(|place| place.starts_with(&format!("{source}:")));
    own.map(String::from).collect()
}

/// Optimised code, templates, inlined functions: the frames are those of gdb.
#[test]
fn stacks_are_those_of_gdb() {
    let programs: [(&str, &[&str]); 4] = [
        ("missing_node.c", &["-O2", "-pthread"]),
        ("missing_node.c", &["-O1", "-pthread", "-gdwarf-4"]),
        ("thrown.cpp", &["-O1", "-pthread"]),
        ("nothing.rs", &["--edition", "2024", "-O"]),
    ];
    for (source, flags) in programs {
        let crashed = Crashed::new(source, flags);
        std::fs::write(crashed.folder.path().join("core.copy"), &crashed.core).expect("room");
        let gdb = crashed.tool(&["gdb", "-batch", "-ex", "bt", "program", "core.copy"]);
        let stack = gdb.split("\n#0").last().expect("a stack of gdb");
        let expected = lines(stack, source);
        assert!(!expected.is_empty(), "{gdb}");
        let told = crashed.told(&crashed.core).expect("a core");
        let own = told.split("thread\n").nth(1).expect("a thread");
        assert_eq!(
            lines(own, source),
            expected,
            "{source} {flags:?}\n{gdb}\n{told}"
        );
    }
}

/// What optimised code does not keep, its callers may know.
#[test]
fn parameters_by_the_word_of_the_caller() {
    for version in ["-gdwarf-5", "-gdwarf-4"] {
        let crashed = Crashed::new("forgotten.c", &["-O2", version, "-ggdb"]);
        let told = crashed.told(&crashed.core).expect("a core");
        contains(
            &told,
            "  fail forgotten.c:7\n    other = 7\n    number = 42\n",
        );
        contains(&told, "  middle forgotten.c:11\n    number = 41\n");
    }
}

#[test]
fn a_call_of_nothing_has_a_caller() {
    let crashed = Crashed::new("nowhere.c", &["-O0"]);
    let told = crashed.told(&crashed.core).expect("a core");
    contains(&told, "thread\n  0x0\n  ask nowhere.c:7\n");
    contains(&told, "    number = 3\n");
    contains(&told, "  main nowhere.c:12\n");
}

#[test]
fn frame_pointers_lead_on_where_tables_do_not() {
    let flags = [
        "-O0",
        "-fno-asynchronous-unwind-tables",
        "-fno-omit-frame-pointer",
    ];
    let crashed = Crashed::new("nowhere.c", &flags);
    let told = crashed.told(&crashed.core).expect("a core");
    contains(&told, "  ask nowhere.c:7\n");
    contains(&told, "  main nowhere.c:12\n");
}

#[test]
fn debug_information_in_a_file_of_its_own() {
    let crashed = Crashed::new("nowhere.c", &["-O0", "-Wl,--build-id"]);
    let expected = crashed.told(&crashed.core).expect("a core");
    crashed.tool(&["objcopy", "--only-keep-debug", "program", "program.debug"]);
    crashed.tool(&["strip", "program"]);
    let stripped = std::fs::read(&crashed.program).expect("the program");
    let debug = std::fs::read(crashed.folder.path().join("program.debug")).expect("a file");
    let without = tell(&crashed.core, &crashed.program, &stripped, None).expect("a core");
    assert!(!without.contains("nowhere.c"), "{without}");
    let with = tell(&crashed.core, &crashed.program, &stripped, Some(&debug)).expect("a core");
    assert_eq!(with, expected);
}

#[test]
fn what_is_not_the_core_of_this_program() {
    let crashed = Crashed::new("nowhere.c", &["-O0", "-Wl,--build-id"]);
    let other = Crashed::new("nowhere.c", &["-O1", "-Wl,--build-id"]);
    let program = std::fs::read(&other.program).expect("the program");
    let refused = tell(&crashed.core, &other.program, &program, None);
    assert!(
        matches!(refused, Err(DumpError::OtherBuild { .. })),
        "{refused:?}"
    );
    let refused = crashed.told(&program);
    assert!(
        matches!(refused, Err(DumpError::NotCore { .. })),
        "{refused:?}"
    );
    let refused = crashed.told(b"no core at all");
    assert!(matches!(refused, Err(DumpError::NotElf(_))), "{refused:?}");
    // Up to the end of its headers: what the threads did stands behind them.
    let count = usize::from(crashed.core[56]) + 256 * usize::from(crashed.core[57]);
    let refused = crashed.told(&crashed.core[..64 + 56 * count]);
    assert!(matches!(refused, Err(DumpError::NoThread)), "{refused:?}");
}

#[test]
fn threads_that_wait_for_each_other() {
    let crashed = Crashed::new("deadlocked.c", &["-O1", "-pthread"]);
    let dump = Dump::read(&crashed.core).expect("a core");
    let holders = dump.threads.iter().map(|thread| {
        let wait = wait(thread, &dump.threads, &dump.memory, Awaited::Mutex);
        (thread.number, wait.and_then(|wait| wait.holder))
    });
    let holders: Vec<_> = holders.collect();
    let main = dump.threads[0].number;
    let circles = circles(&holders);
    assert_eq!(circles.len(), 1, "{holders:?}");
    assert_eq!(circles[0].len(), 2);
    assert!(!circles[0].contains(&main));
}

/// A reader waits for the writer, a join for an end, and one for a time.
#[test]
fn what_threads_wait_for() {
    let crashed = Crashed::new("waiting.c", &["-O1", "-pthread"]);
    let dump = Dump::read(&crashed.core).expect("a core");
    let (threads, memory) = (&dump.threads, &dump.memory);
    let waits = |awaited| -> Vec<Wait> {
        let waits = threads
            .iter()
            .map(|thread| wait(thread, threads, memory, awaited));
        waits.flatten().collect()
    };
    let plain = waits(Awaited::Other);
    assert_eq!(plain.len(), 3, "{plain:?}");
    let joins: Vec<&Wait> = plain.iter().filter(|wait| wait.for_end).collect();
    let [join] = joins[..] else {
        panic!("{plain:?}");
    };
    assert!(join.holder.is_some());
    assert_eq!(plain.iter().filter(|wait| wait.limited).count(), 1);
    // The writer is the one whose end is waited for.
    let locks = waits(Awaited::ReaderWriterLock);
    let readers = locks.iter().filter(|wait| !wait.for_end && !wait.limited);
    let holders: Vec<Option<i32>> = readers.map(|wait| wait.holder).collect();
    assert_eq!(holders, [join.holder]);
}

/// Its notes are taken for something else.
#[test]
fn the_thread_that_failed_is_missing() {
    let crashed = Crashed::new("deadlocked.c", &["-O1", "-pthread"]);
    let mut core = crashed.core.clone();
    let whole = Dump::read(&core).expect("a core");
    assert!(whole.fault.is_some() && !whole.failed_is_missing);
    let count = whole.threads.len();
    // Sizes of its name and content, and what it is.
    let status = [5, 0, 0, 0, 0x50, 1, 0, 0, 1, 0, 0, 0];
    let mut places = core.windows(status.len()).enumerate();
    let (first, _) = places.find(|(_, bytes)| *bytes == status).expect("a note");
    core[first + 8] = 99;
    let rest = Dump::read(&core).expect("a core");
    assert_eq!(rest.threads.len(), count - 1);
    assert!(rest.failed_is_missing);
}

/// What was protected against writing is as private as the rest.
#[test]
fn protected_memory_is_made_anonymous() {
    let crashed = Crashed::new("protected.c", &["-O1"]);
    let secret = b"sesame-on-a-page";
    let tells = |core: &[u8]| core.windows(secret.len()).any(|bytes| bytes == secret);
    assert!(tells(&crashed.core));
    let hidden = anonymised(&crashed.core, &[7; 32]).expect("a core");
    assert!(!tells(&hidden));
    let again = anonymised(&hidden, &[8; 32]);
    assert!(matches!(again, Err(DumpError::Anonymous)), "{again:?}");
    // The program is there to be read.
    let told = |core: &[u8]| crashed.told(core).expect("a core");
    assert_eq!(
        told(&hidden).lines().count(),
        told(&crashed.core).lines().count()
    );
}

#[test]
fn a_packed_core_is_the_same_core() {
    let crashed = Crashed::new("nowhere.c", &["-O0"]);
    let mut packed = lz4_flex::frame::FrameEncoder::new(Vec::new());
    packed.write_all(&crashed.core).expect("packs");
    let packed = packed.finish().expect("packs");
    let core = unpack(&packed, 1 << 30).expect("unpacks");
    let expected = crashed.told(&crashed.core).expect("a core");
    assert_eq!(crashed.told(&core).expect("a core"), expected);
}

/// Damaged files of each kind.
const CASES: u32 = 1000;

/// A core that all damaged ones are made from.
fn small() -> &'static Crashed {
    static SMALL: OnceLock<Crashed> = OnceLock::new();
    SMALL.get_or_init(|| Crashed::new("nowhere.c", &["-O0"]))
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(CASES)
    })]

    /// Whatever bytes change, and wherever it ends: something is told, or refused.
    #[test]
    fn damaged_cores_are_survived(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), any::<bool>()), 0..40),
        end in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let crashed = small();
        let mut core = crashed.core.clone();
        for (place, byte, in_headers) in changes {
            // Headers and notes stand in the first pages.
            let length = if in_headers { core.len().min(8192) } else { core.len() };
            core[place.index(length)] = byte;
        }
        if let Some(end) = end {
            core.truncate(end.index(core.len()));
        }
        let _ = crashed.told(&core);
    }

    /// The same for the program beside it.
    #[test]
    fn damaged_programs_are_survived(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..60),
    ) {
        let crashed = small();
        let mut program = std::fs::read(&crashed.program).expect("the program");
        for (place, byte) in changes {
            let length = program.len();
            program[place.index(length)] = byte;
        }
        let _ = tell(&crashed.core, &crashed.program, &program, None);
    }
}
