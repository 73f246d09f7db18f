//! What the sides of a breakpoint are about, as their statements name it: `a->balance`
//! in one and `account->balance` in the other are likely the same. Nothing is parsed
//! and nothing is proved; a patch with such objects is tried before it is handed out.

use super::Language;

/// Words that look like variables and are none.
const KEYWORDS: [&str; 32] = [
    "if", "while", "for", "return", "let", "mut", "match", "else", "sizeof", "struct", "static",
    "const", "unsigned", "signed", "long", "short", "int", "char", "void", "auto", "bool", "true",
    "false", "NULL", "nullptr", "unsafe", "move", "do", "switch", "case", "new", "delete",
];

/// A variable or a field of one, as it is written: `queue->items[first].next`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Path {
    text: String,
    /// The names in it, without what stands in brackets.
    names: Vec<String>,
}

/// An expression for the address of what all of these lines are about, for each of them;
/// nothing if there is no name that all have in common.
pub(super) fn objects(lines: &[&str], language: Language) -> Option<Vec<String>> {
    let paths = lines.iter().map(|line| paths(line, language));
    let paths: Vec<Vec<Path>> = paths.collect();
    let (first, others) = paths.split_first()?;
    let matching = |path: &Path| {
        let best = others.iter().map(|other| closest(path, other));
        let best: Vec<(usize, &Path)> = best.collect::<Option<_>>()?;
        let common = best.iter().map(|(common, _)| *common).min()?;
        let all = std::iter::once(path).chain(best.iter().map(|(_, path)| *path));
        let all: Vec<String> = all.map(|path| address(path, language)).collect();
        (common > 0).then_some(((common, path.names.len()), all))
    };
    // The first of those that have most in common.
    let found = first.iter().rev().filter_map(matching);
    found.max_by_key(|(common, _)| *common).map(|(_, all)| all)
}

/// The path that has most names at its end in common with another one, and how many.
fn closest<'a>(path: &Path, others: &'a [Path]) -> Option<(usize, &'a Path)> {
    let common = |other: &Path| {
        let pairs = path.names.iter().rev().zip(other.names.iter().rev());
        pairs.take_while(|(one, other)| one == other).count()
    };
    let all = others.iter().rev().map(|other| (common(other), other));
    all.max_by_key(|(common, _)| *common)
}

fn address(path: &Path, language: Language) -> String {
    match language {
        Language::Rust if path.text == "self" => "self".to_string(),
        Language::Rust => format!("&{}", path.text),
        Language::C | Language::Cpp => format!("(const void *)&{}", path.text),
    }
}

/// The paths of a line. What is called is none, but what it is called on.
fn paths(line: &str, language: Language) -> Vec<Path> {
    let code = line.find("//").map_or(line, |comment| &line[..comment]);
    let mut all = Vec::new();
    let mut rest = code;
    while let Some(start) = rest.find(is_name) {
        // Numbers, and what stands in quotes, begin like no variable.
        let quoted = rest[..start].matches('"').count() % 2 == 1;
        let (path, behind) = path_at(&rest[start..]);
        let next = behind.trim_start();
        let called = next.starts_with('(') || next.starts_with('!') && !next.starts_with("!=");
        rest = match quoted {
            true => behind.split_once('"').map_or("", |(_, rest)| rest),
            false => behind,
        };
        let path = if called { without_last(path) } else { path };
        if !quoted && stands_for_memory(&path, language) && !behind.starts_with("::") {
            all.push(path);
        }
    }
    all
}

fn is_name(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// A path at the beginning of a text, and what comes behind it.
fn path_at(text: &str) -> (Path, &str) {
    let mut names = Vec::new();
    let mut at = 0;
    loop {
        let name = text[at..].find(|letter| !is_name(letter));
        let end = name.map_or(text.len(), |length| at + length);
        names.push(text[at..end].to_string());
        at = end;
        if let Some(length) = index(&text[at..]) {
            at += length;
        }
        let next = ["->", ".", "::"].iter().find(|sign| {
            let behind = text[at..].strip_prefix(**sign);
            behind.is_some_and(|behind| behind.starts_with(is_name))
        });
        let Some(sign) = next else { break };
        at += sign.len();
    }
    let path = Path {
        text: text[..at].to_string(),
        names,
    };
    (path, &text[at..])
}

/// The length of brackets that a text begins with, if nothing happens in them.
fn index(text: &str) -> Option<usize> {
    let inner = text.strip_prefix('[')?;
    let length = inner.find(']')?;
    let quiet = |letter: char| is_name(letter) || " .->%+*".contains(letter);
    let inner = &inner[..length];
    let still = inner.chars().all(quiet) && !inner.contains("++") && !inner.contains("--");
    still.then_some(length + 2)
}

/// A path without its last name.
fn without_last(mut path: Path) -> Path {
    path.names.pop();
    let end = ["->", ".", "::"]
        .iter()
        .filter_map(|sign| path.text.rfind(sign));
    path.text.truncate(end.max().unwrap_or(0));
    path
}

/// Whether a path can have an address.
fn stands_for_memory(path: &Path, language: Language) -> bool {
    let Some(first) = path.names.first() else {
        return false;
    };
    let constant = first.chars().all(|letter| !letter.is_lowercase());
    let word = !first.starts_with(|letter: char| letter.is_ascii_digit());
    let value = language == Language::Rust || !constant;
    word && value && !path.text.contains("::") && !KEYWORDS.contains(&&**first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(language: Language, one: &str, other: &str, expected: Option<[&str; 2]>) {
        let found = objects(&[one, other], language);
        let expected = expected.map(|all| all.map(String::from).to_vec());
        assert_eq!(found, expected, "{one} / {other}");
    }

    #[test]
    fn what_both_name_is_the_object() {
        check(
            Language::Rust,
            "self.handles.fetch_sub(1, Ordering::AcqRel); // marker: closed",
            "let left = self.handles.load(Ordering::Acquire);",
            Some(["&self.handles", "&self.handles"]),
        );
        check(
            Language::C,
            "account->balance += amount;",
            "if (mine[next]->balance != 0 && amount > 0)",
            Some([
                "(const void *)&account->balance",
                "(const void *)&mine[next]->balance",
            ]),
        );
        check(
            Language::Cpp,
            "std::lock_guard<std::mutex> guard(queue.lock);",
            "this->queue.lock.unlock();",
            Some([
                "(const void *)&queue.lock",
                "(const void *)&this->queue.lock",
            ]),
        );
    }

    #[test]
    fn what_has_no_address_is_no_object() {
        check(Language::C, "free(page);", "use(PAGE_BYTES);", None);
        check(Language::C, "x = PAGE_BYTES;", "y = PAGE_BYTES;", None);
        check(Language::C, "flush();", "flush();", None);
        check(Language::C, "puts(\"same\");", "print(\"same\");", None);
        check(Language::C, "items[next()] = 1;", "next();", None);
        check(
            Language::Rust,
            "Ordering::Acquire;",
            "Ordering::Acquire;",
            None,
        );
    }
}
