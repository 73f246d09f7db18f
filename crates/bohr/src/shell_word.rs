//! Commands that are printed for people to paste: their words.

use std::path::Path;

/// A path as a shell takes it for one word.
pub fn as_word(path: &Path) -> String {
    let text = path.to_string_lossy();
    let plain = |letter: char| letter.is_alphanumeric() || "/._-+,:@%=~".contains(letter);
    match text.starts_with('~') || !text.chars().all(plain) {
        true => format!("'{}'", text.replace('\'', "'\\''")),
        false => text.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_would_part_them() {
        for (path, word) in [
            ("/tmp/plain-1.bohr", "/tmp/plain-1.bohr"),
            ("my bug.bohr", "'my bug.bohr'"),
            ("~home", "'~home'"),
            ("it's", "'it'\\''s'"),
        ] {
            assert_eq!(as_word(Path::new(path)), word);
        }
    }
}
