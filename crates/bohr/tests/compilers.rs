//! `bohr cc` and `bohr c++` against plain clang: the same objects, the same
//! messages, the same exit codes.

use crate::project;

use bohr_bundle::{Bundle, BundleError, Input, OutputKind};
use object::Object;
use project::{Parts, Project};

const C_SOURCE: &str = r#"
#include <pthread.h>
#include <stdio.h>
#include <string.h>
static int table[64];
static inline int mix(int a, int b) { return a * 31 + b; }
int sum(const int *numbers, int count) {
    int total = 0;
    for (int i = 0; i < count; i++) total = mix(total, numbers[i]);
    return total;
}
static void *fill(void *argument) {
    for (int i = 0; i < 64; i++) table[i] = i * *(int *)argument;
    return 0;
}
int main(void) {
    int factor = 3;
    pthread_t thread;
    pthread_create(&thread, 0, fill, &factor);
    pthread_join(thread, 0);
    char text[32];
    memset(text, 0, sizeof text);
    snprintf(text, sizeof text, "%d", sum(table, 64) & 0xff);
    puts(text);
    return 7;
}
"#;

const CXX_SOURCE: &str = r#"
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
struct Shape { virtual ~Shape() = default; virtual int area() const = 0; };
struct Square : Shape { int side = 6; int area() const override { return side * side; } };
template <class T> T twice(T value) { return value + value; }
int main() {
    std::map<std::string, int> areas;
    std::thread worker([&] { Square square; const Shape &shape = square; areas["s"] = shape.area(); });
    worker.join();
    try { throw std::runtime_error("boom"); } catch (const std::exception &error) {
        return twice(areas["s"]) - 65 + (error.what()[0] == 'b' ? 0 : 1);
    }
}
"#;

#[test]
fn native_code_is_what_plain_clang_gives() {
    let project = Project::of(&[("a.c", C_SOURCE), ("b.cpp", CXX_SOURCE)]);
    for level in ["-O0", "-O1", "-O2", "-O3", "-Os"] {
        for (plain, ours, source) in [("clang-22", "cc", "a.c"), ("clang++-22", "c++", "b.cpp")] {
            let link = |output: &str| {
                // Where variables live at which instruction can be told differently.
                let options = "-Wl,--build-id=none,--strip-debug";
                project.run(plain, &["it.o", "-fuse-ld=lld-22", options, "-o", output]);
                std::fs::read(project.path(output)).unwrap()
            };
            project.run(plain, &["-g", level, "-c", source, "-o", "it.o"]);
            let expected = link("plain");
            project.bohr(&format!("{ours} -g {level} -c {source} -o it.o"));
            assert!(has_bitcode(&project, "it.o"));
            // Plain clang links the fat object to the very same program.
            assert!(expected == link("ours"), "{level} {source}");
        }
    }
}

fn has_bitcode(project: &Project, file: &str) -> bool {
    let bytes = std::fs::read(project.path(file)).unwrap();
    let object = object::File::parse(&*bytes).unwrap();
    object.section_by_name(".llvm.lto").is_some()
}

#[test]
fn one_call_compiles_and_links() {
    let project = Project::of(&[
        ("a.c", "int two(void); int main(void) { return two(); }"),
        ("b.c", "int two(void) { return 2; }"),
        ("arguments", "a.c b.c\n-o \"app\""),
    ]);
    project.bohr("cc @arguments -g");
    let status = project.output("./app", &[]).status;
    assert_eq!(status.code(), Some(2));
    let parts = project.parts("app");
    assert_eq!((parts.bitcode.len(), parts.native.len()), (2, 0));
}

