//! `bohr profile` with the real `bohr-lower`, and the cache behind it.
//!
//! `cargo build --workspace` puts `bohr-lower` beside `bohr`; without it these
//! tests say that it is missing.

use crate::project;

use project::Project;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

const SOURCE: &str = r#"
#include <pthread.h>
#include <stdio.h>
static int total;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *add(void *argument) {
    pthread_mutex_lock(&lock);
    total += *(int *)argument;
    pthread_mutex_unlock(&lock);
    return 0;
}
int main(void) {
    int numbers[2] = {20, 22};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, add, &numbers[i]);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    printf("%d\n", total);
    return 3;
}
"#;

/// The profile of a program, by its place in the cache.
fn profile(project: &Project, program: &str) -> PathBuf {
    project
        .bohr(&format!("profile {program}"))
        .trim_end()
        .into()
}

fn profiles_in_cache(project: &Project) -> Vec<String> {
    let entries = std::fs::read_dir(project.path("../cache/profiles"));
    entries
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

#[test]
fn a_profile_with_control_off_is_the_same_program() {
    let project = Project::of(&[("a.c", SOURCE)]);
    for options in [
        "-O0 -g",
        "-O2",
        "-O2 -static",
        "-O1 -fuse-ld=lld-22 -Wl,--gc-sections",
    ] {
        project.bohr(&format!("cc {options} a.c -o app"));
        project.bohr("profile app -o app.control");
        let output = project.output("./app.control", &[]);
        assert_eq!(output.status.code(), Some(3), "{options}");
        assert_eq!(output.stdout, b"42\n", "{options}");
    }
}

#[test]
fn profiles_of_projects_run() {
    let make = Project::copy_of("make");
    make.run("make", &["-e"]);
    make.bohr("profile counter -o counter.control");
    assert_eq!(make.run("./counter.control", &[]), "42\n");

    let meson = Project::copy_of("meson");
    meson.run("meson", &["setup", "out"]);
    meson.run("meson", &["compile", "-C", "out"]);
    meson.bohr("profile out/ring -o ring.control");
    assert_eq!(meson.run("./ring.control", &[]), "42\n");
}

#[test]
fn a_rust_program_with_a_c_part_has_a_profile() {
    let project = Project::copy_of("cargo");
    let mut build = project.command(
        project::BOHR,
        &["cargo", "build", "-q", "--release", "--offline"],
    );
    build.env_remove("CC").env_remove("CXX");
    project::expect_success(build);
    project.bohr("profile target/release/app -o app.control");
    assert_eq!(project.run("./app.control", &[]), "Rectangle 42\n");
}

#[test]
fn a_profile_is_made_once_for_the_same_program() {
    let project = Project::of(&[("a.c", SOURCE)]);
    project.bohr("cc a.c -o app");
    let first = profile(&project, "app");
    let made = std::fs::metadata(&first).unwrap();
    project.bohr("cc a.c -o app");
    std::fs::copy(project.path("app"), project.path("elsewhere")).unwrap();
    for program in ["app", "elsewhere"] {
        assert_eq!(profile(&project, program), first);
        let now = std::fs::metadata(&first).unwrap();
        assert_eq!(
            (now.ino(), now.mtime_nsec()),
            (made.ino(), made.mtime_nsec())
        );
    }
    project.write("a.c", &SOURCE.replace("20, 22", "21, 22"));
    project.bohr("cc a.c -o app");
    assert_ne!(profile(&project, "app"), first);
    assert_eq!(profiles_in_cache(&project).len(), 2);
}

#[test]
fn many_at_once_make_one_profile() {
    let project = Project::of(&[("a.c", SOURCE)]);
    project.bohr("cc a.c -o app");
    let processes: Vec<_> = (0..4)
        .map(|_| {
            let mut command = project.command(project::BOHR, &["profile", "app"]);
            command
                .stdout(std::process::Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    let places: Vec<Vec<u8>> = processes
        .into_iter()
        .map(|process| process.wait_with_output().unwrap().stdout)
        .collect();
    assert!(places[0].ends_with(b"/program\n"));
    assert!(places.iter().all(|place| *place == places[0]), "{places:?}");
    assert_eq!(profiles_in_cache(&project).len(), 1);
}

/// What bohr says if the maker of profiles is a script that does this.
fn refused_by(project: &Project, script: &str) -> String {
    project.write("lower", &format!("#!/bin/sh\n{script}\n"));
    project.run("chmod", &["+x", "lower"]);
    project.bohr("cc a.c -o app");
    let mut command = project.command(project::BOHR, &["profile", "app"]);
    let output = command
        .env("BOHR_LOWER", project.path("lower"))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn a_maker_that_is_interrupted_is_nobodys_bug() {
    let project = Project::of(&[("a.c", SOURCE)]);
    let message = refused_by(&project, "kill -INT $$");
    assert!(message.contains("interrupted while"), "{message}");
    assert!(!message.contains("bug in bohr"), "{message}");
}

#[test]
fn a_dying_maker_is_an_error_and_leaves_nothing() {
    let project = Project::of(&[("a.c", SOURCE)]);
    let message = refused_by(&project, "echo started > \"$2/model\"; kill -SEGV $$");
    assert!(
        message.contains("bug in bohr") && message.contains("signal 11"),
        "{message}"
    );
    assert_eq!(profiles_in_cache(&project), Vec::<String>::new());
    // Nothing that is broken was kept.
    assert!(profile(&project, "app").is_file());
}

/// Waits until `condition` holds; a minute is far more than any machine needs.
#[track_caller]
fn wait_until(what: &str, condition: impl Fn() -> bool) {
    for _ in 0..6_000 {
        if condition() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("{what} has not come about");
}

#[test]
fn an_interruption_leaves_neither_files_nor_processes() {
    let project = Project::of(&[("a.c", SOURCE)]);
    project.bohr("cc a.c -o app");
    project.write(
        "lower",
        "#!/bin/sh\necho half > \"$2/model\"\necho $$ > pid.new\nmv pid.new pid\nexec sleep 1000\n",
    );
    project.run("chmod", &["+x", "lower"]);
    for signal in ["-INT", "-TERM"] {
        let mut command = project.command(project::BOHR, &["profile", "app", "-o", "out"]);
        command.env("BOHR_LOWER", project.path("lower"));
        command.stderr(std::process::Stdio::piped());
        let bohr = command.spawn().unwrap();
        wait_until("a maker", || project.path("pid").exists());
        let maker = std::fs::read_to_string(project.path("pid")).unwrap();
        std::fs::remove_file(project.path("pid")).unwrap();
        assert_eq!(profiles_in_cache(&project).len(), 1, "the half-made one");
        project.run("kill", &[signal, &bohr.id().to_string()]);
        let output = bohr.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{signal}");
        let message = String::from_utf8(output.stderr).unwrap();
        assert!(message.contains("interrupted"), "{message}");
        assert_eq!(profiles_in_cache(&project), Vec::<String>::new());
        assert!(!project.path("out").exists());
        let process = format!("/proc/{}", maker.trim());
        assert!(!std::path::Path::new(&process).exists(), "{process}");
    }
}

#[test]
fn the_cache_forgets_what_was_not_used() {
    let project = Project::of(&[("a.c", SOURCE)]);
    let make = |text: &str| {
        project.write("a.c", text);
        project.bohr("cc a.c -o app");
        let mut command = project.command(project::BOHR, &["profile", "app"]);
        command.env("BOHR_CACHE_LIMIT", "1");
        project::expect_success(command);
    };
    make(SOURCE);
    make(&SOURCE.replace("20, 22", "21, 22"));
    assert_eq!(profiles_in_cache(&project).len(), 1);
}
