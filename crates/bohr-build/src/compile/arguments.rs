//! What a clang command line asks for, as far as it matters to bohr. Arguments
//! that are not in these tables are none of bohr's business.

use bohr_bundle::Level;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// What to add to a clang command line, and what to know for the link.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request {
    /// Objects should carry bitcode.
    pub(super) fat_objects: bool,
    /// How far clang optimises.
    pub(super) level: Level,
    /// Sanitizers were asked for.
    pub(super) sanitizers: bool,
    /// A link, if there is one, goes through bohr's linker step.
    pub(super) link_step: bool,
    /// The linker that the user named; a path wins over a name.
    pub(super) linker: Option<String>,
    /// `-B`: where clang looks for programs first.
    pub(super) prefixes: Vec<PathBuf>,
}

/// Options whose value is the next argument, which then is not an option
/// whatever it looks like.
const WITH_VALUE: &[&str] = &[
    "-o",
    "-D",
    "-U",
    "-I",
    "-L",
    "-l",
    "-T",
    "-u",
    "-e",
    "-z",
    "-F",
    "-A",
    "-include",
    "-imacros",
    "-isystem",
    "-iquote",
    "-idirafter",
    "-iprefix",
    "-iwithprefix",
    "-isysroot",
    "-MF",
    "-MT",
    "-MQ",
    "-MJ",
    "-Xlinker",
    "-Xassembler",
    "-Xpreprocessor",
    "-Xanalyzer",
    "-mllvm",
    "-arch",
    "--param",
    "-framework",
    "-rpath",
    "-working-directory",
    "-resource-dir",
    "--sysroot",
    "-install_name",
    "-version-info",
    "-ivfsoverlay",
    "-include-pch",
];

/// No object comes out, or none that this is about: clang gets its arguments as they are.
const UNTOUCHED: &[&str] = &[
    "-E",
    "-S",
    "-M",
    "-MM",
    "-fsyntax-only",
    "-###",
    "--version",
    "-dumpversion",
    "-dumpmachine",
    "-dumpspecs",
    "--help",
    "-help",
    "--help-hidden",
    "-emit-llvm",
    "-emit-ast",
    "--analyze",
    "--precompile",
    "-cc1",
    "-cc1as",
    "--migrate",
    "-verify-pch",
    "-extract-api",
    "-module-file-info",
    "-emit-interface-stubs",
    "-fdriver-only",
    "-rewrite-objc",
    "-m32",
    "-mx32",
    "-m16",
    "--assemble",
    "--preprocess",
];

/// The same, by how they begin.
const UNTOUCHED_PREFIXES: &[&str] = &[
    "-print-",
    "--print-",
    "--autocomplete=",
    "--offload",
    "-fopenmp-targets",
    "--cuda",
    "--hip",
    "-rewrite-",
];

/// What `-Xclang` can be followed by to the same effect.
const UNTOUCHED_FRONT_END: &[&str] = &["-emit-", "-ast-", "-fsyntax-only", "-S", "-E", "-analyze"];

/// Languages that another back end compiles, or that are assembly already.
const OTHER_LANGUAGES: &[&str] = &["cuda", "hip", "cl", "clcpp", "hlsl", "renderscript"];

impl Request {
    /// Reads a command line whose response files have been expanded.
    pub(super) fn read(arguments: &[OsString]) -> Request {
        let mut reader = Reader::default();
        let mut words = arguments.iter().map(|word| word.to_string_lossy());
        while let Some(word) = words.next() {
            if word == "--" {
                break;
            }
            let value = takes_value(&word).then(|| words.next()).flatten();
            reader.note(&word, value.as_deref());
        }
        Request {
            fat_objects: !(reader.untouched
                || reader.own_lto
                || reader.other_assembler
                || reader.saves_temporaries),
            level: reader.level.unwrap_or(Level::None),
            sanitizers: reader.sanitizers,
            link_step: !reader.untouched,
            linker: reader.linker_path.or(reader.linker_name),
            prefixes: reader.prefixes,
        }
    }
}

/// What has been read so far.
#[derive(Default)]
struct Reader {
    untouched: bool,
    own_lto: bool,
    other_assembler: bool,
    saves_temporaries: bool,
    level: Option<Level>,
    sanitizers: bool,
    linker_name: Option<String>,
    linker_path: Option<String>,
    prefixes: Vec<PathBuf>,
}

