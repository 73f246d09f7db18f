//! What the command line says about itself: help, manual pages, completions.

use crate::controlled;

use controlled::Folder;

/// Commands whose arguments are bohr's own. The compilers pass theirs on.
const COMMANDS: [&str; 9] = [
    "inspect",
    "hunt",
    "replay",
    "run",
    "check",
    "setup",
    "profile",
    "completions",
    "man",
];

#[test]
fn every_command_shows_an_example() {
    let folder = Folder::empty();
    for command in COMMANDS {
        let help = folder.bohr(&[command, "--help"]).expect(0).text();
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
    for command in COMMANDS {
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
        for command in COMMANDS {
            assert!(script.contains(command), "{command} in {shell}");
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
