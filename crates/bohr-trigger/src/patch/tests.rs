//! What a patch looks like, and that it says where things go.

use super::*;

const PROGRAM: &str = "\
#include <stdio.h>

static int balance;

void *deposit(void *amount) {
    int seen = balance;
    balance = seen + 1;
    return amount;
}
";

fn patch(breakpoint: &str) -> String {
    let sources = BTreeMap::from([("bank.c".to_string(), PROGRAM.to_string())]);
    let set = [breakpoint.parse().unwrap()];
    let changes = insertions("bank", &set, &sources, false).unwrap();
    let text = &sources["bank.c"];
    let diff = unified("bank.c", text, &changes["bank.c"]);
    let added = diff.lines().filter(|line| line.starts_with('+')).count() - 1;
    let longer = inserted(text, &changes["bank.c"]);
    assert_eq!(longer.lines().count(), text.lines().count() + added);
    diff
}

#[test]
fn sides_at_one_place_take_turns() {
    let diff = patch("bank.c:7 -> bank.c:7 at-most 1");
    let expected = [
        "--- a/bank.c",
        "+++ b/bank.c",
        "@@ -1,9 +1,11 @@",
        "+#include \"bohr_break.h\"",
        " #include <stdio.h>",
        " ",
        " static int balance;",
        " ",
        " void *deposit(void *amount) {",
        "     int seen = balance;",
        "+    { static unsigned bohr_side; (void)BOHR_BREAK_REACH(\"bank-1\", \
         __atomic_fetch_add(&bohr_side, 1, __ATOMIC_RELAXED) % 2, NULL, .pause = 100, .one_waits = 1, .at_most = 1); }",
        "     balance = seen + 1;",
        "     return amount;",
        " }",
    ];
    assert_eq!(diff.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn what_the_library_cannot_say_is_refused() {
    let sources = BTreeMap::from([("bank.c".to_string(), PROGRAM.to_string())]);
    let refused = |text: &str| {
        let set = [text.parse().unwrap()];
        insertions("bank", &set, &sources, false).unwrap_err()
    };
    assert_eq!(
        refused("deposit#1 -> bank.c:7"),
        PatchError::NoLine("deposit#1".into())
    );
    assert_eq!(
        refused("bank.c:7 -> b.c:7"),
        PatchError::NoSource("b.c".into())
    );
    assert_eq!(
        refused("bank.c:3 -> bank.c:7"),
        PatchError::NoStatement("bank.c:3".into())
    );
    assert_eq!(
        refused("bank.c:7 (holding lock) -> bank.c:6"),
        PatchError::Unspeakable("holding lock".into())
    );
}

#[test]
fn sides_of_rust_share_a_static() {
    let text = "fn main() {\n    f();\n    g();\n}\n";
    let sources = BTreeMap::from([("src/main.rs".to_string(), text.to_string())]);
    let set = ["src/main.rs:2 -> src/main.rs:3 pause 1s".parse().unwrap()];
    let changes = insertions("p", &set, &sources, false).unwrap();
    assert_eq!(
        inserted(text, &changes["src/main.rs"]),
        "fn main() {\n    BOHR_BREAK_1.reach(0, bohr_break::Object::NONE);\n    f();\n    \
         BOHR_BREAK_1.reach(1, bohr_break::Object::NONE);\n    g();\n}\n\n\
         static BOHR_BREAK_1: bohr_break::Breakpoint =\n    \
         bohr_break::Breakpoint::conflict(\"p-1\").pause(std::time::Duration::from_millis(1000)).one_waits();\n"
    );
}

#[test]
fn threads_bring_what_their_statements_name() {
    let sources = BTreeMap::from([("bank.c".to_string(), PROGRAM.to_string())]);
    let added = |breakpoint: &str, objects: bool| {
        let set = [breakpoint.parse().unwrap()];
        let changes = insertions("bank", &set, &sources, objects).unwrap();
        inserted(PROGRAM, &changes["bank.c"])
    };
    let object = "(const void *)&balance";
    let brought = added("bank.c:7 -> bank.c:6 if same-object", true);
    assert_eq!(brought.matches(object).count(), 2, "{brought}");
    for (breakpoint, objects) in [
        ("bank.c:7 -> bank.c:6", true),
        ("bank.c:7 -> bank.c:6 if same-object", false),
    ] {
        let bare = added(breakpoint, objects);
        assert_eq!(bare.matches(object).count(), 0, "{bare}");
        assert_eq!(bare.matches("NULL, ").count(), 2, "{bare}");
    }
}

#[test]
fn threads_that_run_the_same_code_are_told_apart() {
    let breakpoint = "thread 2 of 2) -> FILE:7 (nth 3, thread 1 of 2) pause 1s";
    let added = |file: &str, text: &str| {
        let sources = BTreeMap::from([(file.to_string(), text.to_string())]);
        let set = format!("FILE:7 ({breakpoint}").replace("FILE", file);
        let changes = insertions("bank", &[set.parse().unwrap()], &sources, false).unwrap();
        inserted(text, &changes[file])
    };
    let in_c = added("bank.c", PROGRAM);
    assert!(
        in_c.contains(
            ".unless = (BOHR_BREAK_WHICH(\"bank-of-2\", 2, .pause = 1000) != 1) | (++bohr_visits != 3)"
        ),
        "{in_c}"
    );
    let in_cpp = added("bank.cc", PROGRAM);
    let wanted = "((bohr::which(\"bank-of-2\", 2, std::chrono::milliseconds(1000)) != 2)) != 0";
    assert!(in_cpp.contains(wanted), "{in_cpp}");
    assert!(in_cpp.contains("(++bohr_visits != 3)) != 0"), "{in_cpp}");
    let rust = "fn f() {\n    a();\n    b();\n    c();\n    d();\n    e();\n    g();\n}\n";
    let in_rust = added("bank.rs", rust);
    for wanted in [
        "if (BOHR_BREAK_OF_2.which() == Some(1)) & (VISITS.get() == 3)",
        "if (BOHR_BREAK_OF_2.which() == Some(2)) {",
        "bohr_break::Roll::of(\"bank-of-2\", 2).pause(std::time::Duration::from_millis(1000));",
    ] {
        assert_eq!(in_rust.matches(wanted).count(), 1, "{in_rust}");
    }
}
