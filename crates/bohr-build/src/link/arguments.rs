//! Reads a linker command line into a link line.

use super::options::{Effect, Form, LONG, LinkOption, SHORT, SHORT_WITH_VALUE};
use super::origin::is_scratch;
use bohr_bundle::{LinkLine, OutputKind, Script, ScriptKind};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// What a linker command line asks for.
#[derive(Debug)]
pub(super) struct Request {
    /// Whether a program or shared library for x86-64 is to be written.
    pub(super) makes_program: bool,
    /// Whether the user asked for the trace that bohr asks for.
    pub(super) own_trace: bool,
    /// Whether the user asked for a map on standard output.
    pub(super) own_map: bool,
    /// The file to be written.
    pub(super) output: PathBuf,
    /// The link line as far as the arguments tell it.
    pub(super) link: LinkLine,
}

impl Request {
    /// Reads a command line whose response files have been expanded.
    pub(super) fn read(arguments: &[OsString]) -> Request {
        let mut reader = Reader::default();
        let mut words = arguments
            .iter()
            .map(|word| word.to_string_lossy().into_owned());
        while let Some(word) = words.next() {
            match recognise(&word) {
                Some(Recognised {
                    effect,
                    value,
                    awaits,
                }) => {
                    let next = if awaits { words.next() } else { None };
                    let value = value.or(next.as_deref());
                    reader.note(effect, value.unwrap_or_default(), &word, next.as_deref());
                }
                None if word.starts_with('-') => reader.link.options.dropped.push(word),
                None => reader.inputs += 1,
            }
        }
        reader.finish()
    }
}

struct Recognised<'word> {
    effect: Effect,
    value: Option<&'word str>,
    /// The value is the next argument.
    awaits: bool,
}

fn recognise(word: &str) -> Option<Recognised<'_>> {
    let recognised = |effect, value, awaits| Recognised {
        effect,
        value,
        awaits,
    };
    if let Some((_, effect)) = SHORT.iter().find(|(name, _)| *name == word) {
        return Some(recognised(*effect, None, false));
    }
    let body = word.strip_prefix('-')?;
    let name = body.strip_prefix('-').unwrap_or(body);
    if let Some((option, value)) = LONG.iter().find_map(|option| match_long(option, name)) {
        let awaits = option.form == Form::Value && value.is_none();
        return Some(recognised(option.effect, value, awaits));
    }
    let letter = body.chars().next()?;
    let (_, effect) = SHORT_WITH_VALUE.iter().find(|(name, _)| *name == letter)?;
    let value = Some(&body[1..]).filter(|value| !value.is_empty());
    // Optimisation levels stand alone.
    let awaits = value.is_none() && letter != 'O';
    Some(recognised(*effect, value, awaits))
}

fn match_long<'word>(
    option: &'static LinkOption,
    name: &'word str,
) -> Option<(&'static LinkOption, Option<&'word str>)> {
    let rest = name.strip_prefix(option.name)?;
    match rest.strip_prefix('=') {
        Some(value) if option.form != Form::Flag => Some((option, Some(value))),
        _ => rest.is_empty().then_some((option, None)),
    }
}

#[derive(Default)]
struct Reader {
    information: bool,
    partial: bool,
    other_target: bool,
    own_trace: bool,
    own_map: bool,
    inputs: usize,
    output: Option<PathBuf>,
    link: LinkLine,
}

impl Reader {
    fn note(&mut self, effect: Effect, value: &str, word: &str, next: Option<&str>) {
        let options = &mut self.link.options;
        match effect {
            Effect::Information => self.information = true,
            Effect::Output => self.output = Some(value.into()),
            Effect::Emulation => self.other_target |= value != "elf_x86_64",
            Effect::Shared => self.link.output = OutputKind::SharedLibrary,
            Effect::PositionIndependent => self.link.output = OutputKind::PositionIndependent,
            Effect::FixedAddress => self.link.output = OutputKind::Executable,
            Effect::Static => options.fixed = true,
            Effect::Relocatable => self.partial = true,
            Effect::Trace => self.own_trace = true,
            Effect::Map => self.own_map = true,
            Effect::Entry => options.entry = Some(value.into()),
            Effect::Soname => options.soname = Some(value.into()),
            Effect::DynamicLinker => options.dynamic_linker = Some(value.into()),
            Effect::Rpath => options.rpath.push(value.into()),
            Effect::ExportDynamic => options.export_dynamic = true,
            Effect::Exported => options.exported.push(value.into()),
            Effect::Undefined => options.undefined.push(value.into()),
            Effect::Wrap => options.wrap.push(value.into()),
            Effect::Defsym => options.defsym.push(value.into()),
            Effect::Search if is_scratch(Path::new(value)) => {}
            Effect::Search => options.search.push(absolute(value)),
            Effect::Script(kind) => self.script(kind, value),
            Effect::Positional => {}
            Effect::Keep => options.kept.extend(words_of(word, next)),
            Effect::Drop => options.dropped.extend(words_of(word, next)),
        }
    }

