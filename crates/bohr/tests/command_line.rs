//! What the command line says about itself: help, manual pages, completions.

use crate::controlled;

use controlled::Folder;

/// Commands whose arguments are bohr's own, as the help lists them. The compilers
/// pass theirs on.
fn commands(folder: &Folder) -> Vec<String> {
    const OTHERS: [&str; 5] = ["cc", "c++", "ld", "cargo", "help"];
    let help = folder.bohr(&["--help"]).expect(0).text();
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names = listed.map_while(|line| line.split_whitespace().next());
    let own = names.filter(|name| !OTHERS.contains(name));
    let own: Vec<String> = own.map(str::to_owned).collect();
    assert!(own.iter().any(|name| name == "hunt"), "{help}");
    own
}

#[test]
fn every_command_shows_an_example() {
    let folder = Folder::empty();
    for command in commands(&folder) {
        let help = folder.bohr(&[&command, "--help"]).expect(0).text();
        assert!(help.contains("Example"), "{command}:\n{help}");
        assert!(
            help.contains(&format!("  bohr {command} ")),
            "{command}:\n{help}"
        );
    }
}

#[test]
fn there_is_a_manual_page_for_every_command() {
    let folder = Folder::empty();
    folder.bohr(&["man", "pages"]).expect(0);
    for command in commands(&folder) {
        let page = std::fs::read_to_string(folder.path("pages").join(format!("bohr-{command}.1")));
        let page = page.unwrap_or_else(|error| panic!("{command}: {error}"));
        assert!(
            page.contains(".TH") && page.contains(".SH OPTIONS"),
            "{page}"
        );
    }
    std::fs::write(folder.path("file"), "").unwrap();
    let refusal = folder.bohr(&["man", "file"]).expect(2);
    assert!(refusal.messages().contains("manual pages"), "{refusal}");
}

#[test]
fn shells_complete_every_command() {
    let folder = Folder::empty();
    for shell in ["bash", "zsh", "fish"] {
        let script = folder.bohr(&["completions", shell]).expect(0).text();
        for command in commands(&folder) {
            assert!(script.contains(&command), "{command} in {shell}");
        }
    }
    let script = folder.path("bohr.bash");
    let completions = folder.bohr(&["completions", "bash"]).expect(0).text();
    std::fs::write(&script, completions).unwrap();
    let asked = "source ./bohr.bash; COMP_WORDS=(bohr hunt --strat); COMP_CWORD=2; _bohr bohr --strat hunt; echo \"${COMPREPLY[@]}\"";
    let bash = std::process::Command::new("bash")
        .args(["-c", asked])
        .current_dir(folder.path(""))
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&bash.stdout).trim(), "--strategy");
}

#[test]
fn no_command_does_a_thing_no_times() {
    let folder = Folder::empty();
    let asked = [
        ["hunt", "--runs"],
        ["hunt", "--jobs"],
        ["hunt", "--run-events"],
        ["replay", "--times"],
        ["check", "--times"],
        ["solve", "--workers"],
        ["record", "--runs"],
    ];
    for [command, option] in asked {
        let refusal = folder.bohr(&[command, option, "0", "x"]).expect(2);
        let told = refusal.messages();
        assert!(told.contains("`0` is not a number from 1 on"), "{refusal}");
    }
}

/// As in `bohr man pages | head`, with a reader who reads nothing.
#[test]
fn who_reads_no_further_ends_the_command() {
    let folder = Folder::empty();
    let (reader, writer) = std::io::pipe().expect("there are pipes");
    drop(reader);
    let mut command = folder.command(&["run", "--json", "--", "/bin/true"]);
    let ended = command.stdout(writer).output().expect("bohr starts");
    let told = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(141), "{told}");
    assert!(!told.contains("panicked"), "{told}");
}

/// A full disk is nobody's bug.
#[test]
fn output_that_cannot_be_written_is_told() {
    let folder = Folder::empty();
    let full = std::fs::File::options().write(true).open("/dev/full");
    let mut command = folder.command(&["run", "--json", "--", "/bin/true"]);
    let ended = command.stdout(full.unwrap()).output().expect("bohr starts");
    let told = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(2), "{told}");
    assert!(
        told.contains("stdout cannot be written: No space"),
        "{told}"
    );
    assert!(!told.contains("panicked"), "{told}");
}
