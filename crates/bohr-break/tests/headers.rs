//! The headers for C and C++, compiled by real compilers and run.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&path).expect("a folder");
        Folder(path)
    }

    /// Compiles into an object or a program.
    fn compile(&self, compiler: &str, flags: &[&str], sources: &[&str], output: &str) -> PathBuf {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let output = self.0.join(output);
        let source = |name: &&str| match name.ends_with(".o") {
            true => self.0.join(name),
            false => here.join("tests/programs").join(name),
        };
        let status = Command::new(compiler)
            .args(["-g", "-O1", "-Wall", "-Wextra", "-Werror", "-pthread", "-I"])
            .arg(here.join("../../include"))
            .args(flags)
            .args(sources.iter().map(source))
            .arg("-o")
            .arg(&output)
            .status();
        assert!(status.expect("a compiler").success());
        output
    }
}

fn run(program: &Path, summary: &str) -> Output {
    let output = Command::new(program)
        .env("BOHR_BREAK_SUMMARY", summary)
        .output()
        .expect("the program starts");
    assert!(output.status.success(), "{output:?}");
    output
}

#[test]
fn threads_meet_in_c() {
    let folder = Folder::new("c");
    for (compiler, standard) in [("clang-22", "-std=c11"), ("clang-22", "-std=gnu2x")] {
        let flags = [standard, "-DBOHR_BREAK=1"];
        let program = folder.compile(compiler, &flags, &["meetings.c"], "meetings");
        let output = run(&program, "json");
        let summary = String::from_utf8(output.stderr).expect("text");
        let field = |name: &str, field: &str| -> u64 {
            let after = summary.split(&format!("\"name\":\"{name}\"")).nth(1);
            let after = after.and_then(|rest| rest.split(&format!("\"{field}\":")).nth(1));
            let digits: String = after
                .expect("the breakpoint is in the summary")
                .chars()
                .take_while(char::is_ascii_digit)
                .collect();
            digits.parse().expect("a number")
        };
        assert_eq!(
            (field("order", "visits"), field("order", "hits")),
            (100, 50)
        );
        assert_eq!(field("apart", "timeouts"), 2);
        assert_eq!(
            (field("held", "postponements"), field("held", "artefacts")),
            (1, 2)
        );
        assert!(
            !summary.contains("\"mean_time_to_error\":0.000000"),
            "{summary}"
        );
        let hits: u64 = String::from_utf8(output.stdout)
            .expect("text")
            .trim()
            .trim_start_matches("crowd ")
            .parse()
            .expect("a number");
        assert_eq!(hits, 2 * field("crowd", "hits"));
        // Who comes to the other side while its partner is about to begin passes.
        assert!(hits > 0 && hits + field("crowd", "timeouts") <= 800);
        assert_eq!((field("both", "hits"), field("both", "timeouts")), (1, 0));
        // Who is held up beside the last meeting is let go, long before its pause is over.
        assert_eq!(
            (field("bounded", "hits"), field("bounded", "timeouts")),
            (1, 0)
        );
    }
}

#[test]
fn c_and_cpp_share_breakpoints() {
    let folder = Folder::new("cpp");
    let armed = "-DBOHR_BREAK=1";
    folder.compile("clang-22", &[armed, "-c"], &["shared.c"], "shared.o");
    let sources = ["meetings.cpp", "shared.o"];
    let program = folder.compile("clang++-22", &["-std=c++20", armed], &sources, "meetings");
    let output = run(&program, "text");
    let summary = String::from_utf8(output.stderr).expect("text");
    assert!(summary.contains("a condition threw and does not hold: as it is meant to"));
    // Only who holds the lock is held up.
    assert!(summary.contains("breakpoint held: 2 visits, 1 postponed, 0 hits, 1 timed out, mean"));
    assert!(
        summary.contains("breakpoint shared: 40 visits, 20 postponed, 20 hits, 0 timed out, first"),
        "{summary}"
    );
}

#[test]
fn options_stand_in_braces_whether_compiled_in_or_not() {
    let folder = Folder::new("braces");
    for (armed, hits) in [("-DBOHR_BREAK=1", "10\n"), ("-DBOHR_BREAK=0", "0\n")] {
        let flags = ["-std=c++20", "-Wall", "-Wextra", "-Werror", armed];
        let program = folder.compile("clang++-22", &flags, &["braces.cpp"], "braces");
        let output = Command::new(program).env("BOHR_BREAK", "all").output();
        let printed = String::from_utf8(output.expect("it starts").stdout);
        assert_eq!(printed.expect("text"), hits, "{armed}");
    }
}

#[test]
fn nothing_is_left_of_breakpoints_that_are_not_wanted() {
    let folder = Folder::new("nothing");
    let flags = ["-c", "-std=c11", "-O2"];
    let object = folder.compile("clang-22", &flags, &["shared.c"], "shared.o");
    let symbols = Command::new("nm").arg(object).output().expect("nm");
    let symbols = String::from_utf8(symbols.stdout).expect("text");
    assert!(symbols.contains("pass_second"));
    assert!(!symbols.contains("bohr_break"), "{symbols}");
}

