//! The whole way: a program with a bundle in, model, instrumented program and
//! report out; and what is refused.

mod support;

use bohr_bundle::{
    BundleBuilder, Content, Input, LinkLine, LinkOptions, NativeReason, Origin, OutputKind, PartId,
    attach,
};
use bohr_event::{Diagnosis, Fault};
use bohr_instrument::profile::{HookChoice, ProfileError, Request, make};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::{compile, run};

/// A file that comes with the compiler or the C library.
fn toolchain_file(name: &str) -> String {
    let output = run(Command::new("clang-22").arg(format!("-print-file-name={name}")));
    String::from_utf8(output).expect("text").trim().to_string()
}

/// A bundle in the making, linked the way clang links.
struct Program {
    builder: BundleBuilder,
    inputs: Vec<Input>,
}

impl Program {
    fn new(output: OutputKind) -> Program {
        let options = LinkOptions {
            dynamic_linker: Some("/lib64/ld-linux-x86-64.so.2".into()),
            ..LinkOptions::default()
        };
        let link = LinkLine {
            output,
            options,
            ..LinkLine::default()
        };
        let mut program = Program {
            builder: BundleBuilder::new(link),
            inputs: vec![],
        };
        if output != OutputKind::SharedLibrary {
            ["Scrt1.o", "crti.o"]
                .iter()
                .for_each(|name| program.add_toolchain(name));
        }
        program
    }

    fn add_toolchain(&mut self, name: &str) {
        let path = toolchain_file(name);
        let bytes = fs::read(&path).expect("start file");
        self.add(Content::Native(NativeReason::Toolchain), &path, &bytes);
    }

    fn add(&mut self, content: Content, name: &str, bytes: &[u8]) -> PartId {
        let id = self.builder.add(content, Origin::file(name), None, bytes);
        self.inputs.push(Input::Part(id));
        id
    }

    /// Writes the bundle into a file that is a program by its format only.
    fn finish(self, directory: &Path) -> PathBuf {
        let source = directory.join("carrier.c");
        fs::write(&source, "int main(void) { return 77; }").expect("source");
        self.attach_to(Command::new("clang-22").arg(source), directory)
    }

    /// Writes the bundle into what the compiler links.
    fn attach_to(mut self, compiler: &mut Command, directory: &Path) -> PathBuf {
        let libc = toolchain_file("libc.so.6");
        let soname = Some("libc.so.6".to_string());
        self.inputs.push(Input::SharedLibrary {
            path: libc,
            soname,
            needed: true,
        });
        self.builder.link_mut().inputs = self.inputs;
        let carrier = directory.join("carrier");
        run(compiler.arg("-o").arg(&carrier));
        let bytes = fs::read(&carrier).expect("carrier");
        let attachment = attach(&bytes, &self.builder.finish()).expect("attaches");
        let program = directory.join("program-with-bundle");
        fs::write(&program, attachment.apply(&bytes)).expect("program");
        program
    }
}

fn lower(
    program: &Path,
    directory: &Path,
) -> Result<bohr_instrument::report::Report, ProfileError> {
    fs::create_dir_all(directory).expect("directory");
    make(&Request {
        program,
        directory,
        hooks: HookChoice::All,
        asked_for: None,
    })
}

