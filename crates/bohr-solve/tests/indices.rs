//! Indices made of what a stopped process shows (algorithm 1 of the ASPLOS paper)
//! against indices recorded while the program runs (figure 4): at every block that the
//! exhibits of the museum come to, wherever dependences are single or can be put
//! together, they are the same.

#[path = "compiled.rs"]
mod compiled;
mod figure_four;

use bohr_program::index::{Flows, Index};
use bohr_program::{BlockNumber, Program};
use bohr_solve::play::play;
use figure_four::{Recorded, is_exact, is_same, record};
use std::collections::BTreeMap;
use std::path::Path;

/// Blocks of a thread that are all looked at; of the later ones, some.
const ALL: usize = 4_000;
const SOME: usize = 61;

/// What came of the comparisons.
#[derive(Default)]
struct Compared {
    programs: usize,
    same: usize,
    /// Where dependences cannot be put together.
    beside: usize,
    /// What is not the same, by program, function and block.
    different: BTreeMap<(String, String, BlockNumber), String>,
}

fn compare(program: &Program, words: &[&str], name: &str, compared: &mut Compared) {
    let mut turn = 0;
    let mut chooser = |ready: &[usize]| {
        turn += 1;
        turn / 97 % ready.len()
    };
    let Ok(played) = play(program, words, &mut chooser, 150_000) else {
        return;
    };
    compared.programs += 1;
    let mut flows = Flows::new(program);
    for way in &played.run.threads {
        let mut seen = 0;
        record(&mut flows, &way.steps, |flows, stack| {
            seen += 1;
            if seen > ALL && seen % SOME != 0 {
                return;
            }
            let activations: Vec<_> = stack.iter().map(Recorded::as_stopped).collect();
            let index = Index::of(flows, &activations);
            assert_eq!(index.levels.len(), stack.len());
            for (recorded, level) in stack.iter().zip(&index.levels) {
                let flow = flows.of(recorded.function).expect("it was executed");
                let function = &program.texts[program.functions[recorded.function].name];
                match is_exact(flow, recorded) {
                    false => compared.beside += 1,
                    true if is_same(flow, recorded, level) => compared.same += 1,
                    true => {
                        let place = (name.to_string(), function.to_string(), recorded.block);
                        let told = format!(
                            "{:?} was recorded in thread {}, block {seen}, {:?} is told",
                            recorded.items, way.thread, level.entries
                        );
                        compared.different.entry(place).or_insert(told);
                    }
                }
            }
        });
    }
}

/// The small size of an exhibit, as its manifest says.
fn words(manifest: &str) -> Vec<String> {
    let line = manifest
        .lines()
        .find_map(|line| line.strip_prefix("small = ["));
    let numbers = line
        .and_then(|line| line.split(']').next())
        .unwrap_or_default();
    let numbers = numbers.split(',').map(|number| number.trim().to_string());
    let numbers = numbers.filter(|number| !number.is_empty());
    ["program".to_string()].into_iter().chain(numbers).collect()
}

#[test]
fn what_is_read_off_a_stopped_thread_is_what_was_recorded() {
    let museum = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../museum");
    let mut names: Vec<String> = std::fs::read_dir(&museum)
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().into_string().ok())
        .filter(|name| museum.join(name).join("main.c").exists())
        .collect();
    names.sort();
    let mut compared = Compared::default();
    for name in &names {
        let manifest = museum.join(name).join("exhibit.toml");
        let words = words(&std::fs::read_to_string(manifest).unwrap());
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        for level in ["-O0", "-O2"] {
            let (program, _folder) = compiled::compile(&compiled::exhibit(name), level);
            compare(&program, &words, &format!("{name} {level}"), &mut compared);
        }
    }
    assert!(compared.different.is_empty(), "{:#?}", compared.different);
    // Most of the museum, and most of what it does.
    assert!(compared.programs > names.len(), "{}", compared.programs);
    assert!(compared.same > 50_000, "{}", compared.same);
    assert!(
        compared.same > 9 * compared.beside,
        "{} beside",
        compared.beside
    );
}
