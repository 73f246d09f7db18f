//! What a gate leaves out is left out, and nothing else.

mod support;

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

/// Output of the program with gates in it, given what is to be skipped.
fn outputs(name: &str, source: &str, flags: &[&str], skip: &[(&str, &str)]) -> String {
    let directory = tempfile::tempdir().expect("directory");
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../include");
    let include = format!("-I{}", include.display());
    let flags: Vec<&str> = flags.iter().copied().chain([include.as_str()]).collect();
    let part = compile(directory.path(), name, source, &flags);
    let program = instrument(directory.path(), &[part], &[]);
    let runtime = runtime(directory.path());
    let output = execute(&program.path, Some(&runtime), skip);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn nothing_is_left_out_unasked() {
    for level in ["-O0", "-O2"] {
        assert_eq!(outputs("t.c", THREADS, &[level, "-g"], &[]), "333 3 15\n");
    }
}

#[test]
fn a_thread_body_started_through_a_pointer() {
    // Gate 0 is the body, gate 1 the block; visits count from 0. Which thread
    // comes first is not known, but one of them is missing.
    let output = outputs("t.c", THREADS, &["-O1"], &[("SKIP_BODIES", ",0:1,")]);
    assert!(
        ["033 2 15\n", "303 2 15\n", "330 2 15\n"].contains(&output.as_str()),
        "{output}"
    );
}

#[test]
fn passes_through_a_marked_block() {
    for level in ["-O0", "-O2"] {
        let skip = [("SKIP_ITERATIONS", ",1:0,1:2,1:0,1:2,")];
        assert_eq!(outputs("t.c", THREADS, &[level], &skip), "333 3 10\n");
    }
}

#[test]
fn bodies_of_standard_threads() {
    let source = "#include <thread>\n#include <cstdio>\n#include <string>
        int main() { std::string text; std::thread one([&] { text += 'a'; }); one.join();
            std::thread two([&](int n) { text += std::to_string(n); }, 7); two.join(); std::puts(text.c_str()); }";
    let with = |skip: &str| outputs("t.cc", source, &["-O2"], &[("SKIP_BODIES", skip)]);
    let (both, first, second) = (with(""), with(",0:0,"), with(",1:0,"));
    let mut left = [first, second];
    left.sort();
    assert_eq!(
        (both.as_str(), left),
        ("a7\n", ["7\n".to_string(), "a\n".to_string()])
    );
}