#[test]
fn bitcode_and_native_parts_become_one_program() {
    let directory = tempfile::tempdir().expect("directory");
    let path = directory.path();
    let main = compile(
        path,
        "main.c",
        "#include <stdio.h>\nint native(int); int called_back(int x) { return x * 2; }
         static int calls; __attribute__((constructor)) static void first(void) { calls = 10; }
         int main(void) { calls += native(4); printf(\"%d\\n\", calls); return calls & 63; }",
        &["-O2"],
    );
    let source = path.join("native.c");
    fs::write(
        &source,
        "int called_back(int); int native(int x) { return called_back(x) + 1; }",
    )
    .expect("source");
    let native = path.join("native.o");
    run(Command::new("clang-22")
        .args(["-c", "-fPIC"])
        .arg(&source)
        .arg("-o")
        .arg(&native));
    let mut program = Program::new(OutputKind::PositionIndependent);
    program.add(Content::Bitcode, "main.o", &main.bitcode);
    program.add(
        Content::Native(NativeReason::NoBitcode),
        "native.o",
        &fs::read(&native).expect("object"),
    );
    program.add_toolchain("crtn.o");
    let program = program.finish(path);

    let made = path.join("made");
    let report = lower(&program, &made).expect("a profile");
    assert!(report.hooked > 0 && report.stubs >= 1, "{report:?}");
    assert_eq!(report.uninstrumented.len(), 1);
    assert_eq!(report.uninstrumented[0].part, "native.o");
    assert!(fs::read(made.join("model")).is_ok_and(|model| !model.is_empty()));
    let output = Command::new(made.join("program")).output().expect("runs");
    assert_eq!(
        (output.stdout, output.status.code()),
        (b"19\n".to_vec(), Some(19))
    );
    // Nothing but the three files is left.
    let mut names: Vec<_> = fs::read_dir(&made)
        .expect("directory")
        .map(|entry| entry.expect("entry").file_name())
        .collect();
    names.sort();
    assert_eq!(names, ["model", "program", "report.json", "sharing"]);
}

#[test]
fn variables_on_the_stack_keep_their_place_where_ways_are_written_down() {
    let directory = tempfile::tempdir().expect("directory");
    let path = directory.path();
    let main = compile(
        path,
        "main.c",
        "__attribute__((noinline)) static int matches(const char *text) {
             if (!text) return 9; int found = 0; volatile int seen = 0;
             for (; *text; text++) { seen = *text == 'n' ? seen + 1 : 0; if (seen == 2) found++; }
             return found; }
         int main(int count, char **words) { return matches(words[count - 1]); }",
        &["-O2"],
    );
    let mut program = Program::new(OutputKind::Executable);
    program.add(Content::Bitcode, "main.o", &main.bitcode);
    program.add_toolchain("crtn.o");
    let program = program.finish(path);
    let made = path.join("made");
    fs::create_dir_all(&made).expect("directory");
    let request = Request {
        program: &program,
        directory: &made,
        hooks: HookChoice::Paths,
        asked_for: None,
    };
    make(&request).expect("a profile");
    let output = Command::new(made.join("program")).arg("inn-annex").output();
    assert_eq!(output.expect("runs").status.code(), Some(2));
    let code = run(Command::new("llvm-objdump-22")
        .args(["-d", "--no-show-raw-insn", "--disassemble-symbols=matches"])
        .arg(made.join("program")));
    let code = String::from_utf8(code).expect("text");
    // A variable without a place of its own takes a frame that is reached by `rbp`.
    assert!(code.contains("(%rsp)") && !code.contains("%rbp"), "{code}");
}

#[test]
fn a_part_that_cannot_be_merged_is_compiled_alone_and_counted() {
    let directory = tempfile::tempdir().expect("directory");
    let path = directory.path();
    let main = compile(
        path,
        "main.c",
        "int two(void); int main(void) { return two(); }",
        &["-O1"],
    );
    let two = compile(
        path,
        "two.c",
        "int two(void) { return 2; }",
        &["-O1", "-fshort-wchar"],
    );
    let mut program = Program::new(OutputKind::Executable);
    program.add(Content::Bitcode, "main.o", &main.bitcode);
    program.add(Content::Bitcode, "two.o", &two.bitcode);
    program.add_toolchain("crtn.o");
    let program = program.finish(path);
    let made = path.join("made");
    let report = lower(&program, &made).expect("a profile");
    assert_eq!(report.uninstrumented.len(), 1, "{report:?}");
    assert!(
        report.uninstrumented[0].reason.contains("wchar_size"),
        "{report:?}"
    );
    let output = Command::new(made.join("program")).output().expect("runs");
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn a_shared_library_exports_what_it_did() {
    let directory = tempfile::tempdir().expect("directory");
    let path = directory.path();
    let library = compile(
        path,
        "library.c",
        "static int count; int next(void) { return ++count; } __attribute__((visibility(\"hidden\"))) int inner(void) { return count; }",
        &["-O1", "-fPIC"],
    );
    let mut program = Program::new(OutputKind::SharedLibrary);
    program.add(Content::Bitcode, "library.o", &library.bitcode);
    let mut compiler = Command::new("clang-22");
    compiler
        .args(["-shared", "-fPIC"])
        .arg(path.join("library.c"));
    let program = program.attach_to(&mut compiler, path);
    let made = path.join("made");
    lower(&program, &made).expect("a profile");
    let user = path.join("user.c");
    fs::write(
        &user,
        "int next(void); int main(void) { next(); return next(); }",
    )
    .expect("source");
    let linked = path.join("user");
    run(Command::new("clang-22")
        .arg(&user)
        .arg(made.join("program"))
        .arg("-o")
        .arg(&linked));
    let output = Command::new(&linked).output().expect("runs");
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}

#[test]
fn refusals_tell_whose_fault_it_is() {
    let directory = tempfile::tempdir().expect("directory");
    let path = directory.path();
    let missing = lower(&path.join("missing"), path).expect_err("no file");
    assert_eq!(missing.fault(), Fault::Input);
    let text = path.join("text");
    fs::write(&text, "no program").expect("file");
    let no_program = lower(&text, path).expect_err("no program");
    assert!(
        matches!(no_program, ProfileError::Bundle { .. }),
        "{no_program}"
    );
    let mut native = Program::new(OutputKind::Executable);
    native.add_toolchain("crtn.o");
    let nothing = lower(&native.finish(path), path).expect_err("no bitcode");
    assert_eq!(nothing.fault(), Fault::Unsupported);
    assert!(nothing.help().is_some_and(|help| help.contains("bohr cc")));
    let mut damaged = Program::new(OutputKind::Executable);
    damaged.add(Content::Bitcode, "main.o", b"BC\xc0\xde and then nothing");
    let damaged = lower(&damaged.finish(path), path).expect_err("damaged");
    assert_eq!(damaged.fault(), Fault::Input);
    assert!(damaged.to_string().contains("main.o"), "{damaged}");
}

#[test]
fn only_what_threads_share_is_hooked() {
    let directory = tempfile::tempdir().expect("directory");
    let path = directory.path();
    let source = "#include <pthread.h>\nint shared, own; static void *work(void *p) { shared++; return p; }
        int main(void) { pthread_t t; own = 1; pthread_create(&t, 0, work, 0); shared++; own++; pthread_join(t, 0); return shared + own; }";
    let main = compile(path, "main.c", source, &["-O1"]);
    let mut program = Program::new(OutputKind::Executable);
    program.add(Content::Bitcode, "main.o", &main.bitcode);
    program.add_toolchain("crtn.o");
    let program = program.finish(path);
    let made = |hooks: HookChoice| {
        let directory = path.join(format!("{hooks:?}"));
        fs::create_dir_all(&directory).expect("directory");
        let report = make(&Request {
            program: &program,
            directory: &directory,
            hooks,
            asked_for: None,
        })
        .expect("a profile");
        let output = Command::new(directory.join("program"))
            .output()
            .expect("runs");
        assert_eq!(output.status.code(), Some(4));
        report
    };
    let (shared, all, plain) = (
        made(HookChoice::Shared),
        made(HookChoice::All),
        made(HookChoice::None),
    );
    // Two reads and two writes of `shared`, one read after the join, two calls.
    // `own` is written twice and read twice.
    assert!(
        shared.unhooked["touched by the main thread only"] >= 4,
        "{shared:?}"
    );
    assert!(
        shared.hooked >= 6 && shared.hooked < all.hooked,
        "{shared:?}"
    );
    assert_eq!((plain.hooked, plain.stubs, plain.gates.len()), (0, 0, 0));
    assert_eq!(shared.gates.len(), 1);
}