#[test]
fn every_linker_and_kind_of_output_carries_a_bundle() {
    let project = Project::of(&[
        ("main.c", "int two(void); int main(void) { return two(); }"),
        ("two.c", "int two(void) { return 2; }"),
    ]);
    project.bohr("cc -c -fPIC main.c two.c");
    let cases = [
        ("-fuse-ld=bfd", OutputKind::PositionIndependent),
        ("-fuse-ld=gold", OutputKind::PositionIndependent),
        ("-fuse-ld=mold", OutputKind::PositionIndependent),
        ("-fuse-ld=lld-22", OutputKind::PositionIndependent),
        ("-fuse-ld=lld -no-pie", OutputKind::Executable),
        ("-static", OutputKind::Executable),
        ("-static-pie", OutputKind::PositionIndependent),
        ("-static-libgcc -s", OutputKind::PositionIndependent),
        ("--ld-path=/usr/bin/ld.bfd", OutputKind::PositionIndependent),
    ];
    for (options, kind) in cases {
        project.bohr(&format!("cc main.o two.o -o app {options}"));
        assert_eq!(
            project.output("./app", &[]).status.code(),
            Some(2),
            "{options}"
        );
        assert_eq!(
            project.parts("app"),
            Parts::of(&["main.o", "two.o"], &[]),
            "{options}"
        );
        let bytes = std::fs::read(project.path("app")).unwrap();
        let bundle = Bundle::in_program(&bytes).unwrap();
        assert_eq!(bundle.link().output, kind, "{options}");
    }
}

#[test]
fn shared_libraries_carry_their_own_bundle_and_are_named() {
    let project = Project::of(&[
        ("main.c", "int two(void); int main(void) { return two(); }"),
        ("two.c", "int two(void) { return 2; }"),
        ("map", "V1 { global: two; local: *; };"),
    ]);
    project.bohr(
        "cc -shared -fPIC two.c -o libtwo.so.1 -Wl,-soname,libtwo.so.1 -Wl,--version-script=map",
    );
    project.bohr("cc main.c libtwo.so.1 -lm -Wl,--as-needed -lz -Wl,-rpath,$ORIGIN -o app");
    assert_eq!(project.output("./app", &[]).status.code(), Some(2));
    let library = std::fs::read(project.path("libtwo.so.1")).unwrap();
    let link = Bundle::in_program(&library).unwrap().link().clone();
    assert_eq!(link.output, OutputKind::SharedLibrary);
    assert_eq!(link.options.soname.as_deref(), Some("libtwo.so.1"));
    assert_eq!(
        link.options.scripts[0].text,
        b"V1 { global: two; local: *; };"
    );

    let program = std::fs::read(project.path("app")).unwrap();
    let link = Bundle::in_program(&program).unwrap().link().clone();
    assert_eq!(link.options.rpath, ["$ORIGIN"]);
    let libraries: Vec<(&str, bool)> = link
        .inputs
        .iter()
        .filter_map(|input| match input {
            Input::SharedLibrary { soname, needed, .. } => Some((soname.as_deref()?, *needed)),
            _ => None,
        })
        .collect();
    for expected in [
        ("libtwo.so.1", true),
        ("libc.so.6", true),
        ("libz.so.1", false),
    ] {
        assert!(
            libraries.contains(&expected),
            "{expected:?} in {libraries:?}"
        );
    }
}

#[test]
fn the_same_inputs_give_the_same_bytes() {
    let project = Project::of(&[("a.c", C_SOURCE)]);
    project.bohr("cc -O1 -c a.c");
    project.bohr("cc a.o -o app");
    let first = std::fs::read(project.path("app")).unwrap();
    project.bohr("cc a.o -o app");
    assert!(first == std::fs::read(project.path("app")).unwrap());

    // Objects with random names, in one call.
    let hash = || {
        project.bohr("cc -O1 a.c -o app");
        let bytes = std::fs::read(project.path("app")).unwrap();
        Bundle::in_program(&bytes).unwrap().hash()
    };
    assert_eq!(hash(), hash());
}

