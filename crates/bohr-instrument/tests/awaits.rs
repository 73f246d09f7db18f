//! Loops that wait, where what they look at stands in a function of its own.

mod support;

use bohr_program::{Predicates, Program};
use support::program_with;

const SOURCE: &str = "
    #include <condition_variable>
    #include <mutex>
    static std::mutex lock;
    static std::condition_variable changed;
    static int stage;
    struct door {
        bool open;
        void pass(std::unique_lock<std::mutex> &held) {
            changed.wait(held, [this] { return open; });
        }
    } door;
    void by_global() {
        std::unique_lock<std::mutex> held(lock);
        changed.wait(held, [] { return stage == 1; });
    }
    void by_member() {
        std::unique_lock<std::mutex> held(lock);
        door.pass(held);
    }
    bool asked_twice() { return stage == 2; }
    void first() { while (!asked_twice()) changed.notify_one(); }
    void second() { while (!asked_twice()) changed.notify_all(); }
    int main() { by_global(); by_member(); first(); second(); }
";

/// The functions in which somebody reads what loops wait for.
fn read_in(program: &Program) -> Vec<String> {
    let predicates = Predicates::of(program);
    let mut found: Vec<String> = Vec::new();
    for function in program.functions.keys() {
        for test in program
            .awaits(function, &predicates)
            .into_iter()
            .flat_map(|one| one.tests)
        {
            let own = program.sites[test.site].function;
            assert!(own == function || predicates.asked_by(own).is_some());
            found.push(program.texts[program.functions[own].name].to_string());
        }
    }
    found
}

#[test]
fn predicates_that_one_loop_asks_are_looked_into() {
    let program = program_with("waits.cpp", SOURCE, &["-O0", "-std=c++17"]);
    let found = read_in(&program);
    let has = |part: &str| found.iter().any(|name| name.contains(part));
    assert!(has("by_global"), "{found:?}");
    assert!(has("4door4pass"), "{found:?}");
    assert!(!has("asked_twice"), "{found:?}");
}
