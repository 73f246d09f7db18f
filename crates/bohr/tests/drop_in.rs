//! What real projects ask of a compiler and a linker, each built with bohr, run,
//! and run again as a control profile: both must do what the plain build does.

use crate::project;

use project::Project;

/// Counts in two threads and ends with 42.
const MAIN: &str = r"
#include <pthread.h>
int add(int a, int b);
static int total;
static void *work(void *argument) { total = add(total, *(int *)argument); return 0; }
int main(void) {
    int half = 21;
    for (int i = 0; i < 2; i++) {
        pthread_t thread;
        pthread_create(&thread, 0, work, &half);
        pthread_join(thread, 0);
    }
    return total;
}
";
const ADD: &str = "int add(int a, int b) { return a + b; }";

fn project() -> Project {
    Project::of(&[("main.c", MAIN), ("add.c", ADD)])
}

/// Builds `app`, which must end with 42, natively and as a profile; gives what
/// bohr says while it makes the profile.
#[track_caller]
fn both_work(project: &Project, lines: &[&str]) -> String {
    for line in lines {
        project.bohr(line);
    }
    assert_eq!(
        project.output("./app", &[]).status.code(),
        Some(42),
        "{lines:?}"
    );
    let said = project.bohr_output("profile app -o app.control");
    let message = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(said.status.success(), "{lines:?}: {message}");
    let code = project.output("./app.control", &[]).status.code();
    assert_eq!(code, Some(42), "{lines:?}: the profile");
    message
}

#[test]
fn levels_addresses_and_linkers() {
    let project = project();
    for options in [
        "-O0",
        "-Og -g",
        "-O3 -no-pie",
        "-Oz -pie -fPIE",
        "-O2 -static",
        "-O2 -static-pie",
        "-O2 -fuse-ld=gold -Wl,--gc-sections -ffunction-sections",
        "-O2 -fuse-ld=lld -Wl,-z,now,-z,relro -Wl,--hash-style=gnu",
        "-O1 -Werror -Wall -Wextra -pedantic -std=c11",
        "-O1 -fsanitize=undefined",
        "-O1 -fsanitize=address",
    ] {
        let message = both_work(&project, &[&format!("cc {options} main.c add.c -o app")]);
        assert_eq!(message, "", "{options}");
    }
}

#[test]
fn sources_from_anywhere() {
    let project = project();
    project.write("words", "-O2 \"main.c\"\n'add.c' -o app");
    both_work(&project, &["cc @words"]);
    let mut command = project.command("sh", &["-c", "$CC -O2 -x c - -x none add.c -o app <main.c"]);
    assert!(command.status().unwrap().success());
    project.bohr("profile app -o app.control");
    assert_eq!(project.output("./app.control", &[]).status.code(), Some(42));
}

#[test]
fn archives_of_every_kind() {
    let project = project();
    project.write("native.c", "int native(void) { return 1; }");
    project.run("gcc", &["-c", "native.c"]);
    project.bohr("cc -O2 -c add.c");
    project.run("ar", &["rcsT", "thin.a", "add.o"]);
    assert_eq!(both_work(&project, &["cc main.c thin.a -o app"]), "");
    project.run("ar", &["rcs", "mixed.a", "native.o", "add.o"]);
    assert_eq!(both_work(&project, &["cc main.c mixed.a -o app"]), "");
    let line = "cc main.c -Wl,--whole-archive mixed.a -Wl,--no-whole-archive -o app";
    let message = both_work(&project, &[line]);
    assert!(
        message.starts_with("bohr: 1 part linked without hooks: mixed.a(native.o)"),
        "{message}"
    );
    // A linker script that passes for a library.
    project.write("libadd.so", "INPUT(thin.a)");
    both_work(&project, &["cc main.c -L. -ladd -o app"]);
}

#[test]
fn assembly_is_linked_and_counted() {
    let project = project();
    let text = ".globl add\nadd: leal (%rdi,%rsi), %eax\nret\n.section .note.GNU-stack\n";
    project.write("add.s", text);
    let message = both_work(&project, &["cc -O2 -o app main.c add.s"]);
    assert!(
        message.starts_with("bohr: 1 part linked without hooks"),
        "{message}"
    );
    assert!(
        message.contains("add.o (assembly, or compiled without bohr)"),
        "{message}"
    );
    let message = both_work(
        &project,
        &["cc -fno-integrated-as -c add.c", "cc main.c add.o -o app"],
    );
    assert_eq!(message.lines().count(), 1, "{message}");
}

