//! Loads that the optimiser made ahead of their condition are made behind it again, and
//! no others.

mod support;

use bohr_event::MemoryOrder;
use bohr_program::{BlockNumber, Operation, Program};
use support::program_with;

const SOURCE: &str = "
    #include <stdatomic.h>
    int value, other, copy;
    struct pair { int flag, value; } pair;
    atomic_int ready;
    int is_ready(void) { return atomic_load_explicit(&ready, memory_order_acquire); }
    extern void fail(int);

    int looks_when_ready(void) { return is_ready() && value != 1; }
    int adds_when_ready(int sum) { if (is_ready()) sum += value * 3; return sum; }
    int in_two_places(int sum) { if (is_ready()) sum = value > 5 ? value - 5 : sum; return sum; }
    int one_or_the_other(void) { return is_ready() ? value : other; }
    int one_inside_the_other(int sum) { if (is_ready()) { if (pair.flag) sum += pair.value; } return sum; }
    void told_afterwards(void) { if (is_ready() && value != 1) fail(value); }
    int twice(int sum) { for (int i = 0; i < 2; i++) if (is_ready()) sum += value; return sum; }

    int before_it_is_ready(void) { int early = value; return is_ready() ? early : 0; }
    int whatever_is_ready(void) { int now = is_ready(); copy = value; return now ? copy : 0; }
    int on_its_own_stack(int n) { int own[2] = { n, n + 1 }; fail(own[0]); return n > 3 ? own[1] : n; }
";

/// Of the plain loads of a function's globals, how many stand in its first block, and how
/// many elsewhere.
fn loads(program: &Program, name: &str) -> (usize, usize) {
    let mut bodies = program.bodies();
    let found = bodies.find(|(_, function, _)| &program.texts[function.name] == name);
    let body = found.expect("a function of this name").2;
    let entry = body.blocks.keys().next();
    let in_block = |block: BlockNumber| {
        let plain = |operation: &Operation| {
            matches!(operation, Operation::Load { access, address, .. }
                if access.order == MemoryOrder::Plain && address.constant().is_some())
        };
        body.block(block)
            .filter(|(_, one)| plain(&one.operation))
            .count()
    };
    let all: usize = body.blocks.keys().map(in_block).sum();
    let first = entry.map_or(0, in_block);
    (first, all - first)
}

#[test]
fn what_an_optimiser_looks_at_early_is_looked_at_behind_the_condition() {
    for level in ["-O1", "-O2", "-O3"] {
        let program = program_with("speculation.c", SOURCE, &[level]);
        for name in [
            "looks_when_ready",
            "adds_when_ready",
            "in_two_places",
            "one_or_the_other",
            "one_inside_the_other",
            "told_afterwards",
            "twice",
        ] {
            let (ahead, behind) = loads(&program, name);
            assert_eq!(ahead, 0, "{name} at {level}");
            assert!(behind > 0, "{name} at {level}");
        }
    }
}

#[test]
fn what_the_author_looks_at_in_any_case_stays_where_it_was() {
    let program = program_with("speculation.c", SOURCE, &["-O2"]);
    assert_eq!(loads(&program, "before_it_is_ready"), (1, 0));
    assert_eq!(loads(&program, "whatever_is_ready"), (1, 0));
    let plain = program_with("speculation.c", SOURCE, &["-O0"]);
    assert_eq!(loads(&plain, "before_it_is_ready"), (1, 0));
}
