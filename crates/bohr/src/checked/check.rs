//! The check before a line: text that ends the program where a condition holds, in
//! the program's own language, so that a condition is whatever its author could
//! write there.
//!
//! In C and C++ it is a trap, one instruction. In Rust it is a call of `abort`, which
//! asks for no `unsafe` and can stand wherever `std` can; the place of the failure is
//! then the author's line, since libraries are left out of that. Rejected: a trap in
//! assembly. LLVM has no probe in a block that is nothing but assembly, so a core of it
//! would not tell the block.

use super::At;
use std::path::Path;

/// In which language a check is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// C++, too.
    C,
    Rust,
}

impl Language {
    /// Of a source file.
    pub fn of(path: &Path) -> Language {
        match path.extension() {
            Some(extension) if extension == "rs" => Language::Rust,
            _ => Language::C,
        }
    }

    fn check(self, condition: Option<&str>) -> String {
        match self {
            Language::C => format!("if ({}) __builtin_trap(); ", condition.unwrap_or("1")),
            Language::Rust => {
                let condition = condition.unwrap_or("true");
                format!("if ({condition}) {{ ::std::process::abort(); }} ")
            }
        }
    }
}

/// The text with the check before a line, on that line, so that all others keep their
/// numbers. `None` if there is nothing on it.
pub fn with_check(text: &str, at: &At, language: Language) -> Option<String> {
    let check = language.check(at.condition.as_deref());
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    let line = lines
        .get(at.line - 1)
        .filter(|line| !line.trim().is_empty())?;
    let changed = format!("{check}{line}");
    lines[at.line - 1] = &changed;
    Some(lines.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_moves_no_other_line() {
        let at: At = "sum.c:2 if x > 1".parse().unwrap();
        let text = "int x;\n    f();\ng();\n";
        let changed = with_check(text, &at, Language::C).unwrap();
        assert_eq!(
            changed,
            "int x;\nif (x > 1) __builtin_trap();     f();\ng();\n"
        );
        let always: At = "sum.c:3".parse().unwrap();
        let changed = with_check(text, &always, Language::C).unwrap();
        assert!(
            changed.ends_with("\nif (1) __builtin_trap(); g();\n"),
            "{changed}"
        );
        assert_eq!(with_check("one\n\n", &at, Language::C), None);
        assert_eq!(with_check("one\n", &at, Language::C), None);
    }

    #[test]
    fn a_check_is_of_the_language_of_its_file() {
        let at: At = "sum.rs:1 if x > 1".parse().unwrap();
        let changed = with_check("f();\n", &at, Language::of(Path::new("src/sum.rs"))).unwrap();
        assert_eq!(changed, "if (x > 1) { ::std::process::abort(); } f();\n");
        assert_eq!(Language::of(Path::new("sum.cpp")), Language::C);
    }
}
