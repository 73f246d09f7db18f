//! Store buffers as they are simulated are those of the model: every outcome of a
//! litmus test that the model allows is seen, and no other.

use crate::controlled;
use crate::weak_memory;

use controlled::Folder;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::collections::BTreeSet;
use weak_memory::{Litmus, Outcome, Step, Step::*, argument, exit_code, outcomes};

const MODELS: [&str; 3] = ["sc", "tso", "pso"];
const X: u8 = 0;
const Y: u8 = 1;

/// One more than the largest value of a litmus test, so that exit codes stay small.
fn base(litmus: &Litmus) -> u32 {
    let values = litmus.iter().flatten().map(|step| match *step {
        Store(_, value) | StoreRelease(_, value) => value,
        StoreSequential(_, value) | Exchange(_, value) => value,
        Load(_) | Fence | FenceRelease => 1,
    });
    1 + u32::from(values.max().unwrap_or(1))
}

/// The exit codes of all runs of a litmus test.
fn explored(folder: &Folder, litmus: &Litmus, model: &str) -> BTreeSet<u32> {
    let base = base(litmus).to_string();
    let mut words = vec!["hunt", "--model", model, "--strategy", "exhaustive"];
    words.extend(["--keep-going", "--json", "--", "./program", &base]);
    let programs: Vec<String> = litmus.iter().map(|steps| argument(steps)).collect();
    words.extend(programs.iter().map(String::as_str));
    let report = folder.bohr(&words).expect(1).json();
    assert_eq!(report["complete"], true, "{report}");
    let bugs = report["bugs"].as_array().expect("a list of bugs");
    let code = |bug: &serde_json::Value| {
        let kind = bug["kind"].as_str()?.strip_prefix("exit-")?;
        kind.parse().ok()
    };
    let codes = bugs.iter().map(|bug| code(bug).expect("an exit code"));
    codes.collect()
}

fn allowed(litmus: &Litmus, model: &str) -> BTreeSet<u32> {
    let (outcomes, base) = (outcomes(litmus, model), base(litmus));
    { outcomes }
        .iter()
        .map(|outcome| exit_code(outcome, base))
        .collect()
}

/// Explores a test under all models; under which ones the outcome was seen.
fn seen_under(folder: &Folder, litmus: &Litmus, outcome: &Outcome) -> Vec<&'static str> {
    let mut under = Vec::new();
    for model in MODELS {
        let seen = explored(folder, litmus, model);
        assert_eq!(seen, allowed(litmus, model), "{litmus:?} under {model}");
        if seen.contains(&exit_code(outcome, base(litmus))) {
            under.push(model);
        }
    }
    under
}

fn built() -> Folder {
    let folder = Folder::empty();
    folder.build("litmus", &[]);
    folder
}

