//! What a sanitizer reports is a bug like any other: with a schedule, a stack and
//! replays. Those that cannot be there together with the runtime are refused.

use crate::controlled;

use controlled::{Folder, marker};

/// Hunts, and replays on fibers and on threads of the system.
fn finds(folder: &Folder, message: &str, place: &str) {
    let found = folder.bohr(&["hunt", "--json", "--", "./program"]);
    let found = found.expect(1).json();
    assert_eq!(found["kind"], "sanitizer", "{found}");
    assert_eq!(found["reproduced"], true, "{found}");
    let said = found["message"].as_str().expect("a message");
    assert!(said.contains(message), "{said}");
    let stacks = found["stacks"].as_array().expect("stacks");
    let failing = stacks.iter().find(|stack| stack["doing"] == "failed");
    let innermost = failing.and_then(|stack| stack["stack"][0].as_str());
    assert!(innermost.is_some_and(|it| it.ends_with(place)), "{found}");
    for backend in ["fiber", "threads"] {
        let words = [
            "replay",
            "program.bohr",
            "--times",
            "5",
            "--backend",
            backend,
        ];
        folder.bohr(&words).expect(0);
    }
}

#[test]
fn undefined_behaviour_is_found() {
    let place = marker("overflow", "overflow");
    for with_bohr in [false, true] {
        let folder = Folder::empty();
        match with_bohr {
            true => folder.build("overflow", &["-fsanitize=undefined"]),
            false => folder.compile("overflow", &["-fsanitize=undefined"]),
        }
        finds(&folder, "integer overflow", &place);
    }
}

#[test]
fn the_heap_of_address_sanitizer_is_watched() {
    let folder = Folder::empty();
    folder.build("freed", &["-fsanitize=address"]);
    finds(&folder, "heap-use-after-free", &marker("freed", "used"));
}

#[test]
fn sanitizers_that_want_the_address_space_are_refused() {
    for (flag, name) in [("thread", "ThreadSanitizer"), ("memory", "MemorySanitizer")] {
        let folder = Folder::with("overflow", &[&format!("-fsanitize={flag}")]);
        let refusal = folder.bohr(&["hunt", "--", "./program"]).expect(2);
        assert!(refusal.messages().contains(name), "{refusal}");
        assert!(
            refusal.messages().contains("help: build it without"),
            "{refusal}"
        );
    }
}
