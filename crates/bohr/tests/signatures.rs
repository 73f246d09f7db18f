//! One bug has one signature, wherever its program is built and whatever else
//! the program consists of.

use crate::controlled;

use controlled::Folder;
use serde_json::Value;

/// A function that has nothing to do with any bug and moves all code behind it.
const UNRELATED: &str = "
int unrelated(int most) {
    static volatile int sum;
    for (int number = 0; number < most; number++)
        sum += number;
    return sum;
}
";

/// Where a program is built, and what stands in front of its source.
struct Build {
    folder: &'static str,
    front: &'static str,
}

const BUILDS: [Build; 3] = [
    Build {
        folder: "a",
        front: "",
    },
    Build {
        folder: "another/place/with a long name",
        front: "",
    },
    Build {
        folder: "b",
        front: UNRELATED,
    },
];

fn tag(found: &Value) -> String {
    let tag = found["signature"].as_str();
    tag.unwrap_or_else(|| panic!("nothing found: {found}"))
        .to_string()
}

/// The tags of the bug in `NAME.c`, one for each build.
fn tags(name: &str, words: &[&str]) -> Vec<String> {
    let folder = Folder::empty();
    let tag_of = |build: &Build| {
        let place = folder.path(build.folder);
        std::fs::create_dir_all(&place).unwrap();
        let source = controlled::read_source(name);
        std::fs::write(place.join("a.c"), format!("{}{source}", build.front)).unwrap();
        let mut compiler = match words {
            ["bohr", ..] => folder.command(&["cc"]),
            _ => std::process::Command::new("clang-22"),
        };
        compiler
            .args(&words[1..])
            .args(["-pthread", "-o", "program", "a.c"]);
        assert!(compiler.current_dir(&place).status().unwrap().success());
        let program = place.join("program");
        let words = ["hunt", "--json", "--", program.to_str().unwrap()];
        tag(&folder.bohr(&words).expect(1).json())
    };
    BUILDS.iter().map(tag_of).collect()
}

#[track_caller]
fn assert_equal(tags: &[String]) {
    assert!(tags.iter().all(|tag| *tag == tags[0]), "{tags:?}");
}

#[test]
fn a_failed_assertion_has_one_signature_in_every_build() {
    for flags in ["-O0", "-O1", "-O2"] {
        assert_equal(&tags("data_race", &["bohr", "-g", flags]));
        assert_equal(&tags("lost_update", &["clang", flags]));
    }
}

#[test]
fn a_deadlock_has_one_signature_in_every_build() {
    assert_equal(&tags("crossed_locks", &["bohr", "-g", "-O1"]));
    assert_equal(&tags("crossed_locks", &["bohr", "-O2"]));
    assert_equal(&tags("crossed_locks", &["clang", "-O0"]));
}

#[test]
fn a_program_that_is_moved_and_renamed_keeps_its_bugs() {
    let folder = Folder::with("lost_update", &["-O0"]);
    let here = folder
        .bohr(&["hunt", "--json", "--", "./program"])
        .expect(1);
    std::fs::create_dir(folder.path("elsewhere")).unwrap();
    std::fs::rename(folder.path("program"), folder.path("elsewhere/renamed")).unwrap();
    let there = folder.bohr(&["hunt", "--json", "--", "elsewhere/renamed"]);
    assert_eq!(tag(&here.json()), tag(&there.expect(1).json()));
}

#[test]
fn different_bugs_of_one_program_have_different_signatures() {
    let [assertion, deadlock] = ["lost_update", "crossed_locks"].map(|name| {
        let folder = Folder::with(name, &[]);
        tag(&folder
            .bohr(&["hunt", "--json", "--", "./program"])
            .expect(1)
            .json())
    });
    assert_ne!(assertion, deadlock);
    // The same code: only the place in it differs.
    let folder = Folder::empty();
    let tags = ["first", "second"].map(|which| {
        folder.compile("two_assertions", &[&format!("-DFAILS_{which}")]);
        tag(&folder
            .bohr(&["hunt", "--json", "--", "./program"])
            .expect(1)
            .json())
    });
    assert_ne!(tags[0], tags[1]);
}
