//! What has a name in a program's file.

use crate::error::ExploreError;
use bohr_trigger::{Symbol, Symbols};
use object::{Object, ObjectSymbol, SymbolKind};
use std::path::Path;

/// Functions and variables of a program that is loaded at the addresses of its
/// file, as profiles are.
///
/// # Errors
/// If the file cannot be read.
pub fn program_symbols(profile: &Path) -> Result<Symbols, ExploreError> {
    let bytes = std::fs::read(profile).map_err(|source| ExploreError::File {
        path: profile.to_path_buf(),
        source,
    })?;
    let file = object::File::parse(&*bytes).map_err(|_| ExploreError::NotHooked)?;
    let named = file.symbols().filter_map(|symbol| {
        let kind = symbol.kind();
        let known = matches!(kind, SymbolKind::Text | SymbolKind::Data) && symbol.size() > 0;
        let name = symbol.name().ok().filter(|_| known)?;
        Some(Symbol {
            name: plain(name),
            address: symbol.address(),
            size: symbol.size(),
            is_code: kind == SymbolKind::Text,
        })
    });
    Ok(Symbols(named.collect()))
}

/// As its author wrote it: without parameters, generic arguments and the hash
/// that Rust adds.
fn plain(symbol: &str) -> String {
    let name = addr2line::demangle_auto(symbol.into(), None);
    let name = name.split(['(', '<']).next().unwrap_or(&name);
    match name.rsplit_once("::h") {
        Some((start, hash)) if hash.len() == 16 => start.to_string(),
        _ => name.to_string(),
    }
}
