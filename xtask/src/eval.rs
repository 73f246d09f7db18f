//! `cargo xtask eval`: hunts the museum by every strategy, with many seeds, and
//! writes what came of it beside what the papers print.

use crate::museum::build_bohr;
use crate::{Command, shell};
use bohr_museum::{
    Compilers, Evaluation, Exhibit, MemoryModel, Papers, Trial, Variant, Verdict, machine_facts,
};
use std::path::Path;

pub const COMMAND: Command = Command {
    name: "eval",
    about: "[--quick | --full] [NAME...]: schedules and seconds to each bug, by strategy",
    run,
};

/// How much is measured.
struct Size {
    trials: u64,
    seconds: u32,
    strategies: &'static [&'static str],
    /// Exhibits that are hunted if nobody names any; all if empty.
    exhibits: &'static [&'static str],
}

/// For CI: catches collapse, says nothing finer. Ends within five minutes.
const QUICK: Size = Size {
    trials: 3,
    seconds: 10,
    strategies: &["mixed", "pct:3", "pos"],
    exhibits: &[
        "account",
        "bounded-buffer",
        "client-factory",
        "philosophers",
        "string-buffer",
    ],
};

/// For people.
const FULL: Size = Size {
    trials: 20,
    seconds: 60,
    strategies: &["mixed", "random", "pct:3", "pos", "surw", "feedback"],
    exhibits: &[],
};

/// Distance between the seeds of two trials: no hunt makes so many runs.
const SEEDS: u64 = 1_000_000_000;

fn run(arguments: &[String]) -> Result<(), String> {
    let (size, names) = match arguments.split_first() {
        Some((flag, names)) if flag == "--full" => (FULL, names),
        Some((flag, names)) if flag == "--quick" => (QUICK, names),
        _ => (QUICK, arguments),
    };
    let told = |error: bohr_museum::Error| error.to_string();
    let exhibits = chosen(&size, names)?;
    let bohr = build_bohr()?;
    let mut evaluation = Evaluation {
        machine: machine_facts(),
        command: format!("cargo xtask eval {}", arguments.join(" ")),
        seconds: size.seconds,
        trials: Vec::new(),
    };
    for exhibit in &exhibits {
        let compilers = Compilers::of_bohr(&bohr);
        let program = bohr_museum::compile(exhibit, Variant::Buggy, &compilers).map_err(told)?;
        for strategy in size.strategies {
            for trial in 0..size.trials {
                let seed = trial * SEEDS;
                let trial = hunt(exhibit, &program, &bohr, strategy, seed, size.seconds)?;
                evaluation.trials.push(trial);
            }
            let found = evaluation.summary(&exhibit.manifest.name, strategy);
            let (name, found, trials) = (&exhibit.manifest.name, found.found, found.trials);
            println!("{name:20} {strategy:10} {found} of {trials}");
        }
    }
    save(&evaluation, &exhibits)?;
    collapsed(&evaluation)
}

/// What the user names, or what belongs to the size; without what no
/// interleaving shows.
fn chosen(size: &Size, names: &[String]) -> Result<Vec<Exhibit>, String> {
    let wanted = |exhibit: &Exhibit| {
        let name = &exhibit.manifest.name;
        match names {
            [] => size.exhibits.is_empty() || size.exhibits.contains(&name.as_str()),
            names => names.contains(name),
        }
    };
    let all = bohr_museum::all().map_err(|error| error.to_string())?;
    let reachable = |exhibit: &Exhibit| exhibit.manifest.memory_model == MemoryModel::Sc;
    Ok(all
        .into_iter()
        .filter(|exhibit| wanted(exhibit) && reachable(exhibit))
        .collect())
}

fn hunt(
    exhibit: &Exhibit,
    program: &Path,
    bohr: &Path,
    strategy: &str,
    seed: u64,
    seconds: u32,
) -> Result<Trial, String> {
    let hunting = bohr_museum::Hunting {
        strategy: Some(strategy.to_string()),
        seed,
        ..bohr_museum::Hunting::of(seconds)
    };
    let arguments = &exhibit.manifest.arguments.default;
    let report = hunting.run(bohr, program, arguments);
    let report = report.map_err(|error| error.to_string())?;
    let name = &exhibit.manifest.name;
    match bohr_museum::judge(exhibit, &report) {
        Verdict::Wrong(sentence) if report.found => {
            Err(format!("{name}, {strategy}, seed {seed}: {sentence}"))
        }
        _ => Ok(Trial {
            exhibit: name.clone(),
            strategy: strategy.to_string(),
            seed,
            found: report.found,
            runs: report.runs,
            seconds: report.seconds,
            threads: report.threads,
            events: report.events,
            switches: report.switches,
        }),
    }
}

/// Writes `eval/results/hunt.json`, `hunt.md` and `papers.md`.
fn save(evaluation: &Evaluation, exhibits: &[Exhibit]) -> Result<(), String> {
    let folder = shell::root().join("eval/results");
    let papers = Papers::load().map_err(|error| error.to_string())?;
    let json = serde_json::to_string_pretty(evaluation).map_err(|error| error.to_string())?;
    let files = [
        ("hunt.json", json),
        ("hunt.md", bohr_museum::markdown(evaluation)),
        (
            "papers.md",
            bohr_museum::of_papers(evaluation, &papers, exhibits),
        ),
    ];
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    for (name, text) in files {
        let path = folder.join(name);
        std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
        println!("written: {}", path.display());
    }
    Ok(())
}

/// An exhibit that the default strategy never finds.
fn collapsed(evaluation: &Evaluation) -> Result<(), String> {
    let lost: Vec<&str> = evaluation
        .exhibits()
        .into_iter()
        .filter(|exhibit| evaluation.summary(exhibit, "mixed").found == 0)
        .collect();
    match lost.is_empty() {
        true => Ok(()),
        false => Err(format!("never found: {}", lost.join(" "))),
    }
}
