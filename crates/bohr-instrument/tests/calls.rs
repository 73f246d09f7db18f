//! What a call may reach, with and without the analysis of pointers.

mod support;

use bohr_program::{CallGraph, Certainty, Program, Sharing};

const SOURCE: &str = r#"// flags: -O1 -g -fno-inline -pthread
#include <pthread.h>
#include <stdlib.h>

typedef int (*operation)(int, int);
static int add(int a, int b) { return a + b; }
static int subtract(int a, int b) { return a - b; }
static double scale(double a) { return a * 2; }
static int order(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
static void *worker(void *argument) { return argument; }

struct choice { operation run; double (*scale)(double); };
struct choice *volatile published;

int by_table(int which) {
    operation table[2] = { add, add };
    return table[which & 1](which, 1);
}
int by_memory(int which) { return published->run(which, 1) + (int)published->scale(which); }

int main(int count, char **words) {
    pthread_t thread;
    int numbers[3] = { 3, 2, count };
    struct choice choice = { count > 1 ? add : subtract, scale };
    published = &choice;
    pthread_create(&thread, 0, worker, &choice);
    qsort(numbers, 3, sizeof *numbers, order);
    return by_table(count) + by_memory(count) + numbers[0];
}
"#;

/// The functions of the program that one of its functions may call.
fn callees(program: &Program, graph: &CallGraph, caller: &str) -> Vec<(String, Certainty)> {
    let caller = program.functions_named(caller).next().expect("the caller");
    let mut found: Vec<(String, Certainty)> = graph
        .calls(caller)
        .iter()
        .filter(|edge| program.functions[edge.callee].body.is_some())
        .map(|edge| {
            (
                program.texts[program.functions[edge.callee].name].to_owned(),
                edge.certainty,
            )
        })
        .collect();
    found.sort();
    found.dedup();
    found
}

fn expect(found: Vec<(String, Certainty)>, expected: &[(&str, Certainty)]) {
    let found: Vec<(&str, Certainty)> = found
        .iter()
        .map(|(name, certainty)| (name.as_str(), *certainty))
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn pointers_make_calls_exact() {
    use Certainty::*;
    let program = support::program("calls.c", SOURCE);
    let sharing = Sharing::of(&program);
    let exact = CallGraph::new(&program, Some(&sharing));
    let rough = CallGraph::new(&program, None);

    // What the table cannot hold is not called, whatever fits.
    expect(callees(&program, &exact, "by_table"), &[("add", Reaches)]);
    // From memory that other threads may write, anything that fits may come.
    expect(
        callees(&program, &exact, "by_memory"),
        &[("add", Fits), ("scale", Fits), ("subtract", Fits)],
    );
    expect(
        callees(&program, &rough, "by_memory"),
        &[("add", Fits), ("scale", Fits), ("subtract", Fits)],
    );
    // A library function calls back what it was given.
    expect(
        callees(&program, &exact, "main"),
        &[
            ("by_memory", Named),
            ("by_table", Named),
            ("order", Reaches),
        ],
    );
    let order = program.functions_named("order").next().expect("order");
    let main = program.functions_named("main").next().expect("main");
    assert_eq!(exact.callers(order), [main]);
}
