//! Indices of cores against indices that were recorded while the program ran: gdb stops
//! a program built for production again and again and takes a core each time; the
//! program's blocks are counted, so that it is known which moment of a run without a
//! machine that is, and by the rules of figure 4 of the ASPLOS paper what its index was.

#[path = "../../bohr-solve/tests/figure_four/mod.rs"]
mod figure_four;

use crate::controlled::Folder;
use bohr_dump::position::{Positions, blocks, thread};
use bohr_dump::variables::{Information, Sections};
use bohr_dump::{Available, Dump, Stacks, loaded};
use bohr_event::ThreadPath;
use bohr_program::Program;
use bohr_program::index::{Flows, Index};
use bohr_solve::play::play;
use figure_four::{Recorded, is_exact, is_same, record};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Cores of a program.
const CORES: usize = 24;

/// Has gdb take cores where threads take locks, so many locks apart; as many as come.
fn cores(folder: &Folder, arguments: &str, apart: usize) -> Vec<PathBuf> {
    let mut gdb = Command::new("gdb");
    gdb.args(["-batch", "-ex", "set breakpoint pending on"])
        .args(["-ex", "break pthread_mutex_lock", "-ex"])
        .arg(format!("run {arguments}"));
    let paths: Vec<PathBuf> = (0..CORES)
        .map(|number| folder.path(&format!("{number}.core")))
        .collect();
    for path in &paths {
        gdb.arg("-ex");
        gdb.arg(format!("generate-core-file {}", path.display()));
        gdb.arg("-ex").arg(format!("ignore 1 {apart}"));
        gdb.args(["-ex", "continue"]);
    }
    let output = gdb.arg("./program").current_dir(folder.path("."));
    output.output().expect("gdb is installed");
    paths.into_iter().filter(|path| path.exists()).collect()
}

/// Which moment of which thread a core is of, and its index.
fn indexed(program: &Program, executable: &Path, core: &Path) -> (ThreadPath, u64, Index) {
    let bytes = std::fs::read(core).expect("a core");
    let mut dump = Dump::read(&bytes).expect("a core");
    let paths = loaded::paths(&dump).into_iter().map(str::to_string);
    let files: Vec<(String, Vec<u8>)> = paths
        .filter_map(|path| Some((path.clone(), std::fs::read(&path).ok()?)))
        .collect();
    let available = files.iter().map(|(path, bytes)| Available {
        path,
        found: path.as_ref(),
        bytes,
        debug: None,
    });
    let available: Vec<Available<'_>> = available.collect();
    let objects = loaded::load(&mut dump, &available).expect("the objects of the core");
    let own = |object: &&bohr_dump::Loaded<'_>| Path::new(&object.path) == executable;
    let own = objects.iter().find(own).expect("the program");
    let positions = Positions::new(program, own).expect("a production build");
    let sections = Sections::of(own);
    let information = Information::read(&sections, own.bias);
    let registers = &dump.threads[0].registers;
    let frames = Stacks::new(&dump.memory, &objects).of(registers);
    let mut flows = Flows::new(program);
    let stack = positions.stack(&mut flows, &frames, &information, &dump.memory);
    let pointer = registers.thread_pointer;
    (
        thread(own, &dump.memory, pointer).expect("a thread with a name"),
        blocks(own, &dump.memory, pointer).expect("counted blocks"),
        Index::of(&mut flows, &stack),
    )
}

/// Compares all cores; how many functions of stacks were the same, and how many were
/// left out since their dependences cannot be put together.
fn compare(folder: &Folder, words: &[&str], apart: usize) -> (usize, usize) {
    let made = folder.bohr(&["profile", "program", "--profile", "alignment"]);
    let made = PathBuf::from(made.expect(0).text().trim());
    let model = std::fs::read(made.with_file_name("model")).expect("a model");
    let program = Program::from_bytes(&model).expect("a model");
    let executable = folder.path("program").canonicalize().expect("a program");
    let arguments = [&["program"], words].concat();
    let mut first = |_: &[usize]| 0;
    let played = play(&program, &arguments, &mut first, 10_000_000).expect("it can be played");
    assert!(!played.stuck);
    let (mut same, mut beside) = (0, 0);
    let cores = cores(folder, &words.join(" "), apart);
    assert_eq!(cores.len(), CORES);
    for core in cores {
        let (thread, count, index) = indexed(&program, &executable, &core);
        let way = played.run.threads.iter().find(|way| way.thread == thread);
        let way = way.expect("the thread was played");
        let (mut flows, mut seen, mut at) = (Flows::new(&program), 0, None);
        record(&mut flows, &way.steps, |_, stack| {
            seen += 1;
            if seen == count {
                at = Some(stack.to_vec());
            }
        });
        let at: Vec<Recorded> =
            at.unwrap_or_else(|| panic!("{thread} has {seen} blocks, not {count}"));
        let functions =
            |level: &bohr_program::index::Level| (level.place.function, level.place.block);
        let told: Vec<_> = index.levels.iter().map(functions).collect();
        let were: Vec<_> = at.iter().map(|one| (one.function, one.block)).collect();
        assert_eq!(told, were, "thread {thread}, {count} blocks");
        for (recorded, level) in at.iter().zip(&index.levels) {
            let flow = flows.of(recorded.function).expect("it was executed");
            match is_exact(flow, recorded) {
                false => beside += 1,
                true => {
                    let name = &program.texts[program.functions[recorded.function].name];
                    assert!(
                        is_same(flow, recorded, level),
                        "thread {thread}, {count} blocks, {name}: {:?} was recorded, {:?} is told",
                        recorded.items,
                        level.entries
                    );
                    same += 1;
                }
            }
        }
    }
    (same, beside)
}

#[test]
fn the_index_of_a_core_is_what_was_recorded() {
    for level in ["-O0", "-O1", "-O2"] {
        let folder = Folder::empty();
        folder.build("nested", &["--production=count", level]);
        let (same, beside) = compare(&folder, &[], 2);
        // How deep stacks are depends on where the cores were taken, and on what is inlined.
        assert!(same > CORES, "{level}: {same}, {beside} left out");
        assert!(same > 2 * beside, "{level}: {same}, {beside} left out");
    }
}

/// Exhibits whose threads go their way whatever the others do.
#[test]
fn the_index_of_an_exhibits_core_is_what_was_recorded() {
    for (name, words, apart) in [
        ("account", ["3", "4"], 1),
        ("ticket-office", ["2", "40"], 1),
    ] {
        let folder = Folder::empty();
        let source = format!("{}/../../museum/{name}/main.c", env!("CARGO_MANIFEST_DIR"));
        let flags = [
            "cc",
            "--production=count",
            "-DFIXED",
            "-g",
            "-O2",
            "-pthread",
        ];
        let built = folder.bohr(&[&flags[..], &["-o", "program", &source]].concat());
        built.expect(0);
        let (same, beside) = compare(&folder, &words, apart);
        assert!(same >= CORES, "{name}: {same}, {beside} left out");
    }
}