impl Reader {
    fn note(&mut self, word: &str, value: Option<&str>) {
        self.untouched |= untouched(word, value);
        match word {
            // The external assembler does not know the section's type; nor does the
            // bitcode survive the way through the files that the user wants to see.
            "-fno-integrated-as" | "-no-integrated-as" => self.other_assembler = true,
            "-save-temps" | "--save-temps" => self.saves_temporaries = true,
            "-fintegrated-as" | "-integrated-as" => self.other_assembler = false,
            // With the user's own LTO the objects are bitcode anyway.
            "-flto" => self.own_lto = true,
            "-fno-lto" => self.own_lto = false,
            "-B" => self.prefixes.extend(value.map(PathBuf::from)),
            _ => self.note_joined(word),
        }
    }

    fn note_joined(&mut self, word: &str) {
        if let Some(name) = word.strip_prefix("-fuse-ld=") {
            self.linker_name = Some(name.to_owned());
        } else if let Some(path) = word.strip_prefix("--ld-path=") {
            self.linker_path = Some(path.to_owned());
        } else if word.starts_with("-save-temps=") || word.starts_with("--save-temps=") {
            self.saves_temporaries = true;
        } else if word.starts_with("-flto=") {
            self.own_lto = true;
        } else if let Some(prefix) = word.strip_prefix("-B") {
            self.prefixes.push(prefix.into());
        } else if let Some(level) = word.strip_prefix("-O") {
            self.level = Level::of_option(level).or(self.level);
        } else if word.starts_with("-fsanitize=") {
            self.sanitizers = true;
        }
    }
}

fn takes_value(word: &str) -> bool {
    WITH_VALUE.contains(&word) || matches!(word, "-x" | "-target" | "-B" | "-Xclang" | "--language")
}

fn untouched(word: &str, value: Option<&str>) -> bool {
    let value = value.unwrap_or_default();
    match word {
        "-target" => !is_supported_target(value),
        "-x" | "--language" => OTHER_LANGUAGES.contains(&value),
        "-Xclang" => begins_with_any(value, UNTOUCHED_FRONT_END),
        _ => {
            UNTOUCHED.contains(&word)
                || begins_with_any(word, UNTOUCHED_PREFIXES)
                || word
                    .strip_prefix("--target=")
                    .is_some_and(|target| !is_supported_target(target))
                || word
                    .strip_prefix("-x")
                    .is_some_and(|language| OTHER_LANGUAGES.contains(&language))
        }
    }
}

fn begins_with_any(word: &str, prefixes: &[&str]) -> bool {
    prefixes.iter().any(|prefix| word.starts_with(prefix))
}

fn is_supported_target(triple: &str) -> bool {
    triple.starts_with("x86_64") && triple.contains("linux") && !triple.ends_with("x32")
}

/// Ends of the names of what clang compiles.
const SOURCES: &[&str] = &["c", "cc", "cp", "cpp", "cxx", "c++", "C", "CPP", "i", "ii"];

/// Whether a file is one that clang compiles, rather than one that it includes or
/// links.
pub(crate) fn is_source(path: &Path) -> bool {
    let end = path.extension().and_then(|end| end.to_str());
    end.is_some_and(|end| SOURCES.contains(&end))
}

/// The arguments that name files.
pub(crate) fn inputs<S: AsRef<OsStr>>(arguments: &[S]) -> impl Iterator<Item = &OsStr> {
    let mut words = arguments.iter().map(AsRef::as_ref);
    std::iter::from_fn(move || {
        loop {
            let word = words.next()?;
            let text = word.to_str().unwrap_or_default();
            if takes_value(text) {
                words.next();
            } else if !text.starts_with('-') {
                return Some(word);
            }
        }
    })
}

