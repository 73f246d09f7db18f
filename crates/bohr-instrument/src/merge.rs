//! All parts of a program as one module.
//!
//! The linker has already chosen the parts, archive members included, so LLVM's
//! IR linker only has to resolve what a linker resolves among them: weak and
//! common symbols, comdats, appending arrays. A part that cannot join (its
//! module flags contradict those of the others, say) is left out and told, so
//! that it can be compiled by itself and linked natively; one that is no
//! bitcode of ours is refused.

use crate::diagnostics::Diagnostics;
use crate::hooks::has_attribute;
use crate::level::Level;
use crate::wrap::{self, Wrapping};
use crate::{ids, internalise, level, speculation};
use bohr_bundle::Language;
use inkwell::OptimizationLevel;
use inkwell::context::Context;
use inkwell::llvm_sys::linker::LLVMLinkModules2;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::Module;
use inkwell::passes::PassBuilderOptions;
use inkwell::targets::{
    CodeModel, InitializationConfig, RelocMode, Target, TargetMachine, TargetTriple,
};
use inkwell::values::AsValueRef;
use std::collections::BTreeSet;

/// What the merged module is called.
const NAME: &str = "bohr";

/// The bitcode of one object, with the name to speak of it.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    /// Path of the object, or `archive(member)`.
    pub name: &'a str,
    /// What the compiler wrote.
    pub bitcode: &'a [u8],
    /// Which compiler, and what is known of how it was called.
    pub language: Option<Language>,
}

/// One module, and what did not fit in.
pub struct Merged<'ctx> {
    /// Every part that could be merged; functions carry their id ([`ids::function_id`]).
    pub module: Module<'ctx>,
    /// Parts left out, in the order given.
    pub excluded: Vec<Excluded>,
}

/// A part that has to be compiled by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excluded {
    /// Its position among the parts given to [`merge`].
    pub part: PartIndex,
    /// What LLVM said.
    pub reason: String,
}

/// Position of a part in the list given to [`merge`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PartIndex(pub u32);

/// Why parts cannot be merged.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// Damaged, or written by a newer LLVM.
    #[error(
        "{part}: not bitcode that LLVM 22 can read ({reason}); rebuild it with `bohr cc` or `bohr cargo`"
    )]
    Unreadable {
        /// The part.
        part: String,
        /// What LLVM said.
        reason: String,
    },
    /// Made for another machine.
    #[error("{part}: made for {triple}, expected x86_64 Linux; bohr controls x86-64 programs only")]
    ForeignTarget {
        /// The part.
        part: String,
        /// Its target.
        triple: String,
    },
    /// Our bug: the merged module is not valid.
    #[error("the merged module is not valid, which is a bug in bohr: {0}")]
    Invalid(String),
}

/// Merges `parts` into one module and makes private every symbol for which
/// `needed_outside` does not ask (see [`internalise`]).
///
/// # Errors
/// If a part is not bitcode for x86-64 Linux that LLVM 22 can read.
pub fn merge<'ctx>(
    context: &'ctx Context,
    parts: &[Part<'_>],
    needed_outside: &dyn Fn(&str) -> bool,
) -> Result<Merged<'ctx>, MergeError> {
    merge_wrapped(context, parts, needed_outside, &Wrapping::default())
}

/// The same with the linker's option `--wrap`.
///
/// # Errors
/// If a part is not bitcode for x86-64 Linux that LLVM 22 can read.
pub fn merge_wrapped<'ctx>(
    context: &'ctx Context,
    parts: &[Part<'_>],
    needed_outside: &dyn Fn(&str) -> bool,
    wrapping: &Wrapping,
) -> Result<Merged<'ctx>, MergeError> {
    let merging = Merging {
        context,
        parts,
        diagnostics: Diagnostics::collect(context),
        wrapping,
    };
    let mut excluded: Vec<Excluded> = Vec::new();
    let module = loop {
        let left_out = excluded.iter().map(|excluded| excluded.part).collect();
        match merging.link(&left_out)? {
            Ok(module) => break module,
            // A failed link leaves a half-changed module: begin again without the part.
            Err(failure) => excluded.push(failure),
        }
    };
    excluded.sort_by_key(|excluded| excluded.part);
    internalise::internalise(&module, needed_outside);
    remove_unused(&module)?;
    ids::name_pieces(context, &module);
    speculation::undo(context, &module);
    Ok(Merged { module, excluded })
}