#[test]
fn names_that_the_system_uses_too() {
    let project = project();
    project.bohr("cc -O2 -c add.c -o crtools.o");
    project.run("ar", &["rcs", "libutil.a", "crtools.o"]);
    for line in ["cc main.c crtools.o -o app", "cc main.c -L. -lutil -o app"] {
        assert_eq!(both_work(&project, &[line]), "");
        assert_eq!(project.parts("app").bitcode.len(), 2, "{line}");
    }
}

#[test]
fn objects_that_were_changed_are_linked_as_they_are() {
    let project = project();
    for tool in ["objcopy", "llvm-objcopy-22"] {
        // A definition, then a reference of another name.
        for (file, main, add) in [("add.o", "plus(", "add("), ("main.o", "add(", "plus(")] {
            project.write("main.c", &MAIN.replace("add(", main));
            project.write("add.c", &ADD.replace("add(", add));
            project.bohr("cc -O2 -c main.c add.c");
            project.run(tool, &["--redefine-sym", "add=plus", file]);
            expect_changed(&project, tool, "cc main.o add.o -o app", file);
        }
        // A function made local in one object leaves its name to another.
        project.write("main.c", MAIN);
        project.write("add.c", ADD);
        project.write(
            "other.c",
            "int add(int a, int b) { return a * b; } int other(void) { return add(1, 2); }",
        );
        project.bohr("cc -O2 -c main.c add.c other.c");
        project.run(tool, &["--localize-symbol=add", "other.o"]);
        expect_changed(&project, tool, "cc main.o add.o other.o -o app", "other.o");
        project.bohr("cc -O2 -c other.c");
        project.run(tool, &["--weaken", "other.o"]);
        expect_changed(&project, tool, "cc main.o add.o other.o -o app", "other.o");
    }
}

#[track_caller]
fn expect_changed(project: &Project, tool: &str, link: &str, file: &str) {
    let message = both_work(project, &[link]);
    let expected = format!("{file} (its symbols are not those of its bitcode");
    assert!(message.contains(&expected), "{tool}: {message}");
}

#[test]
fn assembly_in_functions_with_symbols_of_its_own() {
    let project = project();
    // As the probes of SystemTap define theirs.
    let probe = r#"__asm__ volatile(".pushsection .base,\"aG\",\"progbits\",.base,comdat\n"
        ".weak _.base\n_.base: .space 1\n.popsection");"#;
    project.write("add.c", &ADD.replace("return", &format!("{probe} return")));
    assert_eq!(both_work(&project, &["cc -O1 main.c add.c -o app"]), "");
}

#[test]
fn objects_without_their_debug_information_are_as_good() {
    for tool in ["strip", "llvm-strip-22"] {
        let project = project();
        project.bohr("cc -g -O2 -c main.c add.c");
        project.run(tool, &["-g", "main.o", "add.o"]);
        assert_eq!(
            both_work(&project, &["cc main.o add.o -o app"]),
            "",
            "{tool}"
        );
    }
}

#[test]
fn wrapped_symbols_go_through_their_wrapper() {
    let project = project();
    project.write(
        "wrap.c",
        "int __real_add(int, int); int calls; int __wrap_add(int a, int b) { calls++; return __real_add(a, b); }",
    );
    let counted = "extern int calls; return calls == 2 ? total : 1;";
    project.write("main.c", &MAIN.replace("return total;", counted));
    project.run("gcc", &["-c", "wrap.c", "-o", "native.o"]);
    for linker in ["bfd", "lld"] {
        for wrapper in ["wrap.c", "native.o"] {
            let line =
                format!("cc -O1 main.c add.c {wrapper} -Wl,--wrap=add -fuse-ld={linker} -o app");
            both_work(&project, &[&line]);
        }
    }
}

/// lld wraps references in the file of the definition, the others do not; a
/// profile does as its program.
#[test]
fn a_wrapped_symbol_in_its_own_file() {
    let project = project();
    project.write(
        "wrap.c",
        "int __real_add(int, int); int __wrap_add(int a, int b) { return __real_add(a, b) + 100; }",
    );
    let add = "int add(int, int); int (*table)(int, int) = add;
        __attribute__((noinline)) int add(int a, int b) { return a + b; }
        int own(void) { return add(20, 1) + table(20, 1); }";
    project.write("add.c", add);
    project.write("main.c", "int own(void); int main(void) { return own(); }");
    for (linker, code) in [("bfd", 42), ("gold", 42), ("mold", 42), ("lld", 242)] {
        project.bohr(&format!(
            "cc -O1 main.c add.c wrap.c -Wl,--wrap=add -fuse-ld={linker} -o app"
        ));
        project.bohr("profile app -o app.control");
        for program in ["./app", "./app.control"] {
            let found = project.output(program, &[]).status.code();
            assert_eq!(found, Some(code), "{program} by {linker}");
        }
    }
}