/// The files that come out: the one that is named, or one beside each source.
pub(super) fn outputs(arguments: &[OsString]) -> Vec<PathBuf> {
    let named = arguments.iter().position(|word| word == "-o");
    let named = named.and_then(|at| arguments.get(at + 1));
    let joined = || {
        let joined = arguments
            .iter()
            .filter_map(|word| word.to_str()?.strip_prefix("-o"));
        joined.map(OsString::from).find(|name| !name.is_empty())
    };
    match named.cloned().or_else(joined) {
        Some(output) => vec![output.into()],
        None if arguments.iter().any(|word| word == "-c") => {
            let sources = inputs(arguments)
                .map(Path::new)
                .filter(|path| is_source(path));
            let objects = sources.filter_map(|path| path.file_name());
            objects
                .map(|name| Path::new(name).with_extension("o"))
                .collect()
        }
        None => vec!["a.out".into()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> (bool, bool) {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let request = Request::read(&words);
        (request.fat_objects, request.link_step)
    }

    #[test]
    fn what_comes_out_is_known() {
        for (line, expected) in [
            ("-c a.c -o b/a.o", "b/a.o"),
            ("-O2 a.c x.o -oapp -lm", "app"),
            ("-c -I o src/a.c b.cpp", "a.o b.o"),
            ("a.o -L. -la", "a.out"),
        ] {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let expected: Vec<PathBuf> = expected.split(' ').map(PathBuf::from).collect();
            assert_eq!(outputs(&words), expected, "{line}");
        }
        let words = ["-I", "a.c", "-x", "c", "b.c", "-MF", "b.d", "c.o"];
        let named: Vec<&OsStr> = inputs(&words).collect();
        assert_eq!(named, ["b.c", "c.o"]);
    }

    #[test]
    fn ordinary_command_lines_get_bitcode_and_the_link_step() {
        for line in [
            "-c a.c -o a.o",
            "a.c b.o -lm -o app",
            "-MMD -MF a.d -MT a.o -c a.c",
            "-x c - -o app",
            "-o -S a.c",
            "-D -E a.c",
            "-target x86_64-pc-linux-gnu -c a.c",
            "--target=x86_64-linux-musl a.c",
            "-fsanitize=address -g a.c",
            "-c -- -E",
            "-Xclang -fno-pch-timestamp -c a.c",
        ] {
            assert_eq!(read(line), (true, true), "{line}");
        }
    }

    #[test]
    fn other_outputs_and_targets_are_left_alone() {
        for line in [
            "-E a.c",
            "-S a.c",
            "-M a.c",
            "-MM a.c",
            "-fsyntax-only a.c",
            "-### a.c",
            "--version",
            "-print-search-dirs",
            "--print-file-name=libc.a",
            "-emit-llvm -c a.c",
            "-Xclang -emit-llvm -c a.c",
            "--target=aarch64-linux-gnu -c a.c",
            "-target riscv64-linux-gnu -c a.c",
            "-m32 -c a.c",
            "-x cuda a.cu",
            "-xhip a.hip",
        ] {
            assert_eq!(read(line), (false, false), "{line}");
        }
    }

    #[test]
    fn own_lto_and_another_assembler_keep_only_the_link_step() {
        for line in [
            "-flto a.c",
            "-flto=thin a.c",
            "-fno-integrated-as a.c",
            "-save-temps=obj a.c",
        ] {
            assert_eq!(read(line), (false, true), "{line}");
        }
        assert_eq!(read("-flto -fno-lto a.c"), (true, true));
    }

    #[test]
    fn the_last_level_counts() {
        for (line, level) in [
            ("-c a.c", Level::None),
            ("-O2 -c a.c", Level::Default),
            ("-O3 -O0 a.c", Level::None),
            ("-O a.c", Level::Less),
            ("-Og a.c", Level::Less),
            ("-Os a.c", Level::Default),
            ("-Ofast a.c", Level::Aggressive),
            ("-O7 a.c", Level::Aggressive),
            ("-o -O3 a.c", Level::None),
        ] {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            assert_eq!(Request::read(&words).level, level, "{line}");
        }
    }

    #[test]
    fn the_last_linker_named_is_the_linker() {
        let words = ["-fuse-ld=gold", "-B", "one", "-Btwo", "-fuse-ld=lld", "a.c"];
        let request = Request::read(&words.map(OsString::from));
        assert_eq!(request.linker.as_deref(), Some("lld"));
        assert_eq!(request.prefixes, ["one", "two"].map(PathBuf::from));
        let words = ["--ld-path=/opt/ld", "-fuse-ld=lld"];
        let request = Request::read(&words.map(OsString::from));
        assert_eq!(request.linker.as_deref(), Some("/opt/ld"));
    }
}
