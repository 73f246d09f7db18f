//! Breakpoints of a program under control: pauses are virtual, so a thread that is
//! held up for an hour costs no time, and its partner always comes.

use crate::controlled;

use controlled::Folder;

const HEADERS: &str = concat!("-I", env!("CARGO_MANIFEST_DIR"), "/../../include");

#[test]
fn a_breakpoint_is_hit_in_every_schedule() {
    let folder = Folder::empty();
    for built in [false, true] {
        match built {
            true => folder.build("breakpoint", &[HEADERS]),
            false => folder.compile("breakpoint", &[HEADERS]),
        }
        let words = ["hunt", "--runs", "200", "--expect-exit", "2", "--json"];
        let told = folder
            .bohr(&[&words[..], &["--", "./program"]].concat())
            .expect(0)
            .json();
        assert_eq!(told["runs"], 200, "{told}");
    }
}

#[test]
fn the_environment_arms_breakpoints_of_controlled_and_native_runs() {
    let folder = Folder::empty();
    folder.build("breakpoint", &[HEADERS, "-DASLEEP"]);
    let line = "breakpoint.c:22 -> breakpoint.c:22 (ignore-first 100)";
    for native in [&[][..], &["--native", "--break", line]] {
        for (armed, hits) in [("all", "2"), ("lost update", "2"), ("another", "0")] {
            let run = ["run", "--expect-exit", hits];
            let words = [&run[..], native, &["--", "./program"]].concat();
            let mut command = folder.command(&words);
            let ended = command.env("BOHR_BREAK", armed).output().unwrap();
            assert!(ended.status.success(), "{armed}: {ended:?}");
        }
    }
}