#[test]
fn the_environment_arms_and_names_them() {
    let folder = Folder::new("environment");
    let flags = ["-DBOHR_BREAK=1"];
    let program = folder.compile("clang-22", &flags, &["by_environment.c"], "program");
    let count = |value: Option<&str>| {
        let mut command = Command::new(&program);
        command.env_remove("BOHR_BREAK");
        if let Some(value) = value {
            command.env("BOHR_BREAK", value);
        }
        let output = command.env("BOHR_BREAK_PAUSE", "1").output();
        String::from_utf8(output.expect("it starts").stderr).expect("text")
    };
    assert_eq!(count(None), "one 0, two 0\n");
    assert_eq!(count(Some("all")), "one 1, two 1\n");
    assert_eq!(count(Some("two")), "one 0, two 1\n");
    assert_eq!(count(Some("three, one")), "one 1, two 0\n");
}

#[test]
fn a_condition_on_what_was_freed_does_not_hold() {
    let folder = Folder::new("freed");
    let flags = ["-DBOHR_BREAK=1", "-fsanitize=address"];
    let program = folder.compile("clang-22", &flags, &["freed.c"], "freed");
    let output = run(&program, "text");
    let summary = String::from_utf8(output.stderr).expect("text");
    assert!(
        summary.contains("breakpoint freed: what a thread brought was freed"),
        "{summary}"
    );
    assert!(summary.contains("0 hits, 1 timed out"), "{summary}");
}

#[test]
fn the_schedule_that_the_guide_shows_is_the_only_one() {
    let folder = Folder::new("guide");
    let guide = include_str!("../../../docs/breakpoints.md");
    let shown = guide
        .split("```c\n")
        .nth(1)
        .expect("the guide has a test in C");
    let shown = shown.split("```").next().expect("it ends");
    let source = folder.0.join("cache.c");
    std::fs::write(&source, shown).expect("it can be written");
    let name = source.to_str().expect("a name in UTF-8");
    let program = folder.compile("clang-22", &[name], &[], "cache");
    for _ in 0..20 {
        run(&program, "text");
    }
}

#[test]
fn children_have_nobody_else_at_their_breakpoints() {
    let folder = Folder::new("forked");
    let flags = ["-DBOHR_BREAK=1"];
    let program = folder.compile("clang-22", &flags, &["forked.c"], "forked");
    run(&program, "text");
}

#[test]
fn breakpoints_are_shared_with_libraries_that_hide_their_own() {
    let folder = Folder::new("library");
    let hidden = ["-DBOHR_BREAK=1", "-fvisibility=hidden", "-fPIC", "-shared"];
    let library = folder.compile("clang-22", &hidden, &["library.c"], "libapart.so");
    let library = library.to_str().expect("a name in UTF-8");
    let flags = ["-DBOHR_BREAK=1", "-fvisibility=hidden", library];
    let program = folder.compile("clang-22", &flags, &["with_library.c"], "program");
    run(&program, "text");
}

#[test]
fn the_summary_is_printed_once_however_often_they_are_armed() {
    let folder = Folder::new("once");
    let source = folder.0.join("once.c");
    let text = "#include \"bohr_break.h\"\nint main(void) {\n    for (int i = 0; i < 3; i++) \
                {\n        bohr_break_arm();\n        (void)BOHR_BREAK_REACH(\"once\", 0, NULL);\n\
                        bohr_break_disarm();\n    }\n}\n";
    std::fs::write(&source, text).expect("it can be written");
    let flags = ["-DBOHR_BREAK=1", source.to_str().expect("a name in UTF-8")];
    let program = folder.compile("clang-22", &flags, &[], "once");
    let summary = String::from_utf8(run(&program, "text").stderr).expect("text");
    assert_eq!(
        summary.matches("breakpoint once: 3 visits").count(),
        1,
        "{summary}"
    );
}

#[test]
fn a_project_may_ask_for_any_warnings() {
    let folder = Folder::new("warnings");
    let c = [
        "-Wshadow",
        "-Wconversion",
        "-Wmissing-prototypes",
        "-Wpedantic",
    ];
    let all = [&["-DBOHR_BREAK=1", "-c", "-std=gnu11"], &c[..]].concat();
    folder.compile("clang-22", &all, &["shared.c"], "c.o");
    let all = [
        &["-DBOHR_BREAK=1", "-c", "-std=c++11", "-Wold-style-cast"],
        &c[..],
    ]
    .concat();
    folder.compile("clang++-22", &all, &["older.cpp"], "cpp.o");
}

#[test]
fn older_standards_are_enough() {
    let folder = Folder::new("older");
    let flags = ["-std=c++11", "-DBOHR_BREAK=1"];
    run(
        &folder.compile("clang++-22", &flags, &["older.cpp"], "older"),
        "text",
    );
    let flags = ["-std=c99", "-D_DEFAULT_SOURCE", "-DBOHR_BREAK=1"];
    folder.compile("clang-22", &flags, &["by_environment.c"], "by_environment");
}