    /// A file that cannot be read fails the link itself.
    fn script(&mut self, kind: ScriptKind, path: &str) {
        if let Ok(text) = std::fs::read(path) {
            self.link.options.scripts.push(Script {
                kind,
                path: absolute(path),
                text,
            });
        }
    }

    fn finish(mut self) -> Request {
        let output = self.output.unwrap_or_else(|| "a.out".into());
        self.link.path = absolute(&output.to_string_lossy());
        // `ld -v` alone prints a version; with inputs it links as well.
        let nothing = self.information && self.inputs == 0;
        Request {
            makes_program: !(nothing || self.partial || self.other_target),
            own_trace: self.own_trace,
            own_map: self.own_map,
            output,
            link: self.link,
        }
    }
}

fn words_of(word: &str, next: Option<&str>) -> impl Iterator<Item = String> {
    [Some(word.to_owned()), next.map(str::to_owned)]
        .into_iter()
        .flatten()
}

fn absolute(path: &str) -> String {
    std::path::absolute(Path::new(path)).map_or_else(
        |_| path.to_owned(),
        |path| path.to_string_lossy().into_owned(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Request {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        Request::read(&words)
    }

    #[test]
    fn a_drivers_link_line_is_understood() {
        let request = read(
            "--hash-style=both --build-id --eh-frame-hdr -m elf_x86_64 -pie -dynamic-linker \
             /lib64/ld-linux-x86-64.so.2 -o app /lib/Scrt1.o -L/lib -z now a.o -rpath /opt/lib \
             -e start --wrap=malloc -u one --undefined=two --defsym a=b -E -lgcc --as-needed",
        );
        assert!(request.makes_program);
        assert_eq!(request.output, Path::new("app"));
        assert_eq!(request.link.output, OutputKind::PositionIndependent);
        let options = request.link.options;
        assert_eq!(
            options.kept,
            [
                "--hash-style=both",
                "--build-id",
                "--eh-frame-hdr",
                "-z",
                "now"
            ]
        );
        assert_eq!(
            options.dynamic_linker.as_deref(),
            Some("/lib64/ld-linux-x86-64.so.2")
        );
        assert_eq!(options.rpath, ["/opt/lib"]);
        assert_eq!(options.entry.as_deref(), Some("start"));
        assert_eq!(options.wrap, ["malloc"]);
        assert_eq!(options.undefined, ["one", "two"]);
        assert_eq!(options.defsym, ["a=b"]);
        assert_eq!(options.search, ["/lib"]);
        assert!(options.export_dynamic);
        assert!(options.dropped.is_empty(), "{:?}", options.dropped);
    }

    #[test]
    fn links_that_make_no_program_are_left_to_the_linker() {
        for line in [
            "--version",
            "-v",
            "-r a.o -o b.o",
            "-m elf_i386 a.o",
            "--help",
        ] {
            assert!(!read(line).makes_program, "{line}");
        }
        assert!(read("-v a.o").makes_program);
    }

    #[test]
    fn kinds_of_output_are_told_apart() {
        assert_eq!(read("-shared a.o").link.output, OutputKind::SharedLibrary);
        assert_eq!(read("a.o -static").link.output, OutputKind::Executable);
        assert!(read("a.o -static").link.options.fixed);
        assert_eq!(read("a.o -pie -no-pie").link.output, OutputKind::Executable);
        assert_eq!(read("a.o").output, Path::new("a.out"));
    }

    #[test]
    fn unknown_options_are_remembered_as_dropped() {
        let request = read("--frobnicate a.o -O2 --Map=x --version-script=missing");
        assert_eq!(
            request.link.options.dropped,
            ["--frobnicate", "-O2", "--Map=x"]
        );
    }
}
