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
