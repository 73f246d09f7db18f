//! One call of rustc, as far as it matters to bohr.

use bohr_bundle::Level;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// What a rustc command line is to make.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Unit {
    crate_name: String,
    crate_types: Vec<String>,
    extra_name: String,
    emits_link: bool,
    test: bool,
    lto: bool,
    target: Option<String>,
    /// `-C opt-level`; 0 is the default.
    pub(super) level: Level,
    /// `--out-dir`.
    pub(super) output_directory: Option<PathBuf>,
    /// `-C linker`.
    pub(super) linker: Option<String>,
    /// `-C linker-flavor`.
    pub(super) linker_flavor: Option<String>,
    /// `-C save-temps`: the user wants to see the files in between.
    pub(super) keeps_temporaries: bool,
    /// `-C rpath` and unpacked debug info: the output refers to its directory.
    pub(super) bound_to_directory: bool,
}

/// What bohr does to a call of rustc.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Treatment {
    /// Nothing: checks, build scripts, procedural macros, other targets.
    Leave,
    /// A library: its objects keep their bitcode.
    Embed,
    /// A program or shared library: the bitcode lies beside its objects when it is linked.
    Link,
}

impl Unit {
    /// Reads a command line, rustc's own path left out.
    pub(super) fn read(arguments: &[OsString]) -> Unit {
        let mut unit = Unit::default();
        let mut words = arguments.iter().map(|word| word.to_string_lossy());
        while let Some(word) = words.next() {
            if let Some(option) = word.strip_prefix("-C").filter(|option| !option.is_empty()) {
                unit.codegen(option);
            } else if word == "-C" || word == "--codegen" {
                unit.codegen(&words.next().unwrap_or_default());
            } else if word == "--test" {
                unit.test = true;
            } else if word == "-O" {
                unit.level = Level::Aggressive;
            } else if let Some((name, value)) = word.split_once('=') {
                unit.option(name, value);
            } else if is_option(&word) {
                unit.option(&word, &words.next().unwrap_or_default());
            }
        }
        unit
    }

    fn option(&mut self, name: &str, value: &str) {
        match name {
            "--crate-name" => self.crate_name = value.into(),
            "--crate-type" => self.crate_types.extend(value.split(',').map(str::to_owned)),
            "--emit" => self.emits_link |= value.split(',').any(|kind| kind == "link"),
            "--target" => self.target = Some(value.into()),
            "--out-dir" => self.output_directory = Some(value.into()),
            _ => {}
        }
    }

    fn codegen(&mut self, option: &str) {
        let (name, value) = option.split_once('=').unwrap_or((option, "yes"));
        match name {
            "opt-level" => self.level = Level::of_option(value).unwrap_or(self.level),
            "extra-filename" => self.extra_name = value.into(),
            "linker" => self.linker = Some(value.into()),
            "linker-flavor" => self.linker_flavor = Some(value.into()),
            "save-temps" => self.keeps_temporaries = is_yes(value),
            "lto" => self.lto = !matches!(value, "no" | "n" | "off" | "false"),
            "rpath" => self.bound_to_directory |= is_yes(value),
            "split-debuginfo" => self.bound_to_directory |= value == "unpacked",
            _ => {}
        }
    }

    /// The Rust library that comes out, if one does.
    pub(super) fn rust_library(&self) -> Option<PathBuf> {
        let made = self.emits_link && (self.has("rlib") || self.has("lib"));
        let name = format!("lib{}.rlib", self.file_stem());
        Some(self.output_directory.as_ref().filter(|_| made)?.join(name))
    }

    /// The program that comes out, if one does.
    pub(super) fn program(&self) -> Option<PathBuf> {
        let folder = self.output_directory.as_ref();
        folder.map(|folder| folder.join(self.file_stem()))
    }

    /// What the names of its files begin with.
    pub(super) fn file_stem(&self) -> String {
        format!("{}{}", self.crate_name, self.extra_name)
    }

    fn has(&self, kind: &str) -> bool {
        self.crate_types.iter().any(|found| found == kind)
    }

    /// Whether a Rust library has to be asked for, too: rustc puts bitcode into
    /// the objects of a static library only then. Its own link-time optimisation
    /// does not go with that.
    pub(super) fn wants_rust_library(&self) -> bool {
        self.has("staticlib") && !self.has("rlib") && !self.has("lib") && !self.lto
    }

