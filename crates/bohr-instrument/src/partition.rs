//! Which piece of a program each of its symbols goes to when code generation is
//! spread over processors.
//!
//! A piece holds functions of one [`Level`] that stand together in the module,
//! and the variables that they use. Where the cuts are depends on the program
//! alone, not on the machine: the same bundle gives the same profile everywhere.

use crate::hooks::STUB_SECTION;
use crate::internalise::{
    add_words, assembly_of_call, definitions, marked_as_used, module_assembly, name_of,
};
use crate::level::{self, Level};
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::prelude::LLVMValueRef;
use inkwell::module::Module;
use inkwell::values::{AsValueRef, FunctionValue};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::CStr;

/// How large pieces are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Instructions that make a piece worth its while.
    pub enough: u64,
    /// About as many pieces at most: reading the module for each has its price.
    pub most: u64,
}

impl Default for Cut {
    /// A piece takes about a second.
    fn default() -> Cut {
        Cut {
            enough: 50_000,
            most: 8,
        }
    }
}

/// A piece, by its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PieceId(pub u32);

/// The piece that keeps what has to stay together: the module's own assembly and
/// what it names, constructors, symbols marked as used.
pub const FIRST: PieceId = PieceId(0);

/// Who goes where.
#[derive(Debug)]
pub struct Partition {
    /// The level of each piece.
    pub levels: Vec<Level>,
    owner: HashMap<LLVMValueRef, PieceId>,
    /// Definitions that another piece refers to.
    shared: HashSet<LLVMValueRef>,
}

/// A definition and the definitions that mention it.
struct Mentioned {
    value: LLVMValueRef,
    by: HashSet<LLVMValueRef>,
    /// Those that hold addresses of places inside it and cannot live elsewhere.
    inside: HashSet<LLVMValueRef>,
}

impl Partition {
    /// Cuts a module into pieces.
    #[must_use]
    pub fn of(module: &Module<'_>, cut: Cut) -> Partition {
        let mut partition = Partition {
            levels: Vec::new(),
            owner: HashMap::new(),
            shared: HashSet::new(),
        };
        let pinned = pinned(module);
        partition.place_functions(module, cut, &pinned);
        let mentions: Vec<Mentioned> = definitions(module).into_iter().map(mentions).collect();
        partition.place_others(&mentions, &pinned);
        for Mentioned { value, by, .. } in &mentions {
            let home = partition.piece(*value);
            if by.iter().any(|user| partition.piece(*user) != home) {
                partition.shared.insert(*value);
            }
        }
        partition
    }

    /// The piece of a definition.
    #[must_use]
    pub fn piece(&self, value: LLVMValueRef) -> PieceId {
        self.owner.get(&value).copied().unwrap_or(FIRST)
    }

    /// Whether pieces other than its own refer to a definition.
    #[must_use]
    pub fn is_shared(&self, value: LLVMValueRef) -> bool {
        self.shared.contains(&value)
    }

    fn place_functions(&mut self, module: &Module<'_>, cut: Cut, pinned: &HashSet<LLVMValueRef>) {
        let mut by_level: BTreeMap<Level, Vec<(LLVMValueRef, u64)>> = BTreeMap::new();
        for function in module.get_functions() {
            let value = function.as_value_ref();
            if function.get_first_basic_block().is_some() && !pinned.contains(&value) {
                let functions = by_level.entry(level::of(function)).or_default();
                functions.push((value, size(function)));
            }
        }
        let total: u64 = by_level.values().flatten().map(|(_, size)| size).sum();
        let enough = cut.enough.max(total.div_ceil(cut.most));
        for (level, functions) in by_level {
            let mut filled = enough;
            for (function, size) in functions {
                if filled >= enough {
                    self.levels.push(level);
                    filled = 0;
                }
                filled += size;
                let last = PieceId(self.levels.len() as u32 - 1);
                self.owner.insert(function, last);
            }
        }
        if self.levels.is_empty() {
            self.levels.push(Level::Default);
        }
    }

    /// Variables go where they are used, aliases where their object is.
    fn place_others(&mut self, mentions: &[Mentioned], pinned: &HashSet<LLVMValueRef>) {
        for Mentioned { value, by, .. } in mentions {
            if is_variable(*value) && !pinned.contains(value) {
                let homes = by.iter().filter_map(|user| self.owner.get(user));
                if let Some(home) = homes.min().copied() {
                    self.owner.insert(*value, home);
                }
            }
        }
        for Mentioned { value, inside, .. } in mentions {
            let home = self.piece(*value);
            for holder in inside.iter().filter(|holder| is_variable(**holder)) {
                self.owner.insert(*holder, home);
            }
        }
        for Mentioned { value, .. } in mentions {
            if let Some(object) = object_of_alias(*value) {
                self.owner.insert(*value, self.piece(object));
            }
        }
    }
}

fn size(function: FunctionValue<'_>) -> u64 {
    let blocks = function.get_basic_block_iter();
    blocks
        .map(|block| block.get_instructions().count() as u64)
        .sum()
}