/// What merging goes by.
struct Merging<'a, 'ctx> {
    context: &'ctx Context,
    parts: &'a [Part<'a>],
    diagnostics: Diagnostics<'ctx>,
    wrapping: &'a Wrapping,
}

impl<'ctx> Merging<'_, 'ctx> {
    fn link(
        &self,
        left_out: &BTreeSet<PartIndex>,
    ) -> Result<Result<Module<'ctx>, Excluded>, MergeError> {
        let modules = self.read(left_out)?;
        if modules.is_empty() {
            return Ok(Ok(self.context.create_module(NAME)));
        }
        let merged = match join_pairs(modules, &self.diagnostics) {
            Some(module) => module,
            // Modules that were joined are gone: read them again.
            None => match join_in_turn(self.read(left_out)?, &self.diagnostics) {
                Ok(module) => module,
                Err(excluded) => return Ok(Err(excluded)),
            },
        };
        merged.set_name(NAME);
        merged.set_source_file_name(NAME);
        Ok(Ok(merged))
    }

    /// The parts as modules that are ready to be joined.
    fn read(
        &self,
        left_out: &BTreeSet<PartIndex>,
    ) -> Result<Vec<(PartIndex, Module<'ctx>)>, MergeError> {
        let mut modules = Vec::with_capacity(self.parts.len());
        for (index, part) in (0..).map(PartIndex).zip(self.parts) {
            if !left_out.contains(&index) {
                let module = parse(self.context, part, &self.diagnostics)?;
                level::note(self.context, &module, part.language);
                modules.push((index, module));
            }
        }
        let all: Vec<&Module<'ctx>> = modules.iter().map(|(_, module)| module).collect();
        ids::name_functions(self.context, &all);
        wrap::apply(&all, self.wrapping);
        // Compilers spell the same target differently (`pc`, `unknown`).
        if let Some(triple) = all.first().map(|first| first.get_triple()) {
            all.iter().for_each(|module| module.set_triple(&triple));
        }
        Ok(modules)
    }
}

/// LLVM looks through all of the first module for every module that joins it:
/// with one part after another that is most of the work for a thousand parts.
/// Neighbours join, so everything stays in the order of the parts.
fn join_pairs<'ctx>(
    modules: Vec<(PartIndex, Module<'ctx>)>,
    diagnostics: &Diagnostics<'_>,
) -> Option<Module<'ctx>> {
    let mut modules: Vec<Module<'ctx>> = modules.into_iter().map(|(_, module)| module).collect();
    while modules.len() > 1 {
        let mut joined = Vec::with_capacity(modules.len().div_ceil(2));
        let mut rest = modules.into_iter();
        while let Some(one) = rest.next() {
            if let Some(other) = rest.next() {
                link_one(&one, other, diagnostics).ok()?;
            }
            joined.push(one);
        }
        modules = joined;
    }
    modules.pop()
}

/// One after the other, to find the part that does not fit.
fn join_in_turn<'ctx>(
    modules: Vec<(PartIndex, Module<'ctx>)>,
    diagnostics: &Diagnostics<'_>,
) -> Result<Module<'ctx>, Excluded> {
    let mut modules = modules.into_iter();
    let (_, merged) = modules.next().expect("the caller has seen a first module");
    for (part, module) in modules {
        link_one(&merged, module, diagnostics).map_err(|reason| Excluded { part, reason })?;
    }
    Ok(merged)
}

