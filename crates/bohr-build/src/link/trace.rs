//! What the linker says it took in.
//!
//! One line per input. lld, gold and mold write a member as `archive(member)`;
//! GNU ld writes `(archive)member`, and the archive on a line of its own. mold
//! puts a word in front and names all members; those that went in are in its map.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// One input as the linker names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TracedInput {
    /// The file.
    pub(super) path: PathBuf,
    /// The member that was taken from it, if it is an archive.
    pub(super) member: Option<String>,
}

/// A linker's standard output, taken apart.
#[derive(Debug, Default)]
pub(super) struct Trace {
    /// The inputs, in link order.
    pub(super) inputs: Vec<TracedInput>,
    /// The lines that name them.
    pub(super) lines: Vec<u8>,
    /// mold's map.
    pub(super) map: Vec<u8>,
    /// What else the linker printed.
    pub(super) rest: Vec<u8>,
}

/// Takes a linker's standard output apart.
pub(super) fn read(output: &[u8]) -> Trace {
    let mut trace = Trace::default();
    let mut lines = output.split_inclusive(|&byte| byte == b'\n');
    for line in lines.by_ref() {
        let text = line.trim_ascii_end();
        if text.trim_ascii_start() == MAP {
            trace.map.extend_from_slice(line);
            let map: Vec<&[u8]> = lines.collect();
            let in_map = map.iter().filter_map(|line| in_map(line)).collect();
            trace.inputs.retain(|input| went_in(input, &in_map));
            trace.map.extend(map.concat());
            break;
        }
        let named = text.strip_prefix(b"trace: ").unwrap_or(text);
        match read_line(named, &|path| path.is_file()) {
            Some(input) => {
                trace.inputs.push(input);
                trace.lines.extend_from_slice(line);
            }
            None => trace.rest.extend_from_slice(line),
        }
    }
    trace
}

/// How mold's map begins; nothing comes behind it.
const MAP: &[u8] = b"VMA       Size Align Out     In      Symbol";

/// The file that a line of the map is about: `address size alignment file:(section)`.
fn in_map(line: &[u8]) -> Option<&[u8]> {
    let line = line.trim_ascii().strip_suffix(b")")?;
    let end = line.windows(2).rposition(|pair| pair == b":(")?;
    let mut rest = &line[..end];
    for _ in 0..3 {
        let number = rest.iter().position(|byte| *byte == b' ')?;
        rest = rest[number..].trim_ascii_start();
    }
    Some(rest)
}

/// Objects do in any case, members if they gave something.
fn went_in(input: &TracedInput, in_map: &HashSet<&[u8]>) -> bool {
    input.member.as_ref().is_none_or(|member| {
        let name = format!("{}({member})", input.path.display());
        in_map.contains(name.as_bytes())
    })
}

fn read_line(line: &[u8], is_file: &dyn Fn(&Path) -> bool) -> Option<TracedInput> {
    let input = |path: &[u8], member: Option<&[u8]>| {
        let path = Path::new(OsStr::from_bytes(path));
        is_file(path).then(|| TracedInput {
            path: path.to_owned(),
            member: member.map(|name| String::from_utf8_lossy(name).into_owned()),
        })
    };
    let member_behind = || {
        let end = line.iter().rposition(|&byte| byte == b')')?;
        input(
            line.strip_prefix(b"(")?.get(..end - 1)?,
            Some(&line[end + 1..]),
        )
    };
    let member_in_brackets = || {
        let open = line.iter().position(|&byte| byte == b'(')?;
        input(&line[..open], Some(line[open + 1..].strip_suffix(b")")?))
    };
    input(line, None)
        .or_else(member_behind)
        .or_else(member_in_brackets)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Option<(String, Option<String>)> {
        let files = ["a.o", "lib.a", "odd (1).o", "/usr/lib/libc.so.6"];
        let is_file = |path: &Path| files.iter().any(|file| path == Path::new(file));
        read_line(text.as_bytes(), &is_file)
            .map(|input| (input.path.to_str().unwrap().to_owned(), input.member))
    }

    #[test]
    fn every_linkers_way_of_naming_is_understood() {
        let member = |name: &str| Some(("lib.a".to_owned(), Some(name.to_owned())));
        assert_eq!(line("a.o"), Some(("a.o".into(), None)));
        assert_eq!(
            line("/usr/lib/libc.so.6"),
            Some(("/usr/lib/libc.so.6".into(), None))
        );
        assert_eq!(line("lib.a(b.o)"), member("b.o"));
        assert_eq!(line("(lib.a)b.o"), member("b.o"));
        assert_eq!(line("lib.a(b (2).o)"), member("b (2).o"));
        assert_eq!(line("odd (1).o"), Some(("odd (1).o".into(), None)));
    }

    #[test]
    fn lines_of_a_map_tell_files() {
        let file = |line: &str| in_map(line.as_bytes()).map(<[u8]>::to_vec);
        let section = "            0x18c0         72    16         lib.a(b (2).o):(.text.f)\n";
        assert_eq!(file(section).as_deref(), Some(&b"lib.a(b (2).o)"[..]));
        for other in [
            "             0x2a8         28     1 .interp\n",
            "            0x17e0          0     0                 main\n",
            "\n",
        ] {
            assert_eq!(file(other), None, "{other}");
        }
    }

    #[test]
    fn other_output_of_the_linker_is_not_an_input() {
        for text in [
            "",
            "GNU ld (GNU Binutils for Debian) 2.40",
            "removing unused section a.o:(.text)",
            "missing.o",
            "()",
            ")(",
        ] {
            assert_eq!(line(text), None, "{text}");
        }
    }
}
