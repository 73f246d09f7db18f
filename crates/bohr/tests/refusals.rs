//! What bohr says to input that it cannot use.

use crate::controlled;

use controlled::Folder;

#[track_caller]
fn refuses(folder: &Folder, words: &[&str], parts: &[&str]) {
    let messages = folder.bohr(words).expect(2).messages();
    for part in parts {
        assert!(
            messages.contains(part),
            "`{part}` is missing in:\n{messages}"
        );
    }
}

#[test]
fn programs_that_cannot_be_controlled() {
    let folder = Folder::with("lost_update", &["-static"]);
    refuses(
        &folder,
        &["hunt", "--", "./program"],
        &["statically linked", "bohr cc"],
    );
    folder.build("lost_update", &["-static"]);
    refuses(
        &folder,
        &["hunt", "--", "./program"],
        &["linked statically", "without -static"],
    );
    refuses(
        &folder,
        &["run", "--", "./nothing"],
        &["there is no program `./nothing`"],
    );
    refuses(&folder, &["run", "--", "/etc/passwd"], &["not executable"]);
    refuses(&folder, &["hunt"], &["PROGRAM"]);
    let words = ["hunt", "--strategy", "luck", "--", "./program"];
    refuses(&folder, &words, &["there is no strategy `luck`"]);
}

/// A limit that the runtime cannot live with is no failure of the program.
#[test]
fn too_little_address_space() {
    let folder = Folder::with("lost_update", &[]);
    for kibibytes in ["67108864", "1073741824"] {
        for command in ["hunt", "check", "run"] {
            let bohr = folder.command(&[command, "--", "./program"]);
            let script = format!("ulimit -v {kibibytes} && exec \"$0\" \"$@\"");
            let mut limited = std::process::Command::new("sh");
            limited.args(["-c", &script]).arg(bohr.get_program());
            limited.args(bohr.get_args()).current_dir(folder.path(""));
            let output = limited.output().expect("a shell");
            let ended = controlled::Ended { output }.expect(2);
            let messages = ended.messages();
            assert!(messages.contains("address space"), "{messages}");
            assert!(messages.contains("`ulimit -v unlimited`"), "{messages}");
        }
    }
}

/// Before the hunt, not after it.
#[test]
fn a_bug_that_could_not_be_written() {
    let folder = Folder::with("lost_update", &[]);
    for output in ["nowhere/bug", "program/bug", "."] {
        let words = ["hunt", "--runs", "1", "-o", output, "--", "./program"];
        refuses(
            &folder,
            &words,
            &[&format!("the file `{output}` cannot be used")],
        );
        let messages = folder.bohr(&words).expect(2).messages();
        assert!(!messages.contains("controls the program"), "{messages}");
    }
}

#[test]
fn bug_files_that_cannot_be_read() {
    let folder = Folder::with("lost_update", &[]);
    folder
        .bohr(&["hunt", "-o", "bug", "--", "./program"])
        .expect(1);
    let bytes = std::fs::read(folder.path("bug")).unwrap();
    let write = |bytes: &[u8]| std::fs::write(folder.path("changed"), bytes).unwrap();
    write(&bytes[..bytes.len() - 1]);
    refuses(&folder, &["replay", "changed"], &["truncated"]);
    let mut other = bytes.clone();
    other[8] = 77;
    write(&other);
    refuses(
        &folder,
        &["replay", "changed"],
        &["format version 77", "the bohr that wrote it"],
    );
    let mut damaged = bytes.clone();
    *damaged.last_mut().unwrap() ^= 1;
    write(&damaged);
    refuses(&folder, &["replay", "changed"], &["damaged"]);
    write(b"#!/bin/sh");
    refuses(
        &folder,
        &["replay", "changed"],
        &["not a bug file", "bohr hunt"],
    );
    refuses(&folder, &["replay", "missing"], &["No such file"]);
}

#[test]
fn another_build_of_the_program() {
    let folder = Folder::with("lost_update", &[]);
    folder.bohr(&["hunt", "--", "./program"]).expect(1);
    folder.compile("lost_update", &["-DANOTHER=1", "-O0"]);
    refuses(
        &folder,
        &["replay", "program.bohr"],
        &["another build", "hash", "--adapt"],
    );
    let adapted = folder.bohr(&["replay", "--adapt", "--json", "program.bohr"]);
    let adapted = adapted.json();
    assert!(adapted["segments"].as_u64().unwrap() > 0);
    assert!(!adapted["bug_file"].is_null(), "{adapted}");
    folder
        .bohr(&["replay", "program-adapted.bohr", "--times", "50"])
        .expect(0);
}

/// A run whose trace finds no room on the disk has not failed. The disk is one of two
/// megabytes, for this process only; where nobody may make one there is nothing to try.
#[test]
fn a_disk_that_is_full_is_no_failure_of_the_program() {
    let folder = Folder::with("lost_update", &[]);
    let make = "mkdir -p small && mount -t tmpfs -o size=2m small small";
    let fill = "head -c 3m /dev/zero > small/much 2> /dev/null";
    let run = "TMPDIR=$PWD/small exec \"$0\" run --json -- ./program";
    let within = |script: &str| {
        let bohr = env!("CARGO_BIN_EXE_bohr");
        let mut command = std::process::Command::new("unshare");
        command.args([
            "--user",
            "--map-root-user",
            "--mount",
            "sh",
            "-c",
            script,
            bohr,
        ]);
        command.current_dir(folder.path(".")).output().unwrap()
    };
    if !within(make).status.success() {
        return;
    }
    let output = within(&format!("{make} && {fill}; {run}"));
    let messages = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{messages}");
    assert!(messages.contains("no room for the trace"), "{messages}");
    assert!(messages.contains("set TMPDIR"), "{messages}");
}