#[test]
fn plugins_and_their_hosts_in_any_combination() {
    let project = project();
    project.write(
        "plugin.c",
        &MAIN.replace("int main(void)", "int plugin(void)"),
    );
    project.write(
        "host.c",
        "#include <dlfcn.h>\nint main(int count, char **words) { (void)count; void *library = dlopen(words[1], RTLD_NOW);
         return library ? ((int (*)(void))dlsym(library, \"plugin\"))() : 1; }",
    );
    project.write("map", "{ global: plugin; local: *; };");
    project.bohr(
        "cc -O2 -shared -fPIC plugin.c add.c -Wl,--version-script=map -Wl,-z,defs -o plugin.so",
    );
    project.bohr("cc -O2 host.c -rdynamic -o host");
    project.bohr("profile plugin.so -o hooked.so");
    project.bohr("profile host -o hooked");
    for host in ["./host", "./hooked"] {
        for plugin in ["./plugin.so", "./hooked.so"] {
            let code = project.output(host, &[plugin]).status.code();
            assert_eq!(code, Some(42), "{host} {plugin}");
        }
    }
}

#[test]
fn libraries_without_a_name_of_their_own() {
    let project = project();
    std::fs::create_dir(project.path("sub")).unwrap();
    project.bohr("cc -O2 -shared -fPIC add.c -o sub/libadd.so");
    for linker in ["bfd", "lld"] {
        both_work(
            &project,
            &[&format!("cc main.c sub/libadd.so -fuse-ld={linker} -o app")],
        );
    }
}

#[test]
fn openmp_is_left_alone() {
    let project = Project::of(&[(
        "app.c",
        "int main(void) { int sum = 0;
         #pragma omp parallel for reduction(+ : sum) num_threads(4)
         for (int i = 0; i < 43; i++) sum += i == 1 ? 42 : 0;
         return sum; }",
    )]);
    both_work(&project, &["cc -fopenmp -O2 app.c -o app"]);
}

#[test]
fn a_static_or_shared_library_of_rust_in_a_c_program() {
    let project = project();
    std::fs::create_dir_all(project.path("sum/src")).unwrap();
    project.write(
        "sum/Cargo.toml",
        "[workspace]\n[package]\nname = \"sum\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\
         [lib]\ncrate-type = [\"staticlib\", \"cdylib\"]\n",
    );
    project.write(
        "sum/src/lib.rs",
        "#[unsafe(no_mangle)] pub extern \"C\" fn add(a: i32, b: i32) -> i32 {
            std::thread::spawn(move || a + b).join().unwrap() }",
    );
    let mut cargo = project.command(
        project::BOHR,
        &[
            "cargo",
            "build",
            "-q",
            "--offline",
            "--manifest-path",
            "sum/Cargo.toml",
        ],
    );
    cargo.env_remove("CC").env_remove("CXX");
    project::expect_success(cargo);
    let message = both_work(
        &project,
        &["cc main.c sum/target/debug/libsum.a -lm -ldl -o app"],
    );
    // The one that rustc makes itself, without bitcode: the way to the allocator.
    assert!(
        message.starts_with("bohr: 1 part linked without hooks"),
        "{message}"
    );
    both_work(&project, &["cc main.c sum/target/debug/libsum.so -o app"]);
    project.bohr("profile sum/target/debug/libsum.so -o hooked.so");
    let mut hooked = project.command("./app.control", &[]);
    hooked.env("LD_PRELOAD", project.path("hooked.so"));
    assert_eq!(hooked.status().unwrap().code(), Some(42));
}

#[test]
fn the_bundle_survives_copies_installation_and_strip() {
    let project = project();
    project.bohr("cc -O2 -g main.c add.c -o app");
    let expected = project.bohr("profile app");
    project.run("cp", &["app", "copied"]);
    project.run("install", &["-m", "755", "app", "installed"]);
    project.run("install", &["-s", "-m", "755", "app", "stripped"]);
    project.run("cp", &["app", "stripped2"]);
    project.run("llvm-strip-22", &["--strip-debug", "stripped2"]);
    for program in ["copied", "installed", "stripped", "stripped2"] {
        assert_eq!(
            project.bohr(&format!("profile {program}")),
            expected,
            "{program}"
        );
    }
}
