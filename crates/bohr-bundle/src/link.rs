//! The link line as data: enough to link the program again with other objects
//! in place of its parts.

use crate::part::PartId;
use serde::{Deserialize, Serialize};

/// How the program was linked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkLine {
    /// What kind of file came out.
    pub output: OutputKind,
    /// The path it was written to.
    pub path: String,
    /// The linker that was run and what it calls itself.
    pub linker: String,
    /// What went in, in the order in which the linker took it.
    pub inputs: Vec<Input>,
    /// The options that shape the result.
    pub options: LinkOptions,
}

/// What kind of file a link makes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum OutputKind {
    /// A program at a fixed address.
    #[default]
    Executable,
    /// A program that can be loaded anywhere.
    PositionIndependent,
    /// A shared library.
    SharedLibrary,
}

/// One thing that the linker took in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Input {
    /// An object or an archive member, kept in the bundle.
    Part(PartId),
    /// An archive that gave native members only. Those are parts; the archive
    /// is named as well because other code may need other members.
    Archive {
        /// Where it was.
        path: String,
    },
    /// A shared library.
    SharedLibrary {
        /// Where it was.
        path: String,
        /// The name by which a program asks for it, if it has one.
        soname: Option<String>,
        /// Whether the output asks for it (`--as-needed` drops libraries).
        needed: bool,
    },
}

/// Options of a link, sorted by what a second link has to do with them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkOptions {
    /// No dynamic linker, no shared libraries (`-static`, `-static-pie`).
    pub fixed: bool,
    /// `-e`.
    pub entry: Option<String>,
    /// `-soname`.
    pub soname: Option<String>,
    /// `-dynamic-linker`.
    pub dynamic_linker: Option<String>,
    /// `-rpath`, in order.
    pub rpath: Vec<String>,
    /// `--export-dynamic`.
    pub export_dynamic: bool,
    /// `--export-dynamic-symbol`.
    pub exported: Vec<String>,
    /// `-u`, `--require-defined`.
    pub undefined: Vec<String>,
    /// `--wrap`.
    pub wrap: Vec<String>,
    /// `--defsym`, as `name=expression`.
    pub defsym: Vec<String>,
    /// Files that the linker read its instructions from, with their text.
    pub scripts: Vec<Script>,
    /// `-L`, made absolute.
    pub search: Vec<String>,
    /// Further options that a second link takes over word for word.
    pub kept: Vec<String>,
    /// Options that a second link leaves out (maps, statistics, plugins).
    pub dropped: Vec<String>,
}

/// A file with instructions for the linker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Script {
    /// Which option named it.
    pub kind: ScriptKind,
    /// Where it was.
    pub path: String,
    /// What it said.
    pub text: Vec<u8>,
}

/// The option that names a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ScriptKind {
    /// `--version-script`.
    Version,
    /// `--dynamic-list`.
    DynamicList,
    /// `-T`, or a script given as an input.
    Layout,
    /// `--retain-symbols-file`.
    RetainSymbols,
    /// `--symbol-ordering-file`, `--section-ordering-file`.
    Ordering,
}

impl ScriptKind {
    /// The option to name such a script with.
    #[must_use]
    pub const fn option(self) -> &'static str {
        match self {
            ScriptKind::Version => "--version-script",
            ScriptKind::DynamicList => "--dynamic-list",
            ScriptKind::Layout => "--script",
            ScriptKind::RetainSymbols => "--retain-symbols-file",
            ScriptKind::Ordering => "--symbol-ordering-file",
        }
    }
}