/// Name, threads, the outcome in question, and under which models it is possible.
type Classic = (&'static str, Litmus, Outcome, &'static [&'static str]);

#[test]
fn stores_wait_behind_loads() {
    let everywhere_but_sc: &[&str] = &["tso", "pso"];
    let with = |between: Step| {
        let one = vec![Store(X, 1), between, Load(Y)];
        vec![one, vec![Store(Y, 1), between, Load(X)]]
    };
    let cases: Vec<Classic> = vec![
        (
            "SB",
            vec![vec![Store(X, 1), Load(Y)], vec![Store(Y, 1), Load(X)]],
            vec![0, 0, 1, 1],
            everywhere_but_sc,
        ),
        ("SB, fences", with(Fence), vec![0, 0, 1, 1], &[]),
        (
            "SB, release fences",
            with(FenceRelease),
            vec![0, 0, 1, 1],
            everywhere_but_sc,
        ),
        (
            "SB, a fence in one thread",
            vec![
                vec![Store(X, 1), Fence, Load(Y)],
                vec![Store(Y, 1), Load(X)],
            ],
            vec![0, 0, 1, 1],
            everywhere_but_sc,
        ),
        (
            "SB, release stores",
            vec![
                vec![StoreRelease(X, 1), Load(Y)],
                vec![StoreRelease(Y, 1), Load(X)],
            ],
            vec![0, 0, 1, 1],
            everywhere_but_sc,
        ),
        (
            "SB, sequentially consistent stores",
            vec![
                vec![StoreSequential(X, 1), Load(Y)],
                vec![StoreSequential(Y, 1), Load(X)],
            ],
            vec![0, 0, 1, 1],
            &[],
        ),
        (
            "SB, exchanges",
            vec![vec![Exchange(X, 1), Load(Y)], vec![Exchange(Y, 1), Load(X)]],
            vec![0, 0, 0, 0, 1, 1],
            &[],
        ),
        (
            "SB, own stores are read",
            vec![
                vec![Store(X, 1), Load(X), Load(Y)],
                vec![Store(Y, 1), Load(Y), Load(X)],
            ],
            vec![1, 0, 1, 0, 1, 1],
            everywhere_but_sc,
        ),
        (
            "SB, own stores are read, fences",
            vec![
                vec![Store(X, 1), Fence, Load(X), Load(Y)],
                vec![Store(Y, 1), Fence, Load(Y), Load(X)],
            ],
            vec![1, 0, 1, 0, 1, 1],
            &[],
        ),
    ];
    explore_all(cases);
}

#[test]
fn stores_to_different_variables_pass_each_other_under_pso_only() {
    let reader = vec![Load(Y), Load(X)];
    let passed = vec![1, 0, 1, 1];
    let cases: Vec<Classic> = vec![
        (
            "MP",
            vec![vec![Store(X, 1), Store(Y, 1)], reader.clone()],
            passed.clone(),
            &["pso"],
        ),
        (
            "MP, release store",
            vec![vec![Store(X, 1), StoreRelease(Y, 1)], reader.clone()],
            passed.clone(),
            &[],
        ),
        (
            "MP, release store first",
            vec![vec![StoreRelease(X, 1), Store(Y, 1)], reader.clone()],
            passed.clone(),
            &["pso"],
        ),
        (
            "MP, release fence",
            vec![vec![Store(X, 1), FenceRelease, Store(Y, 1)], reader.clone()],
            passed.clone(),
            &[],
        ),
        (
            "MP, fence",
            vec![vec![Store(X, 1), Fence, Store(Y, 1)], reader],
            passed,
            &[],
        ),
        (
            "2+2W",
            vec![
                vec![Store(X, 1), Store(Y, 2)],
                vec![Store(Y, 1), Store(X, 2)],
            ],
            vec![1, 1],
            &["pso"],
        ),
        (
            "2+2W, fences",
            vec![
                vec![Store(X, 1), Fence, Store(Y, 2)],
                vec![Store(Y, 1), Fence, Store(X, 2)],
            ],
            vec![1, 1],
            &[],
        ),
        (
            "CoWW",
            vec![vec![Store(X, 1), Store(X, 2)], vec![Load(X), Load(X)]],
            vec![2, 1, 2, 0],
            &[],
        ),
    ];
    explore_all(cases);
}

#[test]
fn loads_stay_in_order_and_all_see_one_memory() {
    let readers = |between: &[Step]| {
        let reader = |first, second| [&[Load(first)], between, &[Load(second)]].concat();
        let writers = [vec![Store(X, 1)], vec![Store(Y, 1)]];
        [writers, [reader(X, Y), reader(Y, X)]].concat()
    };
    let torn = vec![1, 0, 1, 0, 1, 1];
    let cases: Vec<Classic> = vec![
        ("IRIW", readers(&[]), torn.clone(), &[]),
        ("IRIW, fences", readers(&[Fence]), torn, &[]),
        (
            "LB",
            vec![vec![Load(X), Store(Y, 1)], vec![Load(Y), Store(X, 1)]],
            vec![1, 1, 1, 1],
            &[],
        ),
        (
            "LB, fences",
            vec![
                vec![Load(X), Fence, Store(Y, 1)],
                vec![Load(Y), Fence, Store(X, 1)],
            ],
            vec![1, 1, 1, 1],
            &[],
        ),
    ];
    explore_all(cases);
}

fn explore_all(cases: Vec<Classic>) {
    let folder = built();
    for (name, litmus, outcome, possible) in cases {
        assert_eq!(seen_under(&folder, &litmus, &outcome), possible, "{name}");
    }
}

/// Two or three threads that read at most three values in all, so that the exit
/// code can tell the outcome.
fn litmus() -> impl Strategy<Value = Litmus> {
    let step = (0..9u8, 0..2u8, 1..3u8).prop_map(|(kind, variable, value)| match kind {
        0..3 => Store(variable, value),
        3 => StoreRelease(variable, value),
        4 => StoreSequential(variable, value),
        5 => Fence,
        6 => FenceRelease,
        7 => Exchange(variable, value),
        _ => Load(variable),
    });
    let thread = prop::collection::vec(step, 1..4);
    prop::collection::vec(thread, 2..4).prop_map(|mut litmus| {
        let mut reads = 0;
        for steps in &mut litmus {
            steps.retain(|step| {
                reads += usize::from(matches!(step, Load(_) | Exchange(..)));
                !matches!(step, Load(_) | Exchange(..)) || reads <= 3
            });
        }
        litmus.retain(|steps| !steps.is_empty());
        litmus
    })
}

#[test]
fn random_litmus_tests_come_to_what_the_model_allows() {
    let folder = built();
    let config = Config {
        cases: 16,
        failure_persistence: None,
        ..Config::default()
    };
    let mut runner = TestRunner::new(config);
    let checked = runner.run(&litmus(), |litmus| {
        for model in MODELS {
            let seen = explored(&folder, &litmus, model);
            prop_assert_eq!(
                seen,
                allowed(&litmus, model),
                "{:?} under {}",
                litmus,
                model
            );
        }
        Ok(())
    });
    checked.unwrap_or_else(|failure| panic!("{failure}"));
}
