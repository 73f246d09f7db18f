//! Programs whose culprit is known because they were written around it: whatever
//! else their threads share, it is named by its variable and its three lines.

use crate::controlled;

use controlled::Folder;
use serde_json::Value;

/// Numbers that look random and are always the same.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// A program as text, with the line of each of its marks.
struct Generated {
    source: String,
    marks: Vec<(&'static str, usize)>,
}

impl Generated {
    fn line(&mut self, text: &str) {
        self.source.push_str(text);
        self.source.push('\n');
    }

    fn mark(&mut self, name: &'static str, text: &str) {
        self.line(text);
        self.marks.push((name, self.source.lines().count()));
    }

    /// Updates of other variables that the threads share, each in one step.
    fn noise(&mut self, dice: &mut Dice) {
        for _ in 0..dice.below(4) {
            let other = dice.below(3);
            self.line(&format!("    add(&noise[{other}], 1);"));
        }
    }

    /// The first thread reads the target and relies on it later; the second writes
    /// it in between. Every access is made under a lock: nothing races.
    fn new(seed: u64) -> Generated {
        let mut dice = Dice(seed);
        let mut made = Generated {
            source: String::new(),
            marks: Vec::new(),
        };
        made.line("#include <assert.h>\n#include <pthread.h>\n#include <stdlib.h>");
        made.line("static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;");
        made.line("static long target = 7, noise[3];");
        made.line("static void add(long *to, long more) {\n    pthread_mutex_lock(&lock);\n    *to += more;\n    pthread_mutex_unlock(&lock);\n}");
        made.line("static void *victim(void *nothing) {");
        made.noise(&mut dice);
        made.line("    pthread_mutex_lock(&lock);");
        made.mark("before", "    long seen = target;");
        made.line("    pthread_mutex_unlock(&lock);");
        made.noise(&mut dice);
        made.line("    pthread_mutex_lock(&lock);");
        made.mark("after", "    if (target != seen) abort();");
        made.line("    pthread_mutex_unlock(&lock);");
        made.noise(&mut dice);
        made.line("    return nothing;\n}");
        made.line("static void *intruder(void *nothing) {");
        made.noise(&mut dice);
        made.line("    pthread_mutex_lock(&lock);");
        made.mark("between", "    target = 8;");
        made.line("    pthread_mutex_unlock(&lock);");
        made.noise(&mut dice);
        made.line("    return nothing;\n}");
        made.line("int main(void) {\n    pthread_t threads[2];\n    pthread_create(&threads[0], 0, victim, 0);\n    pthread_create(&threads[1], 0, intruder, 0);\n    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);\n    return 0;\n}");
        made
    }
}

#[test]
fn the_culprit_that_a_program_was_made_around_is_named() {
    for seed in 1..=4 {
        let made = Generated::new(seed);
        let folder = Folder::empty();
        std::fs::write(folder.path("made.c"), &made.source).unwrap();
        let compile = ["cc", "-g", "-O1", "-pthread", "made.c", "-o", "program"];
        folder.bohr(&compile).expect(0);
        folder.bohr(&["hunt", "--", "./program"]).expect(1);
        let explain = ["explain", "program.bohr", "--json"];
        let told = folder.bohr(&explain).expect(0).json();
        let culprit = &told["windows"][0]["culprit"];
        for (mark, line) in made.marks {
            let ends = |value: &Value| {
                let line = format!("made.c:{line}");
                value["line"]
                    .as_str()
                    .is_some_and(|found| found.ends_with(&line))
            };
            assert!(
                ends(&culprit[mark]),
                "{mark} is line {line} of\n{}\n{told}",
                made.source
            );
            assert_eq!(culprit[mark]["object"], "target", "{told}");
        }
    }
}
