//! `cargo xtask demo`: the main job from beginning to end, on a small program
//! with a real bug, from the state of a machine that has Rust and nothing else.

use crate::{Command, install, shell};
use std::path::Path;
use std::process;

pub const COMMAND: Command = Command {
    name: "demo",
    about: "install what is missing, build bohr, and walk one buggy program through it",
    run,
};

fn run(_: &[String]) -> Result<(), String> {
    install::for_building()?;
    let parts = ["bohr", "bohr-instrument", "bohr-native", "bohr-runtime"];
    let mut build = shell::cargo();
    build.args(["build", "--release"]);
    shell::run(build.args(parts.iter().flat_map(|part| ["--package", part])))?;

    let folder = shell::built("release").join("demo");
    std::fs::create_dir_all(&folder)
        .map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    let demo = Demo { folder: &folder };
    let source = shell::root().join("examples/cache.c").display().to_string();

    demo.say("A program whose readers check for a table before they take the lock.");
    demo.bohr(&["cc", "-g", "-O2", "-pthread", &source, "-o", "cache"], 0)?;
    demo.say("What bohr knows about it.");
    demo.bohr(&["inspect", "cache"], 0)?;
    demo.say("It fails about once in a hundred runs. Find a schedule that fails every time.");
    demo.bohr(&["hunt", "-o", "cache.bohr", "--", "./cache"], 1)?;
    demo.say("The same failure, a thousand times.");
    demo.bohr(&["replay", "cache.bohr", "--times", "1000"], 0)?;
    demo.say("The same failure with only the threads and iterations that it needs.");
    demo.bohr(&["reduce", "cache.bohr"], 0)?;
    demo.say("The same failure with as few switches as possible.");
    demo.bohr(&["simplify", "cache.bohr"], 0)?;
    demo.say("What it takes to fail; cache.html is the same to click through.");
    demo.bohr(&["explain", "cache.bohr", "--html", "cache.html"], 0)?;
    demo.say("Lines in the source that show it every time, with real threads and without bohr.");
    demo.bohr(&["break", "from", "cache.bohr"], 0)
}

/// Runs bohr in a folder of its own, so that the demo leaves nothing in the
/// project's.
struct Demo<'a> {
    folder: &'a Path,
}

impl Demo<'_> {
    fn say(&self, sentence: &str) {
        eprintln!("\n# {sentence}");
    }

    fn bohr(&self, arguments: &[&str], expected: i32) -> Result<(), String> {
        let mut command = process::Command::new(shell::built("release").join("bohr"));
        shell::expect(command.current_dir(self.folder).args(arguments), expected)
    }
}
