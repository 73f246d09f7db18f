//! What a gate leaves out is left out, and nothing else.

mod support;

use bohr_instrument::gates::GateKind;
use std::path::Path;
use support::compile;
use support::instrumented::{execute, instrument, runtime};

const THREADS: &str = "#include <pthread.h>\n#include <stdio.h>\n#include <bohr.h>
    static int ran[3];
    static void *worker(void *p) { int local[4] = {1, 2, 3, 4}; *(int *)p = local[2]; return p; }
    static void start(pthread_t *t, void *(*routine)(void *), void *p) { pthread_create(t, 0, routine, p); }
    int main(int argc, char **argv) {
        pthread_t t[3];
        void *(*volatile routine)(void *) = worker;
        for (int i = 0; i < 3; i++) start(&t[i], argc > 5 ? 0 : routine, &ran[i]);
        int results = 0, passes = 0;
        for (int i = 0; i < 3; i++) { void *r; pthread_join(t[i], &r); results += r != 0; }
        for (int i = 0; i < 4; i++) { BOHR_RCB_BEGIN passes += 1 << i; BOHR_RCB_END }
        printf(\"%d%d%d %d %d\\n\", ran[0], ran[1], ran[2], results, passes);
        return worker(&ran[0]) == 0;
    }";

/// A visit to leave out: the kind of the gate, which of that kind, and the visit.
type Skip = (GateKind, usize, u32);

/// Output of the program with gates in it, given what is to be skipped.
fn output(name: &str, source: &str, flags: &[&str], skip: &[Skip]) -> String {
    let directory = tempfile::tempdir().expect("directory");
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../include");
    let include = format!("-I{}", include.display());
    let flags: Vec<&str> = flags.iter().copied().chain([include.as_str()]).collect();
    let part = compile(directory.path(), name, source, &flags);
    let program = instrument(directory.path(), &[part], &[]);
    let (mut bodies, mut iterations) = (String::from(","), String::from(","));
    for &(kind, which, visit) in skip {
        let of_kind = program
            .gates
            .iter()
            .enumerate()
            .filter(|gate| *gate.1 == kind);
        let number = of_kind
            .map(|gate| gate.0)
            .nth(which)
            .expect("a gate of that kind");
        let list = if kind == GateKind::Body {
            &mut bodies
        } else {
            &mut iterations
        };
        // The test runtime looks for the number between two commas.
        list.push_str(&format!("{number}:{visit},"));
    }
    let variables = [
        ("SKIP_BODIES", bodies.as_str()),
        ("SKIP_ITERATIONS", iterations.as_str()),
    ];
    let runtime = runtime(directory.path());
    let output = execute(&program.path, Some(&runtime), &variables);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn nothing_is_left_out_unasked() {
    for level in ["-O0", "-O2"] {
        assert_eq!(output("t.c", THREADS, &[level, "-g"], &[]), "333 3 15\n");
    }
}

#[test]
fn a_thread_body_started_through_a_pointer() {
    // Which thread comes first is not known, but one of them is missing.
    let output = output("t.c", THREADS, &["-O1"], &[(GateKind::Body, 0, 1)]);
    assert!(
        ["033 2 15\n", "303 2 15\n", "330 2 15\n"].contains(&output.as_str()),
        "{output}"
    );
}

#[test]
fn passes_through_a_marked_block() {
    for level in ["-O0", "-O2"] {
        let skip = [(GateKind::Block, 0, 0), (GateKind::Block, 0, 2)];
        assert_eq!(output("t.c", THREADS, &[level], &skip), "333 3 10\n");
    }
}

#[test]
fn bodies_of_standard_threads() {
    let source = "#include <thread>\n#include <cstdio>\n#include <string>
        int main() { std::string text; std::thread one([&] { text += 'a'; }); one.join();
            std::thread two([&](int n) { text += std::to_string(n); }, 7); two.join(); std::puts(text.c_str()); }";
    let with = |skip: &[Skip]| output("t.cc", source, &["-O2"], skip);
    let mut left = [
        with(&[(GateKind::Body, 0, 0)]),
        with(&[(GateKind::Body, 1, 0)]),
    ];
    left.sort();
    assert_eq!(
        (with(&[]).as_str(), left),
        ("a7\n", ["7\n".to_string(), "a\n".to_string()])
    );
}

/// Each loop adds a digit per iteration; `n` is not known to the compiler.
const LOOPS: &str = "#include <stdio.h>
    int shared[8]; volatile int n = 5;
    __attribute__((noinline)) static void note(int i) { shared[i & 7] += 1 << (i & 7); }
    int main(void) {
        int limit = n;
        for (int i = 0; i < limit; i++) note(i);
        for (int i = 0; i < 5; i++) printf(\"%d \", shared[i]);
        int last = -1, i = 7;
        do { note(i); last = i * 3; i--; } while (i > 5);
        printf(\"%d %d %d %d\\n\", shared[7], shared[6], last, i);
        return 0;
    }";

#[test]
fn iterations_of_loops() {
    for level in ["-O0", "-O1", "-O2"] {
        assert_eq!(
            output("l.c", LOOPS, &[level], &[]),
            "1 2 4 8 16 128 64 18 5\n",
            "{level}"
        );
        let skip = [(GateKind::Iteration, 0, 1), (GateKind::Iteration, 0, 3)];
        let left = output("l.c", LOOPS, &[level], &skip);
        assert_eq!(left, "1 0 4 0 16 128 64 18 5\n", "{level}");
    }
}
