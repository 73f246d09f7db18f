//! From a bug to lines in the source that show it every time: the patch applies,
//! builds and reproduces, also in a program that has changed since.

use crate::controlled;

use controlled::{Folder, read_file, read_source};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

const HEADERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../include");

/// How the two languages are compiled.
struct Language {
    extension: &'static str,
    bohr: &'static str,
    compiler: &'static str,
}

const C: Language = Language {
    extension: "c",
    bohr: "cc",
    compiler: "clang-22",
};

const CPP: Language = Language {
    extension: "cpp",
    bohr: "c++",
    compiler: "clang++-22",
};

/// A program of the tests in a folder of its own, hunted, with breakpoints.
fn broken(name: &str, language: &Language) -> (Folder, Value) {
    let folder = Folder::empty();
    let file = format!("{name}.{}", language.extension);
    let source = folder.path(&file);
    std::fs::write(&source, read_file(&file)).unwrap();
    let source = source.to_str().unwrap();
    let compile = [language.bohr, "-g", "-O1", "-pthread", source, "-o", name];
    folder.bohr(&compile).expect(0);
    let program = format!("./{name}");
    folder.bohr(&["hunt", "--", &program]).expect(1);
    let bug = format!("{name}.bohr");
    let told = folder.bohr(&["break", "from", &bug, "--runs", "25", "--json"]);
    let told = told.expect(0).json();
    (folder, told)
}

