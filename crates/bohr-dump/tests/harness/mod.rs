//! Real programs and the cores that they leave.

use bohr_dump::variables::{Information, Sections};
use bohr_dump::{Available, Dump, DumpError, Stacks, loaded};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// A program that has crashed.
pub struct Crashed {
    pub folder: TempDir,
    pub program: PathBuf,
    pub core: Vec<u8>,
}

impl Crashed {
    /// Compiles a program of this folder and lets it crash.
    pub fn new(source: &str, flags: &[&str]) -> Crashed {
        let folder = tempfile::tempdir().expect("a folder");
        let program = folder.path().join("program");
        let compiler = match source.rsplit('.').next() {
            Some("rs") => "rustc",
            Some("cpp") => "clang++-22",
            _ => "clang-22",
        };
        let status = Command::new(compiler)
            .args(flags)
            .arg("-g")
            .arg(
                Path::new(env!("CARGO_MANIFEST_DIR"))
                    .join("tests/programs")
                    .join(source),
            )
            .arg("-o")
            .arg(&program)
            .status();
        assert!(status.expect("a compiler").success());
        let core = core_of(folder.path(), &program);
        Crashed {
            folder,
            program,
            core,
        }
    }

    /// Runs a tool on the files of the folder.
    pub fn tool(&self, words: &[&str]) -> String {
        let (tool, rest) = words.split_first().expect("a tool");
        let output = Command::new(tool)
            .args(rest)
            .current_dir(self.folder.path())
            .output();
        let output = output.expect("the tool is installed");
        assert!(output.status.success(), "{words:?}: {output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// What is told of a core of this program.
    pub fn told(&self, core: &[u8]) -> Result<String, DumpError> {
        let program = std::fs::read(&self.program).expect("the program");
        tell(core, &self.program, &program, None)
    }
}

/// The kernel's core where it leaves one in the folder, else gdb's.
fn core_of(folder: &Path, program: &Path) -> Vec<u8> {
    let script = "ulimit -c unlimited; exec ./program > output 2>&1";
    let _ = Command::new("sh")
        .args(["-c", script])
        .current_dir(folder)
        .status();
    let left = || {
        let entries = std::fs::read_dir(folder).expect("a folder");
        let paths = entries.map(|entry| entry.expect("an entry").path());
        paths
            .filter(|path| path.display().to_string().contains("core"))
            .last()
    };
    if left().is_none() {
        let words = ["-batch", "-ex", "run", "-ex", "generate-core-file gdb.core"];
        let gdb = Command::new("gdb")
            .args(words)
            .arg(program)
            .current_dir(folder)
            .output();
        gdb.expect("gdb is installed");
    }
    std::fs::read(left().expect("a core")).expect("a core")
}

/// All threads with their frames, and the variables of the one that failed.
pub fn tell(
    core: &[u8],
    path: &Path,
    program: &[u8],
    debug: Option<&[u8]>,
) -> Result<String, DumpError> {
    let mut dump = Dump::read(core)?;
    let paths: Vec<String> = loaded::paths(&dump).into_iter().map(String::from).collect();
    let own = loaded::program(&dump).map(String::from);
    let read = |path: &String| match own.as_ref() == Some(path) {
        true => Some((path.clone(), program.to_vec(), debug)),
        false => Some((path.clone(), std::fs::read(path).ok()?, None)),
    };
    let files: Vec<_> = paths.iter().filter_map(read).collect();
    let available: Vec<Available<'_>> = files
        .iter()
        .map(|(path_then, bytes, debug)| Available {
            path: path_then,
            found: path,
            bytes,
            debug: *debug,
        })
        .collect();
    let objects = loaded::load(&mut dump, &available)?;
    let sections: Vec<Sections<'_>> = objects.iter().map(Sections::of).collect();
    let known = objects.iter().zip(&sections);
    let information: Vec<_> = known
        .map(|(object, sections)| (object, Information::read(sections, object.bias)))
        .collect();
    let stacks = Stacks::new(&dump.memory, &objects);
    let mut text = String::new();
    for (position, thread) in dump.threads.iter().enumerate() {
        writeln!(text, "thread").expect("room");
        let frames = stacks.of(&thread.registers);
        for (depth, frame) in frames.iter().enumerate() {
            let address = frame.instruction();
            let known = information
                .iter()
                .find(|(object, _)| object.range.contains(&address));
            let Some((object, known)) = known else {
                writeln!(text, "  {:#x}", frame.place()).expect("room");
                continue;
            };
            for call in known.calls(frame) {
                let name = call.function.unwrap_or_default();
                let file = call.file.unwrap_or_default();
                let file = file.rsplit('/').next().unwrap_or_default();
                let line = call.line.unwrap_or(0);
                writeln!(text, "  {name} {file}:{line}").expect("room");
            }
            if position == 0 && own.as_ref() == Some(&object.path) {
                for variable in known.variables(&frames[depth..], &dump.memory) {
                    writeln!(text, "    {} = {}", variable.name, variable.value).expect("room");
                }
            }
        }
    }
    Ok(text)
}
