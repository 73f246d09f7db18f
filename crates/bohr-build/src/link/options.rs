//! The options of the linkers, as data: how each is written and what a second
//! link of the same program has to do with it.

use bohr_bundle::ScriptKind;

/// What an option means to bohr.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// Asks for information; nothing is linked.
    Information,
    /// Where the output goes.
    Output,
    /// `-m`.
    Emulation,
    Shared,
    PositionIndependent,
    FixedAddress,
    Static,
    Relocatable,
    Trace,
    /// A map is printed.
    Map,
    Entry,
    Soname,
    DynamicLinker,
    Rpath,
    ExportDynamic,
    Exported,
    Undefined,
    Wrap,
    Defsym,
    Search,
    Script(ScriptKind),
    /// Says how inputs are taken; the trace shows the result.
    Positional,
    /// Taken over word for word.
    Keep,
    /// Left out of a second link, on purpose.
    Drop,
}

/// Whether an option has a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// `--name`
    Flag,
    /// `--name=value` or `--name value`
    Value,
    /// `--name` or `--name=value`
    Optional,
}

/// One option: its name without dashes.
pub(super) struct LinkOption {
    pub(super) name: &'static str,
    pub(super) form: Form,
    pub(super) effect: Effect,
}

use Effect::*;
use Form::{Flag, Optional, Value};

/// Long options, written with one dash or two.
pub(super) const LONG: &[LinkOption] = &[
    o("version", Flag, Information),
    o("help", Flag, Information),
    o("print-output-format", Flag, Information),
    o("output", Value, Output),
    o("shared", Flag, Shared),
    o("Bshareable", Flag, Shared),
    o("pie", Flag, PositionIndependent),
    o("pic-executable", Flag, PositionIndependent),
    o("no-pie", Flag, FixedAddress),
    o("static", Flag, Static),
    o("non_shared", Flag, Static),
    o("static-pie", Flag, Static),
    o("relocatable", Flag, Relocatable),
    o("trace", Flag, Trace),
    o("print-map", Flag, Map),
    o("entry", Value, Entry),
    o("soname", Value, Soname),
    o("dynamic-linker", Value, DynamicLinker),
    o("rpath", Value, Rpath),
    o("export-dynamic", Flag, ExportDynamic),
    o("export-dynamic-symbol", Value, Exported),
    o("undefined", Value, Undefined),
    o("require-defined", Value, Undefined),
    o("wrap", Value, Wrap),
    o("defsym", Value, Defsym),
    o("library-path", Value, Search),
    o("library", Value, Positional),
    o("version-script", Value, Script(ScriptKind::Version)),
    o("dynamic-list", Value, Script(ScriptKind::DynamicList)),
    o("script", Value, Script(ScriptKind::Layout)),
    o(
        "retain-symbols-file",
        Value,
        Script(ScriptKind::RetainSymbols),
    ),
    o("symbol-ordering-file", Value, Script(ScriptKind::Ordering)),
    o("as-needed", Flag, Positional),
    o("no-as-needed", Flag, Positional),
    o("whole-archive", Flag, Positional),
    o("no-whole-archive", Flag, Positional),
    o("push-state", Flag, Positional),
    o("pop-state", Flag, Positional),
    o("start-group", Flag, Positional),
    o("end-group", Flag, Positional),
    o("start-lib", Flag, Positional),
    o("end-lib", Flag, Positional),
    o("Bstatic", Flag, Positional),
    o("Bdynamic", Flag, Positional),
    o("dy", Flag, Positional),
    o("dn", Flag, Positional),
    o("call_shared", Flag, Positional),
    o("just-symbols", Value, Positional),
    // Drivers name temporary files here.
    o("plugin", Value, Positional),
    o("plugin-opt", Value, Positional),
    o("allow-multiple-definition", Flag, Keep),
    o("allow-shlib-undefined", Flag, Keep),
    o("no-allow-shlib-undefined", Flag, Keep),
    o("Bsymbolic", Flag, Keep),
    o("Bsymbolic-functions", Flag, Keep),
    o("Bsymbolic-non-weak-functions", Flag, Keep),
    o("build-id", Optional, Keep),
    o("disable-new-dtags", Flag, Keep),
    o("enable-new-dtags", Flag, Keep),
    o("eh-frame-hdr", Flag, Keep),
    o("no-eh-frame-hdr", Flag, Keep),
    o("exclude-libs", Value, Keep),
    o("fini", Value, Keep),
    o("init", Value, Keep),
    o("gc-sections", Flag, Keep),
    o("no-gc-sections", Flag, Keep),
    o("hash-style", Value, Keep),
    o("image-base", Value, Keep),
    o("nmagic", Flag, Keep),
    o("omagic", Flag, Keep),
    o("no-dynamic-linker", Flag, Keep),
    o("no-undefined", Flag, Keep),
    o("no-undefined-version", Flag, Keep),
    o("undefined-version", Flag, Keep),
    o("default-symver", Flag, Keep),
    o("noinhibit-exec", Flag, Keep),
    o("section-start", Value, Keep),
    o("unresolved-symbols", Value, Keep),
    o("Tbss", Value, Keep),
    o("Tdata", Value, Keep),
    o("Ttext", Value, Keep),
    o("audit", Value, Keep),
    o("depaudit", Value, Keep),
    o("auxiliary", Value, Keep),
    o("filter", Value, Keep),
    // Their values must not be taken for something else.
    o("rpath-link", Value, Drop),
    o("sysroot", Value, Drop),
    o("Map", Value, Drop),
    o("dependency-file", Value, Drop),
    o("lto-O", Value, Drop),
    o("architecture", Value, Drop),
    o("format", Value, Drop),
    o("oformat", Value, Drop),
    o("trace-symbol", Value, Drop),
    o("sort-section", Value, Drop),
    o("thinlto-cache-dir", Value, Drop),
    o("threads", Optional, Drop),
    o("color-diagnostics", Optional, Drop),
    o("out-implib", Value, Drop),
];

/// One-letter options with a value, joined or as the next argument.
pub(super) const SHORT_WITH_VALUE: &[(char, Effect)] = &[
    ('o', Output),
    ('m', Emulation),
    ('e', Entry),
    ('h', Soname),
    ('I', DynamicLinker),
    ('u', Undefined),
    ('L', Search),
    ('l', Positional),
    ('T', Script(ScriptKind::Layout)),
    ('z', Keep),
    ('R', Rpath),
    ('f', Drop),
    ('F', Drop),
    ('c', Drop),
    ('A', Drop),
    ('b', Drop),
    ('y', Drop),
    ('Y', Drop),
    ('O', Drop),
    ('G', Drop),
    ('a', Drop),
];

/// One-letter options without a value.
pub(super) const SHORT: &[(&str, Effect)] = &[
    ("-v", Information),
    ("-V", Information),
    ("-r", Relocatable),
    ("-i", Relocatable),
    ("-Ur", Relocatable),
    ("-t", Trace),
    ("-M", Map),
    ("-E", ExportDynamic),
    ("-n", Keep),
    ("-N", Keep),
    ("-(", Positional),
    ("-)", Positional),
];

const fn o(name: &'static str, form: Form, effect: Effect) -> LinkOption {
    LinkOption { name, form, effect }
}
