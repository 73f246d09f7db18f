//! From one LLVM module to the program model.
//!
//! Everything that clang and rustc emit for x86-64 has a counterpart in the
//! model; what has none becomes an opaque instruction or constant that says
//! what it is, and is counted. Functions are numbered in the order of their ids
//! and sites as [`crate::sites`] enumerates them.
//!
//! All files here read the module through LLVM's C interface. Their unsafe
//! blocks rest on the same ground: the module is alive and not changed while it
//! is lowered, and a value is asked only what its kind or opcode can answer.

mod attributes;
mod body;
mod calls;
mod constants;
mod flags;
mod globals;
mod instructions;
mod places;
#[cfg(test)]
mod tests;
mod texts;
mod types;
mod variables;

use crate::ids::{declared_id, function_id};
use crate::internalise::name_of;
use crate::sites::ModuleSites;
use bohr_event::FunctionId;
use bohr_program::{
    AliasNumber, ConstantNumber, FunctionNumber, GlobalNumber, LayoutError, Program,
    ProgramBuilder, TypeNumber,
};
use cranelift_entity::EntityRef;
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::prelude::{LLVMContextRef, LLVMModuleRef, LLVMTypeRef, LLVMValueRef};
use inkwell::module::Module;
use inkwell::values::{AsValueRef, FunctionValue};
use std::collections::{BTreeMap, HashMap};

/// A program, and what of it the model does not know.
#[derive(Debug)]
pub struct Lowered {
    /// The program.
    pub program: Program,
    /// How often each construct was left opaque.
    pub opaque: BTreeMap<String, u64>,
}

/// The state of a lowering: what has a number already.
struct Lowering {
    module: LLVMModuleRef,
    context: LLVMContextRef,
    builder: ProgramBuilder,
    types: HashMap<LLVMTypeRef, TypeNumber>,
    constants: HashMap<LLVMValueRef, ConstantNumber>,
    functions: HashMap<LLVMValueRef, FunctionNumber>,
    globals: HashMap<LLVMValueRef, GlobalNumber>,
    aliases: HashMap<LLVMValueRef, AliasNumber>,
    places: places::Places,
    variables: variables::Variables,
    kinds: attributes::Kinds,
    opaque: BTreeMap<String, u64>,
}

/// Lowers a merged module. `identity` is the hash of the bundle it came from.
///
/// # Errors
/// If the module's data layout cannot be read.
pub fn lower(
    module: &Module<'_>,
    sites: &ModuleSites<'_>,
    identity: [u8; 32],
) -> Result<Lowered, LayoutError> {
    let layout = module
        .get_data_layout()
        .as_str()
        .to_string_lossy()
        .parse()?;
    let raw = module.as_mut_ptr();
    let mut lowering = Lowering {
        module: raw,
        // SAFETY: the module is alive.
        context: unsafe { LLVMGetModuleContext(raw) },
        builder: ProgramBuilder::with_layout(layout),
        types: HashMap::new(),
        constants: HashMap::new(),
        functions: HashMap::new(),
        globals: HashMap::new(),
        aliases: HashMap::new(),
        places: places::Places::default(),
        variables: variables::Variables::default(),
        kinds: attributes::Kinds::new(),
        opaque: BTreeMap::new(),
    };
    let target = module.get_triple();
    let target = target.as_str().to_string_lossy();
    lowering.builder.program().identity = identity;
    let target = lowering.builder.text(&target);
    lowering.builder.program().target = target;
    let functions = in_order(module);
    lowering.number(&functions);
    lowering.lower_globals();
    lowering.lower_functions(&functions, sites);
    lowering.settle_owners();
    Ok(Lowered {
        program: lowering.builder.finish(),
        opaque: lowering.opaque,
    })
}

/// A function and its name for ever.
struct Named<'ctx> {
    id: FunctionId,
    function: FunctionValue<'ctx>,
    /// Whether the model holds its body.
    defined: bool,
}

/// The functions in the order of their numbers: the defined ones by id, then
/// the declared ones by symbol.
fn in_order<'ctx>(module: &Module<'ctx>) -> Vec<Named<'ctx>> {
    let mut functions: Vec<(bool, FunctionId, String, FunctionValue<'ctx>)> = module
        .get_functions()
        .map(|function| {
            let name = name_of(function.as_value_ref());
            let body = function.get_first_basic_block().is_some();
            match function_id(function).filter(|_| body) {
                Some(id) => (false, id, name, function),
                None => (true, declared_id(&name), name, function),
            }
        })
        .collect();
    functions.sort_by(|a, b| {
        let declared = a.0.cmp(&b.0);
        declared.then_with(|| match a.0 {
            false => a.1.cmp(&b.1),
            true => a.2.cmp(&b.2),
        })
    });
    functions
        .into_iter()
        .map(|(declared, id, _, function)| Named {
            id,
            function,
            defined: !declared,
        })
        .collect()
}

impl Lowering {
    /// Gives functions, globals and aliases their numbers, since constants may
    /// refer to any of them.
    fn number(&mut self, functions: &[Named<'_>]) {
        for (index, named) in functions.iter().enumerate() {
            let number = FunctionNumber::new(index);
            self.functions.insert(named.function.as_value_ref(), number);
        }
        for (index, global) in globals::variables(self.module).enumerate() {
            self.globals.insert(global, GlobalNumber::new(index));
        }
        for (index, (alias, _)) in globals::aliases(self.module).enumerate() {
            self.aliases.insert(alias, AliasNumber::new(index));
        }
    }

    fn lower_functions(&mut self, functions: &[Named<'_>], sites: &ModuleSites<'_>) {
        let sites: HashMap<LLVMValueRef, _> = sites
            .functions
            .iter()
            .map(|function| (function.function.as_value_ref(), &function.sites))
            .collect();
        for named in functions {
            let value = named.function.as_value_ref();
            let sites = sites.get(&value).map_or(&[][..], |sites| &sites[..]);
            let number = self.lower_function(named);
            if named.defined {
                let body = self.lower_body(number, value, sites);
                self.builder.program().functions[number].body = Some(body);
            }
        }
    }

    /// Counts something that the model does not know.
    fn count_opaque(&mut self, what: &str) {
        *self.opaque.entry(what.to_string()).or_default() += 1;
    }
}
