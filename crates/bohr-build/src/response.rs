//! Response files: `@file` stands for the arguments in that file. bohr reads
//! them only to know what is asked for; the tools get the original arguments.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// Files can name files; beyond this depth they name each other.
const DEPTH_LIMIT: usize = 16;

/// The arguments with every readable response file replaced by its contents.
pub(crate) fn expand(arguments: &[OsString]) -> Vec<OsString> {
    let mut expanded = Vec::with_capacity(arguments.len());
    expand_into(&mut expanded, arguments, DEPTH_LIMIT);
    expanded
}

fn expand_into(expanded: &mut Vec<OsString>, arguments: &[OsString], depth: usize) {
    for argument in arguments {
        let file = argument.as_bytes().strip_prefix(b"@");
        let text = file
            .filter(|_| depth > 0)
            .and_then(|path| std::fs::read(OsStr::from_bytes(path)).ok());
        match text {
            Some(text) => expand_into(expanded, &split(&text), depth - 1),
            None => expanded.push(argument.clone()),
        }
    }
}

/// Splits as a GNU tool does: white space separates, quotes and backslashes protect.
fn split(text: &[u8]) -> Vec<OsString> {
    let mut words = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut quote = None;
    let mut bytes = text.iter().copied();
    while let Some(byte) = bytes.next() {
        match (byte, quote) {
            (b'\\', _) if quote != Some(b'\'') => {
                word.get_or_insert_default().extend(bytes.next());
            }
            (_, Some(open)) if byte == open => quote = None,
            (b'"' | b'\'', None) => {
                quote = Some(byte);
                word.get_or_insert_default();
            }
            (_, None) if byte.is_ascii_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(byte),
        }
    }
    words.extend(word);
    words.into_iter().map(OsString::from_vec).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_as_gnu_tools_do() {
        let text = br#"-c  "a b.c" 'it''s' x\ y "q\"q" "" -DX='"s"'"#;
        let words = ["-c", "a b.c", "its", "x y", "q\"q", "", "-DX=\"s\""];
        assert_eq!(split(text), words);
    }

    #[test]
    fn files_may_name_files_and_a_missing_one_stays() {
        let directory = tempfile::tempdir().unwrap();
        let inner = directory.path().join("inner");
        let outer = directory.path().join("outer");
        std::fs::write(&inner, "-O2\n-g").unwrap();
        std::fs::write(&outer, format!("-c @{}", inner.display())).unwrap();
        let arguments = [format!("@{}", outer.display()), "@missing".into()];
        assert_eq!(
            expand(&arguments.map(OsString::from)),
            ["-c", "-O2", "-g", "@missing"]
        );
    }

    #[test]
    fn a_file_that_names_itself_ends() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("loop");
        let own = OsString::from(format!("@{}", file.display()));
        std::fs::write(&file, own.as_bytes()).unwrap();
        assert_eq!(expand(std::slice::from_ref(&own)), [own]);
    }
}
