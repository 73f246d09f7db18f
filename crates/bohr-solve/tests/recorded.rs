//! Runs of real programs under random schedules, executed symbolically and solved:
//! whenever the run failed, a schedule has to be found that fails, too.

#[path = "compiled.rs"]
mod compiled;

use bohr_event::MemoryModel;
use bohr_program::Program;
use bohr_solve::check::check;
use bohr_solve::order::{Answer, solve};
use bohr_solve::path::{Ending, Run};
use bohr_solve::play::play;
use bohr_solve::symbolic::execute;
use bohr_solve::validate::{Limits, search};

const MODEL: MemoryModel = MemoryModel::SequentiallyConsistent;

/// Random numbers that are the same in every run of the test.
struct Dice(u64);

impl Dice {
    fn new(seed: u64) -> Dice {
        Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) % sides
    }
}

/// A run under a random schedule.
fn random_run(program: &Program, arguments: &[&str], seed: u64) -> Option<Run> {
    let mut dice = Dice::new(seed);
    let mut current = 0;
    let mut chooser = |ready: &[usize]| {
        if dice.roll(8) == 0 {
            current = dice.roll(64) as usize;
        }
        current % ready.len()
    };
    let played = play(program, arguments, &mut chooser, 400_000).unwrap();
    (!played.stuck).then_some(played.run)
}

/// A run of the program that fails, under one of many random schedules.
fn failing(program: &Program, arguments: &[&str]) -> Option<Run> {
    let runs = (1..400).filter_map(|seed| random_run(program, arguments, seed));
    runs.into_iter().find(|run| run.ending != Ending::Exited(0))
}

fn solves(name: &str, arguments: &[&str]) {
    for level in ["-O0", "-O2"] {
        let (program, _folder) = compiled::compile(&compiled::exhibit(name), level);
        let words: Vec<&str> = ["program"].iter().chain(arguments).copied().collect();
        let run = failing(&program, &words).unwrap_or_else(|| panic!("{name} {level} never fails"));
        let mut problem =
            execute(&program, &run, None).unwrap_or_else(|error| panic!("{name} {level}: {error}"));
        let limits = Limits {
            bound: 3,
            workers: 2,
            shard: (0, 1),
            schedules: 2_000_000,
            go_on: &|| true,
        };
        let searched = search(&problem, MODEL, &limits);
        let order = searched
            .order
            .unwrap_or_else(|| panic!("{name} {level} is not solved"));
        assert_eq!(check(&problem, MODEL, &order), Ok(()));
        let solved = solve(&mut problem, MODEL, None, &|| true).unwrap();
        let Answer::Order(order) = solved.answer else {
            panic!("{name} {level}: {:?}", solved.answer);
        };
        assert_eq!(check(&problem, MODEL, &order), Ok(()));
        assert!(
            solved.bound.is_some_and(|bound| bound >= searched.bound),
            "{name} {level}"
        );
    }
}

#[test]
fn account() {
    solves("account", &["2", "1"]);
}

#[test]
fn bounded_buffer() {
    solves("bounded-buffer", &["2", "1"]);
}

#[test]
fn sim_race() {
    solves("sim-race", &[]);
}

#[test]
fn ticket_office() {
    solves("ticket-office", &["2", "2"]);
}

/// Contradictions that the search runs into on the way to an order.
fn conflicts(name: &str, arguments: &[&str]) -> u64 {
    let (program, _folder) = compiled::compile(&compiled::exhibit(name), "-O2");
    let words: Vec<&str> = ["program"].iter().chain(arguments).copied().collect();
    let run = failing(&program, &words).unwrap_or_else(|| panic!("{name} never fails"));
    let mut problem = execute(&program, &run, None).unwrap();
    let solved = solve(&mut problem, MODEL, None, &|| true).unwrap();
    assert!(matches!(solved.answer, Answer::Order(_)), "{name}");
    solved.conflicts
}

#[test]
fn what_the_order_says_is_not_guessed() {
    // Who reads what follows from where threads are interrupted, and that is one of
    // some sixty places.
    let found = conflicts("download-progress", &["3", "10"]);
    assert!(found < 300, "{found}");
    // The same where places are computed from what was read.
    let found = conflicts("racey", &["2", "5"]);
    assert!(found < 3000, "{found}");
}

/// One statement on shared variables.
fn statement(dice: &mut Dice) -> String {
    let variable = |dice: &mut Dice| ["a", "b", "c"][dice.roll(3) as usize];
    let (one, other, number) = (variable(dice), variable(dice), dice.roll(5) + 1);
    match dice.roll(7) {
        0 => format!("{one} = {other} + {number};"),
        1 => format!("{one} += {number};"),
        2 => format!("if ({one} > {number}) {other} ^= {number}; else {other} += 2;"),
        3 => format!("table[{one} & 3] += {other};"),
        4 => format!("{one} = table[{other} & 3] * 3 + {number};"),
        5 => format!(
            "pthread_mutex_lock(&lock); {one} = {one} * 2 + {other}; pthread_mutex_unlock(&lock);"
        ),
        _ => format!("{one} += atomic_fetch_add(&counter, {number});"),
    }
}

/// A program whose exit code tells what the order of accesses made of its variables.
fn random_program(seed: u64) -> String {
    let mut dice = Dice::new(seed);
    let mut body = || -> String { (0..3).map(|_| statement(&mut dice) + "\n    ").collect() };
    let (first, second) = (body(), body());
    format!(
        "#include <pthread.h>
#include <stdatomic.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile unsigned a = 1, b, c = 3, table[4] = {{5, 6, 7, 8}};
static atomic_uint counter;
static void *first(void *argument) {{
    {first}return argument;
}}
static void *second(void *argument) {{
    {second}return argument;
}}
int main(void) {{
    pthread_t threads[2];
    pthread_create(&threads[0], 0, first, 0);
    pthread_create(&threads[1], 0, second, 0);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    unsigned hash = a * 7 + b * 13 + c * 29 + counter;
    for (int i = 0; i < 4; i++) hash = hash * 31 + table[i];
    return hash % 251 + 1;
}}
"
    )
}

#[test]
fn what_a_random_run_came_to_is_come_to_again() {
    for seed in 1..=8 {
        let source = random_program(seed);
        let level = if seed % 2 == 0 { "-O0" } else { "-O2" };
        let (program, _folder) = compiled::compile(&source, level);
        for schedule in 1..=4 {
            let run = random_run(&program, &["program"], seed * 100 + schedule).unwrap();
            let mut problem = execute(&program, &run, None).unwrap();
            let solved = solve(&mut problem, MODEL, None, &|| true).unwrap();
            let Answer::Order(order) = solved.answer else {
                panic!("{source}\n{:?}: {:?}", run.ending, solved.answer);
            };
            assert_eq!(check(&problem, MODEL, &order), Ok(()), "{source}");
        }
    }
}