fn is_variable(value: LLVMValueRef) -> bool {
    // SAFETY: a live value.
    unsafe { !LLVMIsAGlobalVariable(value).is_null() }
}

/// What an alias stands for; `None` for everything else.
fn object_of_alias(value: LLVMValueRef) -> Option<LLVMValueRef> {
    let mut value = value;
    let mut is_alias = false;
    // SAFETY: an alias has an aliasee, a constant expression a first operand;
    // both lead to an object in the end.
    unsafe {
        loop {
            if !LLVMIsAGlobalAlias(value).is_null() {
                is_alias = true;
                value = LLVMAliasGetAliasee(value);
            } else if !LLVMIsAGlobalValue(value).is_null() {
                return is_alias.then_some(value);
            } else {
                value = LLVMGetOperand(value, 0);
            }
        }
    }
}

/// Looks through constants for the definitions that mention `value`.
fn mentions(value: LLVMValueRef) -> Mentioned {
    let mut mentioned = Mentioned {
        value,
        by: HashSet::new(),
        inside: HashSet::new(),
    };
    let mut seen = HashSet::new();
    let mut open = vec![(value, false)];
    // SAFETY: use lists of live values; users are instructions, whose blocks are
    // in functions, or constants.
    unsafe {
        while let Some((value, inside)) = open.pop() {
            let mut next = LLVMGetFirstUse(value);
            while !next.is_null() {
                let user = LLVMGetUser(next);
                next = LLVMGetNextUse(next);
                let inside = inside || !LLVMIsABlockAddress(user).is_null();
                let owner = if !LLVMIsAInstruction(user).is_null() {
                    LLVMGetBasicBlockParent(LLVMGetInstructionParent(user))
                } else if !LLVMIsAGlobalValue(user).is_null() {
                    user
                } else {
                    if seen.insert((user, inside)) {
                        open.push((user, inside));
                    }
                    continue;
                };
                mentioned.by.insert(owner);
                if inside {
                    mentioned.inside.insert(owner);
                }
            }
        }
    }
    mentioned
}

/// What cannot leave the first piece: the module's assembly and all that it
/// names or defines, functions whose own assembly names something, what the
/// lists of used symbols name, and what runs or is chosen when the program starts.
fn pinned(module: &Module<'_>) -> HashSet<LLVMValueRef> {
    let mut names = HashSet::new();
    add_words(&mut names, &module_assembly(module));
    let mut pinned = users_of_undefined(module, &names);
    names.extend(marked_as_used(module));
    let defined: HashMap<String, LLVMValueRef> = definitions(module)
        .into_iter()
        .map(|value| (name_of(value), value))
        .collect();
    for function in module.get_functions() {
        let words = words_of_assembly(function);
        if words.iter().any(|word| defined.contains_key(word)) {
            pinned.insert(function.as_value_ref());
            names.extend(words);
        }
    }
    for (name, value) in &defined {
        if names.contains(name) || runs_at_start(*value) {
            pinned.insert(*value);
        }
        // SAFETY: a live definition; an ifunc has a resolver.
        unsafe {
            if !LLVMIsAGlobalIFunc(*value).is_null() {
                pinned.extend([*value, LLVMGetGlobalIFuncResolver(*value)]);
            }
        }
    }
    pinned
}

/// Definitions that mention symbols which only the module's assembly can define.
fn users_of_undefined(module: &Module<'_>, names: &HashSet<String>) -> HashSet<LLVMValueRef> {
    if names.is_empty() {
        return HashSet::new();
    }
    let functions = module.get_functions().map(|value| value.as_value_ref());
    let variables = module.get_globals().map(|value| value.as_value_ref());
    functions
        .chain(variables)
        // SAFETY: live values of the module.
        .filter(|value| unsafe { LLVMIsDeclaration(*value) != 0 })
        .filter(|value| names.contains(&name_of(*value)))
        .flat_map(|value| mentions(value).by)
        .collect()
}

/// The words of a function's assembly, hooks left out.
fn words_of_assembly(function: FunctionValue<'_>) -> HashSet<String> {
    let mut words = HashSet::new();
    for block in function.get_basic_block_iter() {
        for instruction in block.get_instructions() {
            let text = assembly_of_call(instruction.as_value_ref());
            if !text.contains(STUB_SECTION) {
                add_words(&mut words, &text);
            }
        }
    }
    words
}

/// Whether a variable is an entry of the lists of constructors and destructors,
/// whose order counts.
fn runs_at_start(value: LLVMValueRef) -> bool {
    if !is_variable(value) {
        return false;
    }
    // SAFETY: a live variable; its section is a C string or null.
    let section = unsafe {
        let section = LLVMGetSection(value);
        if section.is_null() {
            return false;
        }
        CStr::from_ptr(section).to_bytes()
    };
    section.starts_with(b".init_array") || section.starts_with(b".fini_array")
}