#[test]
fn what_is_no_object_passes_through_unchanged() {
    let project = Project::of(&[("a.c", C_SOURCE), ("bad.c", "int main(void) { return x; }")]);
    for line in [
        "-E a.c",
        "-S -O2 a.c -o -",
        "-M a.c",
        "--version",
        "-dumpmachine",
        "-print-search-dirs",
        "-fsyntax-only a.c",
        "-S -emit-llvm a.c -o -",
        "-c bad.c",
        "bad.c -o app",
        "-c missing.c",
        "-nonsense",
        "",
        "--target=aarch64-linux-gnu -ffreestanding -nostdinc -S -x c /dev/null -o -",
    ] {
        let words: Vec<&str> = line.split_whitespace().collect();
        let plain = project.output("clang-22", &words);
        let ours = project.bohr_output(&format!("cc {line}"));
        assert_eq!(plain.status.code(), ours.status.code(), "{line}");
        assert_eq!(text(&plain.stdout), text(&ours.stdout), "{line}");
        assert_eq!(text(&plain.stderr), text(&ours.stderr), "{line}");
    }
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[test]
fn a_failed_link_says_what_the_linker_says() {
    let project = Project::of(&[(
        "a.c",
        "int missing(void); int main(void) { return missing(); }",
    )]);
    project.bohr("cc -c a.c");
    for linker in ["-fuse-ld=bfd", "-fuse-ld=lld-22"] {
        let plain = project.output("clang-22", &["a.o", "-o", "app", linker]);
        let ours = project.bohr_output(&format!("cc a.o -o app {linker}"));
        assert_eq!(plain.status.code(), ours.status.code());
        assert!(text(&plain.stderr).contains("missing"));
        assert_eq!(
            named(text(&plain.stderr)),
            named(text(&ours.stderr)),
            "{linker}"
        );
    }
}

/// The linker calls itself by the path under which it was started.
fn named(message: &str) -> String {
    let line = |line: &str| match line.split_once(": ") {
        Some((program, rest)) if program.ends_with("ld.bfd") || program.ends_with("lld-22") => {
            rest.to_owned()
        }
        _ => line.to_owned(),
    };
    message.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn what_the_user_asks_the_linker_to_print_is_printed() {
    let project = Project::of(&[("a.c", "int main(void) { return 0; }")]);
    project.bohr("cc -c a.c");
    assert_eq!(project.bohr("cc a.o -o app"), "");
    assert!(
        project
            .bohr("cc a.o -o app -Wl,--trace")
            .lines()
            .any(|line| line == "a.o")
    );
    let map = project.bohr("cc a.o -o app -fuse-ld=bfd -Wl,-M");
    assert!(map.contains("Linker script and memory map"));
    assert_eq!(project.bohr("cc a.o -o app -fuse-ld=mold"), "");
    let map = project.bohr("cc a.o -o app -fuse-ld=mold -Wl,-M");
    assert!(map.contains("a.o:(.text)"));
}

#[test]
fn own_lto_sanitizers_and_other_standards_work() {
    let project = Project::of(&[("a.c", C_SOURCE), ("b.cpp", CXX_SOURCE)]);
    for line in [
        "cc -flto -O2 a.c -o app -fuse-ld=lld-22",
        "cc -flto=thin -O2 a.c -o app -fuse-ld=lld-22",
        "cc -fsanitize=address -Werror -g a.c -o app",
        "cc -fsanitize=undefined a.c -o app",
        "cc -fno-integrated-as a.c -o app",
        "cc -x c a.c -std=c11 -pthread -o app",
        "c++ -std=c++20 -O2 b.cpp -o app -static-libstdc++",
    ] {
        project.bohr(line);
        assert_eq!(
            project.output("./app", &[]).status.code(),
            Some(7),
            "{line}"
        );
        let parts = project.parts("app");
        let native = usize::from(line.contains("no-integrated-as"));
        assert_eq!(
            (parts.bitcode.len(), parts.native.len()),
            (1 - native, native),
            "{line}"
        );
    }
}

#[test]
fn foreign_objects_are_counted_and_partial_links_too() {
    let project = Project::of(&[
        (
            "main.c",
            "int two(void), one(void); int main(void) { return one() + two(); }",
        ),
        ("one.c", "int one(void) { return 1; }"),
        ("two.c", "int two(void) { return 2; }"),
    ]);
    project.run("gcc", &["-c", "two.c"]);
    project.bohr("cc -c main.c one.c");
    project.bohr("cc main.o one.o two.o -o app");
    assert_eq!(
        project.parts("app"),
        Parts::of(&["main.o", "one.o"], &["two.o"])
    );

    project.bohr("cc -c two.c");
    project.bohr("cc -r one.o two.o -o both.o");
    project.bohr("cc main.o both.o -o app");
    assert_eq!(
        project.parts("app"),
        Parts::of(&["main.o", "one.c", "two.c"], &[])
    );
    assert_eq!(project.output("./app", &[]).status.code(), Some(3));

    // Half of it is not known.
    project.run("gcc", &["-c", "two.c"]);
    project.bohr("cc -r one.o two.o -o both.o");
    project.bohr("cc main.o both.o -o app");
    assert_eq!(project.parts("app"), Parts::of(&["main.o"], &["both.o"]));
}

#[test]
fn bohr_ld_links_by_itself() {
    let project = Project::of(&[(
        "a.c",
        "void _start(void) { __asm__(\"mov $60, %eax; mov $5, %edi; syscall\"); }",
    )]);
    project.bohr("cc -c -ffreestanding a.c");
    project.bohr("ld a.o -o app");
    assert_eq!(project.output("./app", &[]).status.code(), Some(5));
    assert_eq!(project.parts("app"), Parts::of(&["a.o"], &[]));
    assert!(project.bohr("ld --version").contains("LLD"));
}

#[test]
fn linking_to_nowhere_works() {
    let project = Project::of(&[("a.c", "int main(void) { return 0; }")]);
    let output = project.bohr_output("cc a.c -o /dev/null");
    assert!(output.status.success());
    assert_eq!((text(&output.stdout), text(&output.stderr)), ("", ""));
}

#[test]
fn missing_tools_are_named_with_their_package() {
    let project = Project::of(&[("a.c", "int main(void) { return 0; }")]);
    for (place, program, package) in [
        ("", "ld.lld-22 is not installed", "apt-get install lld-22"),
        (
            "ld.lld",
            "clang-22 is not installed",
            "apt-get install clang-22",
        ),
    ] {
        let directory = project.path("llvm/bin");
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::create_dir_all(project.path("llvm/lib/clang/22")).unwrap();
        if !place.is_empty() {
            std::os::unix::fs::symlink("/bin/true", directory.join(place)).unwrap();
        }
        let mut command = project.command(project::BOHR, &["cc", "-c", "a.c"]);
        let output = command.env("BOHR_LLVM", &directory).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        let message = text(&output.stderr);
        assert!(
            message.contains(program) && message.contains(package),
            "{message}"
        );
    }
}

#[test]
fn another_llvm_is_refused() {
    let project = Project::of(&[("a.c", "int main(void) { return 0; }")]);
    project.write("rustc", "#!/bin/sh\necho 'LLVM version: 19.1.0'\n");
    let rustc = project.path("rustc");
    project.run("chmod", &["+x", "rustc"]);
    let wrapper = project.compiler("bohr-cc").replace("bohr-cc", "bohr-rustc");
    std::os::unix::fs::symlink(project::BOHR, &wrapper).unwrap();
    let output = project.output(&wrapper, &[rustc.to_str().unwrap(), "-vV"]);
    assert_eq!(output.status.code(), Some(2));
    let message = text(&output.stderr);
    assert!(
        message.contains("uses LLVM 19.1.0, bohr needs LLVM 22"),
        "{message}"
    );
}

#[test]
fn every_member_taken_from_interleaved_archives_is_there() {
    let project = Project::of(&[
        ("main.c", "int a(void); int main(void) { return a(); }"),
        ("a.c", "int b(void); int a(void) { return b(); }"),
        ("b.c", "int c(void); int b(void) { return c(); }"),
        ("c.c", "int c(void) { return 9; }"),
    ]);
    project.bohr("cc -c main.c a.c b.c c.c");
    project.run("ar", &["rcs", "one.a", "a.o", "c.o"]);
    project.run("ar", &["rcsT", "two.a", "b.o"]);
    for linker in ["bfd", "gold", "lld-22"] {
        let line = format!(
            "cc main.o -o app -fuse-ld={linker} -Wl,--start-group one.a two.a -Wl,--end-group"
        );
        project.bohr(&line);
        assert_eq!(
            project.output("./app", &[]).status.code(),
            Some(9),
            "{linker}"
        );
        let mut parts = project.parts("app");
        parts.bitcode.sort();
        assert_eq!(
            parts,
            Parts::of(&["a.o", "b.o", "c.o", "main.o"], &[]),
            "{linker}"
        );
    }
}

#[test]
fn profiles_are_refused_precisely() {
    let project = Project::of(&[("a.c", "int main(void) { return 0; }")]);
    project.run("clang-22", &["a.c", "-o", "plain"]);
    let output = project.bohr_output("profile plain");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains(&BundleError::Missing.to_string()));

    project.bohr("cc a.c -o app");
    let mut bytes = std::fs::read(project.path("app")).unwrap();
    let bundle = bytes
        .windows(8)
        .position(|window| window == b"bohr-bdl")
        .unwrap();
    bytes[bundle + 100] ^= 1;
    std::fs::write(project.path("damaged"), bytes).unwrap();
    let output = project.bohr_output("profile damaged");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("the bundle is damaged: its hash does not match"));
}