/// Applies the patch in a folder of its own, to this text, and builds it.
fn patched(folder: &Folder, name: &str, text: &str, language: &Language) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    let file = format!("{name}.{}", language.extension);
    std::fs::write(copy.path().join(&file), text).unwrap();
    let patch = folder.path(&format!("{name}.patch"));
    let mut command = Command::new("patch");
    command.args(["-p1", "--input"]).arg(patch);
    let output = command.current_dir(copy.path()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let mut compiler = Command::new(language.compiler);
    compiler.args([
        "-g",
        "-O1",
        "-Wall",
        "-Werror",
        "-pthread",
        "-DBOHR_BREAK=1",
        "-I",
        HEADERS,
    ]);
    compiler.arg(file).args(["-o", name]);
    let output = compiler.current_dir(copy.path()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    copy
}

/// What the regression test says about the program in a folder.
fn regression(folder: &Folder, name: &str, program: &Path) -> bool {
    let mut shell = Command::new("sh");
    shell.arg(folder.path(&format!("{name}.sh"))).arg(program);
    shell.output().unwrap().status.success()
}

#[test]
fn a_lost_update_becomes_a_patch_and_a_test() {
    let (folder, told) = broken("lost_update", &C);
    assert_eq!(told["probability"], 1.0, "{told}");
    assert_eq!(told["runs"], 25, "{told}");
    assert_eq!(told["breakpoints"].as_array().unwrap().len(), 1, "{told}");
    assert!(reproduces(&told), "{told}");
    for name in ["hits", "mean_time_to_error", "overhead"] {
        assert!(told[name].is_number(), "{name}: {told}");
    }
    for name in ["patch_file", "test_file"] {
        let file = told[name].as_str().unwrap();
        assert!(folder.path(file).exists(), "{told}");
    }
    let text = read_source("lost_update");
    let copy = patched(&folder, "lost_update", &text, &C);
    assert!(!regression(
        &folder,
        "lost_update",
        &copy.path().join("lost_update")
    ));
    let changed = format!("// One.\n// Two.\n// Three.\n{text}").replace(
        "    pthread_create(&second, NULL, deposit, NULL);\n",
        "    pthread_create(&second, NULL, deposit, NULL);\n    pthread_t idle;\n    \
         pthread_create(&idle, NULL, watch, NULL);\n    pthread_join(idle, NULL);\n",
    );
    let changed = changed.replace(
        "int main(void) {",
        "static void *watch(void *unused) {\n    return unused;\n}\n\nint main(void) {",
    );
    let copy = patched(&folder, "lost_update", &changed, &C);
    assert!(!regression(
        &folder,
        "lost_update",
        &copy.path().join("lost_update")
    ));
    let fixed = format!("#define FIXED\n{text}");
    let copy = patched(&folder, "lost_update", &fixed, &C);
    assert!(regression(
        &folder,
        "lost_update",
        &copy.path().join("lost_update")
    ));
}

/// What one thread does to the other the other can do to the one: only that way round
/// can sources keep it, where the statement of one of them would have to be cut in two.
#[test]
fn a_statement_need_not_be_cut_in_two() {
    let (_, told) = broken("audit", &C);
    assert_eq!(told["probability"], 1.0, "{told}");
    assert!(reproduces(&told), "{told}");
}

/// Nobody can be held up in the middle of a wait, but before the lock that it needs.
#[test]
fn a_missed_notification_needs_one_breakpoint() {
    let (_, told) = broken("early_signal", &C);
    assert_eq!(told["kind"], "missed-notify", "{told}");
    assert_eq!(told["error"], "stall", "{told}");
    assert_eq!(told["probability"], 1.0, "{told}");
    assert_eq!(told["breakpoints"].as_array().unwrap().len(), 1, "{told}");
    assert!(reproduces(&told), "{told}");
}

/// Of two that do the same, the one that came in the middle has to be the one.
#[test]
fn three_threads_meet_where_two_breakpoints_would_not_do() {
    let (_, told) = broken("boiler", &C);
    assert_eq!(told["probability"], 1.0, "{told}");
    assert_eq!(told["breakpoints"].as_array().unwrap().len(), 1, "{told}");
    let sides = told["breakpoints"][0]["sides"].as_array().unwrap();
    assert_eq!(sides.len(), 3, "{told}");
    assert!(reproduces(&told), "{told}");
}

/// Two that run the same code do not come in the order in which they came when it failed,
/// so the breakpoints say who is who.
#[test]
fn threads_that_run_the_same_code_are_told_apart() {
    let (_, told) = broken("bookkeepers", &C);
    assert_eq!(told["probability"], 1.0, "{told}");
    let set = told["breakpoints"].to_string();
    assert!(
        set.contains("thread 1 of 2") && set.contains("thread 2 of 2"),
        "{told}"
    );
    assert!(reproduces(&told), "{told}");
}

/// Whether bohr has tried the patch, and it did what it should.
fn reproduces(told: &Value) -> bool {
    let number = |name: &str| told["patched"][name].as_u64();
    number("failures").is_some_and(|failures| failures * 10 >= number("runs").unwrap() * 9)
}

#[test]
fn a_line_that_was_put_inline_is_patched_where_it_matters() {
    let (_, told) = broken("put_inline", &C);
    assert!(reproduces(&told), "{told}");
}

/// A program of two objects, one of them out of an archive, is built again with the
/// patch; one whose building nobody knows is told so, and has its patch all the same.
#[test]
fn a_patch_is_tried_in_the_build_that_there_was() {
    let folder = Folder::empty();
    let (whole, end) = (read_source("lost_update"), "int main(void) {");
    let (account, main) = whole.split_at(whole.find(end).unwrap());
    let header = "#include <pthread.h>\n#include <assert.h>\nextern int balance;\n\
                  void *deposit(void *);\n";
    std::fs::create_dir(folder.path("src")).unwrap();
    let account = account.replace("static int balance", "int balance");
    let account = account.replace("static void *deposit", "void *deposit");
    std::fs::write(folder.path("src/account.c"), account).unwrap();
    std::fs::write(folder.path("src/main.c"), format!("{header}{main}")).unwrap();
    for name in ["account", "main"] {
        let source = format!("src/{name}.c");
        let object = format!("{name}.o");
        let flags = ["cc", "-g", "-O1", "-MD", "-c", &source, "-o", &object];
        folder.bohr(&flags).expect(0);
    }
    let mut archiver = Command::new("ar");
    archiver.args(["rcs", "libaccount.a", "account.o"]);
    let made = archiver.current_dir(folder.path(".")).status();
    assert!(made.unwrap().success());
    let link = ["cc", "-pthread", "main.o", "-L.", "-laccount", "-o", "bank"];
    folder.bohr(&link).expect(0);
    folder.bohr(&["hunt", "--", "./bank"]).expect(1);
    let from = ["break", "from", "bank.bohr", "--runs", "10", "--json"];
    let told = folder.bohr(&from).expect(0).json();
    assert!(reproduces(&told), "{told}");

    std::fs::rename(folder.path("bank"), folder.path("moved")).unwrap();
    let elsewhere = [&from[..], &["--program", "./moved"]].concat();
    let told = folder.bohr(&elsewhere).expect(0).json();
    assert_eq!(told["patched"]["tried"], false, "{told}");
    assert!(
        told["patched"]["told"]
            .as_str()
            .unwrap()
            .contains("not known")
    );
    assert!(told["patch_file"].is_string(), "{told}");
}

/// What `bohr break library` writes is what a patched program needs.
#[test]
fn the_library_comes_with_bohr() {
    let folder = Folder::empty();
    folder.bohr(&["break", "library", "vendor"]).expect(0);
    for (name, compiler) in [
        ("bohr_break.h", "clang-22"),
        ("bohr_break.hpp", "clang++-22"),
    ] {
        let language = if name.ends_with("hpp") { "c++" } else { "c" };
        let mut command = Command::new(compiler);
        command.args(["-DBOHR_BREAK=1", "-fsyntax-only", "-x", language, "-I"]);
        command.arg(folder.path("vendor/include")).arg("-include");
        command.arg(name).arg("/dev/null");
        assert!(command.status().unwrap().success(), "{name}");
    }
    let mut rustc = Command::new("rustc");
    rustc.args([
        "--edition",
        "2024",
        "--crate-type",
        "rlib",
        "--emit",
        "metadata",
    ]);
    rustc
        .args(["--cfg", "feature=\"armed\"", "--out-dir"])
        .arg(folder.path("."));
    let made = rustc
        .arg(folder.path("vendor/bohr-break/src/lib.rs"))
        .status();
    assert!(made.unwrap().success());
}

/// Also in a package that is a workspace, as cargo finds those that lie within.
#[test]
fn the_crate_can_lie_within_a_workspace() {
    let folder = Folder::empty();
    folder.bohr(&["break", "library", "vendor"]).expect(0);
    let manifest = "[package]\nname = \"bank\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
                    [dependencies]\nbohr-break = { path = \"vendor/bohr-break\", features = [\"armed\"] }\n";
    std::fs::create_dir(folder.path("src")).unwrap();
    let main = "static B: bohr_break::Breakpoint = bohr_break::Breakpoint::conflict(\"b\");\n\
                fn main() {\n    B.reach(0, &B);\n}\n";
    std::fs::write(folder.path("src/main.rs"), main).unwrap();
    let text = format!("{manifest}\n[workspace]\n");
    std::fs::write(folder.path("Cargo.toml"), text).unwrap();
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["check", "--offline", "--target-dir"]);
    cargo.arg(folder.path("target"));
    let made = cargo.current_dir(folder.path(".")).output().unwrap();
    assert!(made.status.success(), "{made:?}");
}

#[test]
fn a_deadlock_needs_one_breakpoint() {
    let (folder, told) = broken("crossed_locks", &C);
    assert_eq!(told["probability"], 1.0, "{told}");
    assert_eq!(told["kind"], "deadlock", "{told}");
    assert_eq!(told["error"], "deadlock", "{told}");
    assert_eq!(told["breakpoints"].as_array().unwrap().len(), 1, "{told}");
    let copy = patched(&folder, "crossed_locks", &read_source("crossed_locks"), &C);
    let program = copy.path().join("crossed_locks");
    let stuck = Command::new("timeout")
        .arg("2")
        .arg(program)
        .env("BOHR_BREAK", "all")
        .status();
    assert_eq!(stuck.unwrap().code(), Some(124));
}

#[test]
fn a_patch_of_cpp_compiles_and_reproduces() {
    let (folder, told) = broken("overdrawn", &CPP);
    assert_eq!(told["probability"], 1.0, "{told}");
    let text = read_file("overdrawn.cpp");
    let test = |text: &str| {
        let copy = patched(&folder, "overdrawn", text, &CPP);
        regression(&folder, "overdrawn", &copy.path().join("overdrawn"))
    };
    assert!(!test(&text), "the bug is still there");
    assert!(test(&format!("#define FIXED\n{text}")));
}

#[test]
fn cmake_runs_the_regression_test() {
    let (folder, _) = broken("lost_update", &C);
    let copy = patched(&folder, "lost_update", &read_source("lost_update"), &C);
    let script = "lost_update.sh";
    std::fs::copy(folder.path(script), copy.path().join(script)).unwrap();
    let text = std::fs::read_to_string(folder.path(script)).unwrap();
    // What the script's own first lines say, in a project that has it all.
    let line = text
        .lines()
        .find(|line| line.contains("add_test("))
        .unwrap();
    let line = line
        .trim_start_matches('#')
        .replace("PROGRAM>", "lost_update>");
    let project = format!(
        "cmake_minimum_required(VERSION 3.16)\nproject(bank C)\nenable_testing()\n\
         add_executable(lost_update lost_update.c)\n\
         target_compile_options(lost_update PRIVATE -DBOHR_BREAK=1 -pthread -I{HEADERS})\n\
         target_link_options(lost_update PRIVATE -pthread)\n{line}\n"
    );
    std::fs::write(copy.path().join("CMakeLists.txt"), project).unwrap();
    let run = |program: &str, words: &[&str]| {
        let mut command = Command::new(program);
        command.args(words).env("CC", "clang-22");
        command.current_dir(copy.path()).output().unwrap()
    };
    let made = run("cmake", &["-S", ".", "-B", "build"]);
    assert!(made.status.success(), "{made:?}");
    let made = run("cmake", &["--build", "build"]);
    assert!(made.status.success(), "{made:?}");
    let tested = run("ctest", &["--test-dir", "build"]);
    let printed = String::from_utf8_lossy(&tested.stdout).into_owned();
    assert!(
        printed.contains("0% tests passed, 1 tests failed"),
        "{printed}"
    );
}
