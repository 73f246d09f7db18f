//! What somebody else may do to a source meanwhile: other lines above, and a thread
//! that has nothing to do with the others. A patch has to outlive that.

use super::Language;

const ABOVE: &str = "/* One line more, */\n/* and another one, */\n/* and a third. */\n";

/// Starts before `main` does.
const THREAD: &str = "
#include <pthread.h>
#include <sched.h>

static void *bohr_unrelated(void *unused) {
    for (int times = 0; times < 3; times++)
        sched_yield();
    return unused;
}

__attribute__((constructor)) static void bohr_start_unrelated(void) {
    pthread_t thread;
    if (pthread_create(&thread, 0, bohr_unrelated, 0) == 0)
        pthread_detach(thread);
}
";

const RUST_THREAD: &str = "std::thread::spawn(|| for _ in 0..3 { std::thread::yield_now(); });";

/// The text with all its lines moved, and with a thread more if that is asked for
/// and can be had: in Rust where `main` is.
#[must_use]
pub fn unrelated(text: &str, language: Language, thread: bool) -> String {
    let changed = match (language, thread) {
        (_, false) => text.to_string(),
        (Language::C | Language::Cpp, true) => format!("{text}{THREAD}"),
        (Language::Rust, true) => with_rust_thread(text),
    };
    format!("{ABOVE}{changed}")
}

fn with_rust_thread(text: &str) -> String {
    let mut result = String::new();
    for line in text.lines() {
        result += line;
        result.push('\n');
        let code = line.trim();
        let is_main = code.starts_with("fn main(") || code.starts_with("pub fn main(");
        if is_main && code.ends_with('{') {
            result += RUST_THREAD;
            result.push('\n');
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_move_and_a_thread_comes() {
        let text = "fn main() {\n    f();\n}\n";
        let changed = unrelated(text, Language::Rust, true);
        let lines: Vec<&str> = changed.lines().collect();
        assert_eq!(lines[3..], ["fn main() {", RUST_THREAD, "    f();", "}"]);
        assert_eq!(unrelated("x\n", Language::C, false), format!("{ABOVE}x\n"));
        assert!(unrelated("x\n", Language::Cpp, true).contains("pthread_create"));
    }
}
