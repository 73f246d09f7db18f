//! Names for functions that outlive merging.
//!
//! Merging renames local functions that clash and keeps one of many copies of a
//! weak one, so ids are given to the functions of each part before it, and
//! travel as metadata. A function with external linkage is named by its linkage
//! name alone: whichever copy prevails, the id is the same. A local one is named
//! by its linkage name and the file name (no directories: builds move) of its
//! source; Rust's names are unique without a file, and rustc's units are not
//! files. Functions that still clash add a hash of their bodies; equal bodies
//! are told apart by the order of their full source paths. In a shared library the
//! library's own name joins in: there can be several in a process.

use crate::internalise::name_of;
use bohr_event::FunctionId;
use inkwell::context::{AsContextRef, Context};
use inkwell::llvm_sys::LLVMLinkage;
use inkwell::llvm_sys::core::*;
use inkwell::module::Module;
use inkwell::values::{AsValueRef, FunctionValue};
use std::collections::BTreeMap;

/// Name of the metadata that carries the id.
pub const METADATA: &str = "bohr.id";

/// A local function among those whose names clash.
struct Local<'ctx> {
    function: FunctionValue<'ctx>,
    /// Full path of the source, as the compiler was given it.
    path: String,
}

/// Names every function that `parts` define.
pub fn name_functions<'ctx>(context: &'ctx Context, parts: &[&Module<'ctx>]) {
    let mut locals: BTreeMap<FunctionId, Vec<Local<'ctx>>> = BTreeMap::new();
    for part in parts {
        let path = part.get_source_file_name().to_string_lossy().into_owned();
        let file = if is_rust(part) { "" } else { file_name(&path) };
        for function in part.get_functions() {
            if function.get_first_basic_block().is_none() {
                continue;
            }
            let name = name_of(function.as_value_ref());
            if is_local(function) {
                let id = hash(&[b"local", name.as_bytes(), file.as_bytes()]);
                let path = path.clone();
                locals.entry(id).or_default().push(Local { function, path });
            } else {
                attach(context, function, declared_id(&name));
            }
        }
    }
    for (id, clashing) in locals {
        name_locals(context, id, clashing);
    }
}

fn name_locals<'ctx>(context: &'ctx Context, id: FunctionId, mut clashing: Vec<Local<'ctx>>) {
    if let [only] = &clashing[..] {
        return attach(context, only.function, id);
    }
    // Stable: functions that nothing tells apart stay in the order of the parts.
    clashing.sort_by(|a, b| a.path.cmp(&b.path));
    let mut seen: BTreeMap<FunctionId, u64> = BTreeMap::new();
    for local in clashing {
        let body = crate::body::hash(local.function);
        let with_body = hash(&[b"body", &id.0.to_le_bytes(), body.as_bytes()]);
        let copies = seen.entry(with_body).or_default();
        let own = match *copies {
            0 => with_body,
            copy => hash(&[b"copy", &with_body.0.to_le_bytes(), &copy.to_le_bytes()]),
        };
        *copies += 1;
        attach(context, local.function, own);
    }
}

/// Gives the functions of a shared library ids that only functions of a library with
/// that name have: others in the same process may have functions of the same names,
/// static ones, and their own copies of inline ones.
pub fn name_library<'ctx>(context: &'ctx Context, module: &Module<'ctx>, library: &str) {
    for function in module.get_functions() {
        if let Some(id) = function_id(function) {
            let own = hash(&[b"library", library.as_bytes(), &id.0.to_le_bytes()]);
            attach(context, function, own);
        }
    }
}

/// The id of a function that is only declared: the one that its definition,
/// wherever it is, would get.
#[must_use]
pub fn declared_id(name: &str) -> FunctionId {
    hash(&[b"global", name.as_bytes()])
}

/// Gives ids of their own to the pieces that a coroutine was split into: each
/// inherits its whole's id, and has its whole's name with a suffix.
pub(crate) fn name_pieces<'ctx>(context: &'ctx Context, module: &Module<'ctx>) {
    let mut same: BTreeMap<FunctionId, Vec<(String, FunctionValue<'ctx>)>> = BTreeMap::new();
    for function in module.get_functions() {
        if let Some(id) = function_id(function) {
            let name = name_of(function.as_value_ref());
            same.entry(id).or_default().push((name, function));
        }
    }
    for (id, mut functions) in same {
        functions.sort_by_key(|(name, _)| name.len());
        let whole = functions[0].0.clone();
        for (name, piece) in &functions[1..] {
            let suffix = name.strip_prefix(&whole).unwrap_or(name);
            attach(
                context,
                *piece,
                hash(&[b"piece", &id.0.to_le_bytes(), suffix.as_bytes()]),
            );
        }
    }
}

fn hash(pieces: &[&[u8]]) -> FunctionId {
    let mut hasher = blake3::Hasher::new();
    for piece in pieces {
        hasher.update(&(piece.len() as u64).to_le_bytes());
        hasher.update(piece);
    }
    let mut first = [0; 8];
    first.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
    FunctionId(u64::from_le_bytes(first))
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn is_local(function: FunctionValue<'_>) -> bool {
    // SAFETY: a function of a live module.
    let linkage = unsafe { LLVMGetLinkage(function.as_value_ref()) };
    matches!(
        linkage,
        LLVMLinkage::LLVMInternalLinkage | LLVMLinkage::LLVMPrivateLinkage
    )
}

/// rustc leaves its version in every module it writes.
pub(crate) fn is_rust(module: &Module<'_>) -> bool {
    module.get_global_metadata("llvm.ident").iter().any(|node| {
        node.get_node_values().iter().flatten().any(|value| {
            value.is_metadata_value()
                && value
                    .into_metadata_value()
                    .get_string_value()
                    .is_some_and(|text| text.starts_with(b"rustc"))
        })
    })
}

fn attach<'ctx>(context: &'ctx Context, function: FunctionValue<'ctx>, id: FunctionId) {
    let number = context.i64_type().const_int(id.0, false);
    let kind = context.get_kind_id(METADATA);
    // SAFETY: the node and the function belong to the same context.
    unsafe {
        let mut element = LLVMValueAsMetadata(number.as_value_ref());
        let node = LLVMMDNodeInContext2(context.as_ctx_ref(), &mut element, 1);
        LLVMGlobalSetMetadata(function.as_value_ref(), kind, node);
    }
}

/// The id that [`name_functions`] gave; `None` for declarations and for
/// functions that bohr itself adds.
#[must_use]
pub fn function_id(function: FunctionValue<'_>) -> Option<FunctionId> {
    let value = function.as_value_ref();
    // SAFETY: the entries are read within their length and then disposed of;
    // our kind of node holds one constant integer, as `attach` made it.
    unsafe {
        let context = LLVMGetTypeContext(LLVMTypeOf(value));
        let kind =
            LLVMGetMDKindIDInContext(context, METADATA.as_ptr().cast(), METADATA.len() as u32);
        let mut count = 0;
        let entries = LLVMGlobalCopyAllMetadata(value, &mut count);
        let id = (0..count as u32)
            .find(|index| LLVMValueMetadataEntriesGetKind(entries, *index) == kind)
            .map(|index| {
                let node = LLVMValueMetadataEntriesGetMetadata(entries, index);
                let node = LLVMMetadataAsValue(context, node);
                let mut number = std::ptr::null_mut();
                LLVMGetMDNodeOperands(node, &mut number);
                FunctionId(LLVMConstIntGetZExtValue(number))
            });
        LLVMDisposeValueMetadataEntries(entries);
        id
    }
}