/// Links a module into another of the same context.
pub(crate) fn link_one<'ctx>(
    merged: &Module<'ctx>,
    part: Module<'ctx>,
    diagnostics: &Diagnostics<'_>,
) -> Result<(), String> {
    let raw = part.as_mut_ptr();
    std::mem::forget(part);
    // SAFETY: both modules live in the same context; LLVM takes over the second
    // whatever happens, hence the `forget`.
    let failed = unsafe { LLVMLinkModules2(merged.as_mut_ptr(), raw) } != 0;
    let said = diagnostics.take();
    match (failed, said) {
        (false, None) => Ok(()),
        (_, said) => Err(said.unwrap_or_else(|| "the IR linker gave no reason".to_string())),
    }
}

/// Reads one part.
///
/// # Errors
/// If it is not bitcode for x86-64 Linux that LLVM 22 can read.
pub fn parse<'ctx>(
    context: &'ctx Context,
    part: &Part<'_>,
    diagnostics: &Diagnostics<'_>,
) -> Result<Module<'ctx>, MergeError> {
    let unreadable = |reason: String| MergeError::Unreadable {
        part: part.name.to_string(),
        reason,
    };
    let buffer = MemoryBuffer::create_from_memory_range_copy(part.bitcode, part.name);
    let module = Module::parse_bitcode_from_buffer(&buffer, context)
        .map_err(|message| unreadable(message.to_string()))?;
    if let Some(reason) = diagnostics.take() {
        return Err(unreadable(reason));
    }
    let triple = module.get_triple().as_str().to_string_lossy().into_owned();
    if !is_supported(&triple) {
        return Err(MergeError::ForeignTarget {
            part: part.name.to_string(),
            triple,
        });
    }
    Ok(module)
}

/// Modules without a triple are generic bitcode and fit anywhere.
fn is_supported(triple: &str) -> bool {
    triple.is_empty()
        || (triple.starts_with("x86_64") && triple.contains("linux") && !triple.ends_with("x32"))
}

/// Drops what nothing refers to any more and bodies that are copies of functions
/// defined elsewhere, and splits coroutines: compilers leave that to the link.
fn remove_unused(module: &Module<'_>) -> Result<(), MergeError> {
    let coroutines = module
        .get_functions()
        .any(|function| has_attribute(function.as_value_ref(), "presplitcoroutine"));
    let split = if coroutines {
        "coro-early,cgscc(coro-split),coro-cleanup,"
    } else {
        ""
    };
    let machine = target_machine(RelocMode::Static, Level::Default).map_err(MergeError::Invalid)?;
    module
        .run_passes(
            &format!("{split}elim-avail-extern,globaldce"),
            &machine,
            PassBuilderOptions::create(),
        )
        .map_err(|message| MergeError::Invalid(message.to_string()))?;
    module
        .verify()
        .map_err(|message| MergeError::Invalid(message.to_string()))
}

/// A generic x86-64 machine: functions carry the user's processor and features
/// as attributes.
///
/// # Errors
/// If this LLVM was built without x86.
pub fn target_machine(relocation: RelocMode, level: Level) -> Result<TargetMachine, String> {
    Target::initialize_x86(&InitializationConfig::default());
    let triple = TargetTriple::create("x86_64-unknown-linux-gnu");
    let target = Target::from_triple(&triple).map_err(|message| message.to_string())?;
    target
        .create_target_machine(
            &triple,
            "x86-64",
            "",
            match level {
                Level::None => OptimizationLevel::None,
                Level::Less => OptimizationLevel::Less,
                Level::Default => OptimizationLevel::Default,
                Level::Aggressive => OptimizationLevel::Aggressive,
            },
            relocation,
            CodeModel::Default,
        )
        .ok_or_else(|| "LLVM offers no machine for x86-64 Linux".to_string())
}
