//! What a gate leaves out is left out, and nothing else.

mod support;

use bohr_event::abi::CALL_GATE;
use bohr_instrument::gates::GateKind;
use std::path::{Path, PathBuf};
use support::compile;
use support::instrumented::{Instrumented, execute, instrument, runtime};
use tempfile::TempDir;

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

/// Of what its loop computes, one value is used in the end only if it goes wrong.
const CHECKED: &str = "#include <stdio.h>\n#include <stdlib.h>
    static volatile int numbers[4] = {1, 2, 3, 4};
    int main(void) {
        int sum = 0, product = 1;
        for (int i = 0; i < 4; i++) { sum += numbers[i]; product *= numbers[i]; }
        if (sum != 10) { printf(\"%d %d\\n\", sum, product); exit(0); }
        printf(\"%d\\n\", sum);
        return 0;
    }";

/// A visit to leave out: a gate by its number, and the visit.
type Skip = (usize, u32);

/// A program with its gates.
struct Gated {
    _directory: TempDir,
    program: Instrumented,
    runtime: PathBuf,
}

impl Gated {
    fn new(name: &str, source: &str, flags: &[&str]) -> Gated {
        let directory = tempfile::tempdir().expect("directory");
        let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../include");
        let include = format!("-I{}", include.display());
        let flags: Vec<&str> = flags.iter().copied().chain([include.as_str()]).collect();
        let part = compile(directory.path(), name, source, &flags);
        let program = instrument(directory.path(), &[part], &[]);
        let runtime = runtime(directory.path());
        Gated {
            _directory: directory,
            program,
            runtime,
        }
    }

    /// The numbers of the gates of a kind.
    fn of_kind(&self, kind: GateKind) -> Vec<usize> {
        let gates = self.program.gates.iter().enumerate();
        let gates = gates.filter(|gate| gate.1.kind == kind);
        gates.map(|gate| gate.0).collect()
    }

    /// The number of the first gate of loops in a function.
    fn loop_in(&self, function: &str) -> usize {
        let mut gates = self.program.gates.iter();
        let found = gates.position(|one| one.kind == GateKind::Iteration && one.name == function);
        found.expect("a loop with a gate")
    }

    /// The output without the first visits of a call's gate.
    fn without_call(&self, position: usize, visits: u32) -> String {
        let gate = CALL_GATE | position as u32;
        let skipped: String = (0..visits)
            .map(|visit| format!("{gate}:{visit},"))
            .collect();
        self.skipping(",", &format!(",{skipped}"))
    }

    /// The positions of the calls of a function that can be left out.
    fn calls_of(&self, function: &str) -> Vec<usize> {
        let calls = self.program.calls.iter().enumerate();
        let calls = calls.filter(|call| call.1.name == function);
        calls.map(|call| call.0).collect()
    }

    /// The output, given what is to be skipped.
    fn without(&self, skip: &[Skip]) -> String {
        let (mut bodies, mut iterations) = (String::from(","), String::from(","));
        for (gate, visit) in skip {
            let list = match self.program.gates[*gate].kind {
                GateKind::Body => &mut bodies,
                GateKind::Block | GateKind::Iteration | GateKind::Call => &mut iterations,
            };
            // The test runtime looks for the number between two commas.
            list.push_str(&format!("{gate}:{visit},"));
        }
        self.skipping(&bodies, &iterations)
    }

    fn skipping(&self, bodies: &str, iterations: &str) -> String {
        let variables = [("SKIP_BODIES", bodies), ("SKIP_ITERATIONS", iterations)];
        let output = execute(&self.program.path, Some(&self.runtime), &variables);
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).expect("text")
    }

    /// The outputs without the first thread that comes by each body, sorted.
    fn without_each_body(&self) -> Vec<String> {
        let bodies = self.of_kind(GateKind::Body).into_iter();
        let mut outputs: Vec<String> = bodies.map(|gate| self.without(&[(gate, 0)])).collect();
        outputs.sort();
        outputs
    }
}

#[test]
fn nothing_is_left_out_unasked() {
    for level in ["-O0", "-O2"] {
        let program = Gated::new("t.c", THREADS, &[level, "-g"]);
        assert_eq!(program.without(&[]), "333 3 15\n");
    }
}

#[test]
fn a_thread_body_started_through_a_pointer() {
    let program = Gated::new("t.c", THREADS, &["-O1"]);
    // Which thread comes first is not known, but one of them is missing.
    let output = program.without(&[(program.of_kind(GateKind::Body)[0], 1)]);
    assert!(
        ["033 2 15\n", "303 2 15\n", "330 2 15\n"].contains(&output.as_str()),
        "{output}"
    );
}

#[test]
fn what_a_failed_check_prints_is_a_value_of_the_loop_before() {
    for level in ["-O0", "-O1", "-O2"] {
        let program = Gated::new("t.c", CHECKED, &[level, "-fno-unroll-loops"]);
        let gate = program.loop_in("main");
        assert_eq!(program.without(&[]), "10\n", "{level}");
        assert_eq!(program.without(&[(gate, 1)]), "8 12\n", "{level}");
        assert_eq!(program.without(&[(gate, 3)]), "6 6\n", "{level}");
    }
}

#[test]
fn passes_through_a_marked_block() {
    for level in ["-O0", "-O2"] {
        let program = Gated::new("t.c", THREADS, &[level]);
        let [block] = program.of_kind(GateKind::Block)[..] else {
            panic!("one block is marked, whatever copies there are")
        };
        assert_eq!(program.without(&[(block, 0), (block, 2)]), "333 3 10\n");
    }
}

#[test]
fn bodies_of_standard_threads() {
    let source = "#include <thread>\n#include <cstdio>\n#include <string>
        int main() { std::string text; std::thread one([&] { text += 'a'; }); one.join();
            std::thread two([&](int n) { text += std::to_string(n); }, 7); two.join(); std::puts(text.c_str()); }";
    let program = Gated::new("t.cc", source, &["-O2"]);
    assert_eq!(program.without(&[]), "a7\n");
    assert_eq!(program.without_each_body(), ["7\n", "a\n"]);
}

#[test]
fn tasks_hand_over_a_result_that_is_zero() {
    let source = "#include <future>\n#include <string>\n#include <cstdio>
        static std::string text(const char *t) { return std::string(t) + \"!\"; }
        int main() { int ran = 0; auto a = std::launch::async;
            auto one = std::async(a, [] { return 4L; }); auto two = std::async(a, [&] { ran = 1; });
            auto three = std::async(a, text, \"c\");
            long value = one.get(); two.get(); std::printf(\"%ld %d %s\\n\", value, ran, three.get().c_str()); }";
    for level in ["-O0", "-O2"] {
        let program = Gated::new("a.cc", source, &[level]);
        assert_eq!(program.without(&[]), "4 1 c!\n");
        // The task that returns a string has no gate.
        assert_eq!(program.without_each_body(), ["0 1 c!\n", "4 0 c!\n"]);
    }
}

#[test]
fn bodies_of_c11_threads() {
    let source = "#include <threads.h>\n#include <stdio.h>
        static int work(void *p) { *(int *)p = 1; return 7; }
        int main(void) { thrd_t t; int ran = 0, result = 9; thrd_create(&t, work, &ran);
            thrd_join(t, &result); printf(\"%d %d\\n\", ran, result); return 0; }";
    let program = Gated::new("c.c", source, &["-O0"]);
    assert_eq!(program.without(&[]), "1 7\n");
    assert_eq!(program.without_each_body(), ["0 0\n"]);
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
        let program = Gated::new("l.c", LOOPS, &[level]);
        assert_eq!(program.without(&[]), "1 2 4 8 16 128 64 18 5\n", "{level}");
        let first = program.loop_in("main");
        let left = program.without(&[(first, 1), (first, 3)]);
        assert_eq!(left, "1 0 4 0 16 128 64 18 5\n", "{level}");
    }
}

/// Bounds that are read again for every iteration: a variable that anybody may
/// write, one behind a pointer in memory, and an element by the loop's own counter.
const BOUNDS: &str = r#"#include <stdio.h>
    int shared[8], limit = 5, *where = &limit; char more[8] = "yyyy";
    __attribute__((noinline)) void note(int i) { shared[i & 7] += 1 << (i & 7); }
    __attribute__((noinline)) void global(void) { int i = 0; do { note(i); i++; } while (i < limit); }
    __attribute__((noinline)) void pointed(void) { int i = 0; do { note(i); i++; } while (i < *where); }
    __attribute__((noinline)) void element(void) { int i = 0; do { note(i); i++; } while (more[i] == 'y'); }
    int main(void) {
        global(); pointed(); element();
        for (int i = 0; i < 5; i++) printf("%d ", shared[i]);
        return 0;
    }"#;

#[test]
fn iterations_of_loops_whose_bounds_are_in_memory() {
    for level in ["-O0", "-O1", "-O2"] {
        let program = Gated::new("b.c", BOUNDS, &[level]);
        assert_eq!(program.without(&[]), "3 6 12 24 32 ", "{level}");
        let [global, pointed, element] =
            ["global", "pointed", "element"].map(|name| program.loop_in(name));
        let left = program.without(&[(global, 1), (global, 4)]);
        assert_eq!(left, "3 4 12 24 16 ", "{level}");
        let left = program.without(&[(pointed, 0), (pointed, 1), (element, 3)]);
        assert_eq!(left, "2 4 12 16 32 ", "{level}");
    }
}

/// Calls in a row, in a loop, one whose result is used, one that may throw.
const CALLS: &str = r#"#include <cstdio>
    int shared[4]; volatile int three = 3;
    __attribute__((noinline)) void note(int i) { shared[i & 3] += 1; }
    __attribute__((noinline)) int counted(int i) { shared[i & 3] += 10; return shared[i & 3]; }
    struct Guard { ~Guard() { shared[3] += 100; } };
    __attribute__((noinline)) void thrown(int i) { if (i > 90) throw i; shared[2] += 5; }
    int main(int argc, char **) {
        for (int i = 0; i < three; i++) note(0);
        counted(1);
        int kept = counted(1);
        try { Guard guard; thrown(argc); } catch (int) { kept = 7; }
        std::printf("%d %d %d %d %d\n", shared[0], shared[1], shared[2], shared[3], kept);
    }"#;

#[test]
fn calls_whose_results_nobody_uses() {
    for level in ["-O0", "-O1", "-O2"] {
        let program = Gated::new("c.cc", CALLS, &[level]);
        assert_eq!(program.without(&[]), "3 20 5 100 20\n", "{level}");
        let [note] = program.calls_of("_Z4notei")[..] else {
            panic!("one call at {level}")
        };
        assert_eq!(program.without_call(note, 2), "1 20 5 100 20\n", "{level}");
        let [counted] = program.calls_of("_Z7countedi")[..] else {
            panic!("the result of the other one is used")
        };
        assert_eq!(program.without_call(counted, 1), "3 10 5 100 10\n");
        let [thrown] = program.calls_of("_Z6throwni")[..] else {
            panic!("one invoke at {level}")
        };
        assert_eq!(program.without_call(thrown, 1), "3 20 0 100 20\n");
    }
}

/// Loops that a switch decides about, values that are used behind other blocks
/// after the loop, a loop in a loop whose value both leave, an invoke's result.
const FORMS: &str = r#"#include <stdio.h>
    int shared[8]; volatile int n = 5;
    __attribute__((noinline)) int note(int i) { shared[i & 7] += 1 << (i & 7); return i + 1; }
    __attribute__((noinline)) void chosen(int from) {
        for (int i = from;; i++) { switch (i) { case 5: case 9: case 14: return; default: note(i); } }
    }
    __attribute__((noinline)) int behind(int limit) {
        int last;
        if (limit > 3) { int i = 0; do { note(i); last = i * 3; i++; } while (i < limit); note(7); } else last = 70;
        return last;
    }
    __attribute__((noinline)) int nested(int limit, int passes) {
        int inner = 0, i = 0;
        do { int k = 0; do { note(k + 3 * i); inner ^= k * 5 + i; k++; } while (k < limit); i++; } while (i < passes);
        return inner;
    }
    int main(void) {
        chosen(0);
        for (int i = 0; i < 8; i++) { printf("%d ", shared[i]); shared[i] = 0; }
        int last = behind(n);
        for (int i = 0; i < 8; i++) { printf("%d ", shared[i]); shared[i] = 0; }
        int inner = nested(3, n - 3);
        for (int i = 0; i < 8; i++) printf("%d ", shared[i]);
        printf("%d %d\n", last, inner);
        return 0;
    }"#;

#[test]
fn loops_of_many_forms() {
    let whole = "1 2 4 8 16 0 0 0 1 2 4 8 16 0 0 128 1 2 4 8 16 32 0 0 12 3\n";
    for level in ["-O0", "-O1", "-O2"] {
        let program = Gated::new("f.c", FORMS, &[level]);
        assert_eq!(program.without(&[]), whole, "{level}");
        let without = |function: &str, visits: &[u32]| {
            let gate = program.loop_in(function);
            let skip: Vec<Skip> = visits.iter().map(|visit| (gate, *visit)).collect();
            program.without(&skip)
        };
        assert_eq!(
            without("chosen", &[0, 3]),
            "0 2 4 0 16 0 0 0 1 2 4 8 16 0 0 128 1 2 4 8 16 32 0 0 12 3\n",
            "{level}"
        );
        // The last iteration is left out: a variable in memory stays as it was, a
        // value that can be computed without the iteration is.
        let last = if level == "-O0" { 9 } else { 12 };
        assert_eq!(
            without("behind", &[1, 4]),
            format!("1 2 4 8 16 0 0 0 1 0 4 8 0 0 0 128 1 2 4 8 16 32 0 0 {last} 3\n"),
            "{level}"
        );
        // The outer loop's gate comes first; its second pass is left out.
        assert_eq!(
            without("nested", &[1]),
            "1 2 4 8 16 0 0 0 1 2 4 8 16 0 0 128 1 2 4 0 0 0 0 0 12 15\n",
            "{level}"
        );
    }
}
