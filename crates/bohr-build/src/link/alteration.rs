//! Whether an object is still what its bitcode says.
//!
//! Tools can rename, hide, weaken or remove the symbols of an object after it
//! was compiled, and link several objects into one; the bitcode in it knows
//! nothing of that. A profile made from such bitcode would be another program,
//! so the symbols of both are compared. What `strip -g` takes away is none.

use super::bitcode::{Binding, Module};
use object::read::elf::ElfFile64;
use object::{LittleEndian, Object, ObjectSymbol, SymbolKind};
use std::collections::HashMap;

type ObjectFile<'bytes> = ElfFile64<'bytes, LittleEndian>;

/// What a comparison of symbols gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Alteration {
    /// The object is what a compiler made of the bitcode, or several linked together.
    None,
    /// It is not.
    Altered,
    /// The bitcode does not tell its symbols.
    Unknown,
}

/// Compares the symbols of an object with those of its bitcode.
pub(super) fn alteration(object: &ObjectFile<'_>, modules: &[Module<'_>]) -> Alteration {
    let Some(expected) = union(modules) else {
        return Alteration::Unknown;
    };
    let found = symbols_of(object);
    // Versions of symbols are given by assembly, which can do anything.
    if found.keys().any(|name| name.contains(&b'@')) {
        return Alteration::Unknown;
    }
    let explained = found
        .iter()
        .all(|(name, &binding)| match expected.get(name) {
            Some(&expected) => expected == binding,
            None => is_made_by_compilers(name, binding),
        });
    // What is weak, local or not defined need not be left in an object.
    let complete = expected
        .iter()
        .all(|(name, &binding)| binding != Binding::Strong || found.get(name) == Some(&binding));
    match explained && complete && file_symbols(object) <= modules.len() {
        true => Alteration::None,
        false => Alteration::Altered,
    }
}

type Symbols<'bytes> = HashMap<&'bytes [u8], Binding>;

/// The symbols of modules that are linked together.
fn union<'bytes>(modules: &[Module<'bytes>]) -> Option<Symbols<'bytes>> {
    let mut union = Symbols::new();
    for module in modules {
        for symbol in module.symbols.as_ref()? {
            let known = union.entry(symbol.name).or_insert(symbol.binding);
            *known = stronger(*known, symbol.binding);
        }
    }
    Some(union)
}

fn stronger(one: Binding, other: Binding) -> Binding {
    let strength = |binding: Binding| match binding {
        Binding::Undefined => 1,
        Binding::Local => 0,
        Binding::Weak => 2,
        Binding::Strong => 3,
    };
    match strength(one) >= strength(other) {
        true => one,
        false => other,
    }
}

/// The symbols of an object that others see.
fn symbols_of<'bytes>(object: &ObjectFile<'bytes>) -> Symbols<'bytes> {
    let seen = object.symbols().filter(|symbol| !symbol.is_local());
    seen.filter_map(|symbol| {
        let binding = if symbol.is_undefined() {
            Binding::Undefined
        } else if symbol.is_weak() {
            Binding::Weak
        } else {
            Binding::Strong
        };
        Some((symbol.name_bytes().ok()?, binding))
    })
    .collect()
}

/// Compilers write one file symbol per object; a partial link keeps those of
/// its inputs.
pub(super) fn file_symbols(object: &ObjectFile<'_>) -> usize {
    let files = object.symbols();
    files
        .filter(|symbol| symbol.kind() == SymbolKind::File)
        .count()
}

/// Whether code generation can have added a symbol: names that C reserves
/// (helpers, sanitizers, coverage) or that are none in C (`DW.ref.…`, the
/// `_.stapsdt.base` of probes), and functions of the C library that take the
/// place of others.
fn is_made_by_compilers(name: &[u8], binding: Binding) -> bool {
    const BEGINNINGS: [&[u8]; 4] = [b"__", b"_Unwind_", b"_GLOBAL_", b"llvm_"];
    let reserved = BEGINNINGS.iter().any(|start| name.starts_with(start));
    let is_identifier = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    reserved
        || !name.iter().all(is_identifier)
        || (binding == Binding::Undefined && is_library_function(name))
}

fn is_library_function(name: &[u8]) -> bool {
    // Numbers of other sizes have functions of their own.
    let plain = name.strip_suffix(b"f").or_else(|| name.strip_suffix(b"l"));
    let is_one_of = |names: &str, wanted: &[u8]| {
        let mut names = names.split_ascii_whitespace();
        names.any(|name| name.as_bytes() == wanted)
    };
    is_one_of(LIBRARY, name)
        || is_one_of(MATHEMATICS, name)
        || plain.is_some_and(|name| is_one_of(MATHEMATICS, name))
}

/// What LLVM's simplification of library calls and its code generator call.
const LIBRARY: &str = "memcpy memmove memset memcmp bcmp memchr memrchr mempcpy memccpy strlen \
    strnlen strchr strrchr strcmp strncmp strcpy stpcpy strncpy stpncpy strcat strncat strstr \
    strspn strcspn strpbrk wcslen puts putchar putc fputc fputs fwrite printf fprintf sprintf \
    snprintf malloc calloc free abort mcount _mcount";

/// Without the suffix for the size.
const MATHEMATICS: &str = "sin cos sincos tan asin acos atan atan2 sinh cosh tanh exp exp2 exp10 \
    expm1 log log2 log10 log1p pow sqrt cbrt floor ceil trunc rint nearbyint round roundeven \
    lround llround lrint llrint fmod remainder fma fmin fmax fdim fabs copysign ldexp frexp modf \
    scalbn hypot fminimum fmaximum fminimum_num fmaximum_num";