    /// What to do with this call.
    pub(super) fn treatment(&self) -> Treatment {
        let has = |kind: &str| self.has(kind);
        let build_script = self.crate_name.starts_with("build_script_");
        let foreign = self
            .target
            .as_deref()
            .is_some_and(|target| !target.starts_with("x86_64-") || !target.contains("linux"));
        if !self.emits_link || build_script || foreign || has("proc-macro") {
            Treatment::Leave
        } else if self.test
            || has("bin")
            || has("cdylib")
            || has("dylib")
            || self.wants_rust_library()
        {
            Treatment::Link
        } else {
            Treatment::Embed
        }
    }

    /// Whether the user's linker is a linker itself and not a compiler driver.
    pub(super) fn links_without_driver(&self) -> bool {
        if let Some(flavor) = &self.linker_flavor {
            return flavor.starts_with("ld");
        }
        let name = self
            .linker
            .as_deref()
            .map(Path::new)
            .and_then(Path::file_stem);
        name.and_then(|name| name.to_str()).is_some_and(|name| {
            matches!(name, "ld" | "lld" | "rust-lld" | "mold" | "wild") || name.starts_with("ld.")
        })
    }
}

fn is_option(word: &str) -> bool {
    matches!(
        word,
        "--crate-name" | "--crate-type" | "--emit" | "--target" | "--out-dir"
    )
}

fn is_yes(value: &str) -> bool {
    matches!(value, "yes" | "y" | "on" | "true")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Unit {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        Unit::read(&words)
    }

    #[test]
    fn kinds_of_units_are_told_apart() {
        let cases = [
            ("--crate-type bin --emit=dep-info,link", Treatment::Link),
            (
                "--crate-type=cdylib --crate-type rlib --emit=link",
                Treatment::Link,
            ),
            ("--test --emit=dep-info,link", Treatment::Link),
            ("--crate-type staticlib --emit=link", Treatment::Link),
            (
                "--crate-type staticlib --emit=link -C lto=fat",
                Treatment::Embed,
            ),
            (
                "--crate-type lib --emit=dep-info,metadata,link",
                Treatment::Embed,
            ),
            (
                "--crate-type lib --emit=dep-info,metadata",
                Treatment::Leave,
            ),
            ("--crate-type proc-macro --emit=link", Treatment::Leave),
            (
                "--crate-name build_script_build --crate-type bin --emit=link",
                Treatment::Leave,
            ),
            (
                "--crate-type bin --emit=link --target wasm32-wasip1",
                Treatment::Leave,
            ),
            (
                "--crate-type bin --emit=link --target x86_64-unknown-linux-gnu",
                Treatment::Link,
            ),
            ("-vV", Treatment::Leave),
            (
                "- --crate-name ___ --print=file-names --crate-type bin",
                Treatment::Leave,
            ),
        ];
        for (line, treatment) in cases {
            assert_eq!(read(line).treatment(), treatment, "{line}");
        }
    }

    #[test]
    fn codegen_options_are_read_in_both_forms() {
        let unit =
            read("-C linker=clang -Csave-temps --out-dir target/deps -C split-debuginfo=unpacked");
        assert_eq!(unit.linker.as_deref(), Some("clang"));
        assert!(unit.keeps_temporaries && unit.bound_to_directory);
        assert_eq!(
            unit.output_directory.as_deref(),
            Some(Path::new("target/deps"))
        );
    }

    #[test]
    fn levels_are_read_as_rustc_reads_them() {
        for (line, level) in [
            ("--crate-type bin", Level::None),
            ("-C opt-level=0", Level::None),
            ("-C opt-level=1", Level::Less),
            ("-Copt-level=2", Level::Default),
            ("-C opt-level=z", Level::Default),
            ("-C opt-level=3 -C debuginfo=2", Level::Aggressive),
            ("-O", Level::Aggressive),
        ] {
            assert_eq!(read(line).level, level, "{line}");
        }
    }

    #[test]
    fn a_rust_library_has_cargos_name() {
        let line =
            "--crate-name app --crate-type lib --emit=link -C extra-filename=-1 --out-dir deps";
        let library = Some(PathBuf::from("deps/libapp-1.rlib"));
        assert_eq!(read(line).rust_library(), library);
        assert_eq!(read(&line.replace("lib ", "bin ")).rust_library(), None);
    }

    #[test]
    fn linkers_are_told_from_drivers() {
        assert!(read("-C linker=rust-lld").links_without_driver());
        assert!(read("-C linker=/opt/ld.lld").links_without_driver());
        assert!(read("-C linker=x -C linker-flavor=ld").links_without_driver());
        assert!(!read("-C linker=clang-22").links_without_driver());
        assert!(!read("-C opt-level=3").links_without_driver());
    }
}
