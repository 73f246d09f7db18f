//! Variables and types of the source, from LLVM's debug records: what an address
//! points to, in the author's words.
//!
//! A record says that a variable has a value (or lies at an address) from some
//! point on. Only those that tell something about an address are kept, and only
//! if nothing but a constant is added to it.

use super::Lowering;
use super::body::Local;
use super::texts::{printed, text};
use bohr_program::{Owner, SourceField, SourceType, SourceTypeNumber, SourceVariable};
use inkwell::llvm_sys::LLVMDbgRecordKind as RecordKind;
use inkwell::llvm_sys::LLVMTypeKind;
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::debuginfo::{LLVMMetadataKind as Kind, *};
use inkwell::llvm_sys::prelude::{LLVMDbgRecordRef, LLVMMetadataRef, LLVMValueRef};
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// Debug information about variables that was looked at already.
#[derive(Default)]
pub(super) struct Variables {
    types: HashMap<LLVMMetadataRef, SourceTypeNumber>,
    /// What an expression adds; `None` if it does anything else.
    added: HashMap<LLVMMetadataRef, Option<u64>>,
    /// Name and type.
    known: HashMap<LLVMMetadataRef, Option<(String, SourceTypeNumber)>>,
    /// The functions that were asked whose they are.
    asked: HashSet<LLVMMetadataRef>,
    /// Whose the functions in a namespace are.
    owners: HashMap<String, HashSet<Owner>>,
    /// Types that seem to be the program's, and the namespaces that they are in.
    namespaces: Vec<(SourceTypeNumber, String)>,
}

/// Positions of operands in LLVM's debug information nodes. Of a type, what it
/// is made from is somewhere behind its name.
const SCOPE: usize = 1;
const BEHIND_TYPE_NAME: usize = 3;
const VARIABLE_NAME: usize = 1;
const VARIABLE_TYPE: usize = 3;
const NAMESPACE_SCOPE: usize = 1;
const NAMESPACE_NAME: usize = 2;

/// DWARF's numbers of the types that are told apart.
const ARRAY: u16 = 0x01;
const CLASS: u16 = 0x02;
const MEMBER: u16 = 0x0d;
const POINTER: u16 = 0x0f;
const REFERENCE: u16 = 0x10;
const STRUCTURE: u16 = 0x13;
const TYPEDEF: u16 = 0x16;
const UNION: u16 = 0x17;
const INHERITANCE: u16 = 0x1c;
const CONST: u16 = 0x26;
const VOLATILE: u16 = 0x35;
const RESTRICT: u16 = 0x37;
const RVALUE_REFERENCE: u16 = 0x42;
const ATOMIC: u16 = 0x47;

/// LLVM's flag of a field that belongs to the class.
const STATIC_MEMBER: i32 = 1 << 12;

/// Names that are looked through to what they stand for.
const LONGEST_CHAIN: usize = 32;

/// The namespaces of the languages' own libraries.
const LIBRARY_NAMESPACES: [&str; 5] = ["std", "core", "alloc", "__gnu_cxx", "hashbrown"];

impl Lowering {
    /// What the records in front of an instruction say about addresses.
    pub(super) fn variables_at(
        &mut self,
        local: &Local,
        instruction: LLVMValueRef,
        found: &mut Vec<SourceVariable>,
    ) {
        let some = |record: LLVMDbgRecordRef| (!record.is_null()).then_some(record);
        // SAFETY: an instruction, and records of it.
        let first = some(unsafe { LLVMGetFirstDbgRecord(instruction) });
        let records = std::iter::successors(first, |record| {
            // SAFETY: as above.
            some(unsafe { LLVMGetNextDbgRecord(*record) })
        });
        for record in records.collect::<Vec<_>>() {
            found.extend(self.variable(local, record));
        }
    }

    /// What the author says that a global variable is.
    pub(super) fn global_type(&mut self, global: LLVMValueRef) -> Option<SourceTypeNumber> {
        let mut count = 0;
        // SAFETY: a global of the live module; what it is annotated with is copied,
        // and given back.
        let nodes: Vec<LLVMMetadataRef> = unsafe {
            let entries = LLVMGlobalCopyAllMetadata(global, &mut count);
            let nodes = (0..count as u32)
                .map(|entry| LLVMValueMetadataEntriesGetMetadata(entries, entry))
                .collect();
            LLVMDisposeValueMetadataEntries(entries);
            nodes
        };
        // SAFETY: metadata of the live module, of the kind that has these parts.
        let (variable, expression) = nodes.into_iter().find_map(|node| unsafe {
            let kind = LLVMGetMetadataKind(node);
            matches!(kind, Kind::LLVMDIGlobalVariableExpressionMetadataKind).then(|| {
                (
                    LLVMDIGlobalVariableExpressionGetVariable(node),
                    LLVMDIGlobalVariableExpressionGetExpression(node),
                )
            })
        })?;
        if self.added(expression) != Some(0) {
            return None;
        }
        self.named(variable).map(|(_, of)| of)
    }

    fn variable(&mut self, local: &Local, record: LLVMDbgRecordRef) -> Option<SourceVariable> {
        // SAFETY: a record of the live module, asked for its parts only if it is
        // one about a variable.
        let (declared, value, variable, expression) = unsafe {
            let declared = match LLVMDbgRecordGetKind(record) {
                RecordKind::LLVMDbgRecordDeclare => true,
                RecordKind::LLVMDbgRecordValue => false,
                _ => return None,
            };
            (
                declared,
                LLVMDbgVariableRecordGetValue(record, 0),
                LLVMDbgVariableRecordGetVariable(record),
                LLVMDbgVariableRecordGetExpression(record),
            )
        };
        if value.is_null() || !is_pointer(value) {
            return None;
        }
        let value = local.known(value)?;
        let offset = self.added(expression)?;
        let (mut name, of) = self.named(variable)?;
        // SAFETY: a variable of the debug information.
        if owner_of_file(unsafe { LLVMDIVariableGetFile(variable) }) == Owner::Library {
            // What a library calls its variables says nothing to its user.
            name.clear();
        }
        let of = match (declared, &self.builder.program().source_types[of]) {
            (true, _) => of,
            (false, SourceType::Pointer { to, .. }) => to.expand()?,
            (false, _) => return None,
        };
        Some(SourceVariable {
            value,
            offset,
            of,
            name: self.builder.text(&name),
            pointer: !declared,
        })
    }

    /// The constant that an expression adds, if it does nothing else.
    fn added(&mut self, expression: LLVMMetadataRef) -> Option<u64> {
        if let Some(known) = self.variables.added.get(&expression) {
            return *known;
        }
        // SAFETY: metadata of the live module.
        let shown = unsafe { printed(LLVMMetadataAsValue(self.context, expression)) };
        let added = constant_added(&shown);
        self.variables.added.insert(expression, added);
        added
    }

    fn named(&mut self, variable: LLVMMetadataRef) -> Option<(String, SourceTypeNumber)> {
        if let Some(known) = self.variables.known.get(&variable) {
            return known.clone();
        }
        let name = self.string(variable, VARIABLE_NAME);
        let of = self.operand(variable, VARIABLE_TYPE);
        let known = of.map(|of| (name, self.source_type(of)));
        self.variables.known.insert(variable, known.clone());
        known
    }

    /// The number of a type. It has one before its parts are looked at, since
    /// they may point back to it.
    fn source_type(&mut self, of: LLVMMetadataRef) -> SourceTypeNumber {
        if let Some(number) = self.variables.types.get(&of) {
            return *number;
        }
        let (meant, alias) = self.looked_through(of);
        if let Some(number) = self.variables.types.get(&meant).copied() {
            self.variables.types.insert(of, number);
            return number;
        }
        let types = &mut self.builder.program().source_types;
        let number = types.push(SourceType::Plain { size: 0 });
        self.variables.types.insert(of, number);
        self.variables.types.insert(meant, number);
        let lowered = self.lower_source_type(meant, &alias);
        if let SourceType::Structure {
            owner: Owner::Program,
            ..
        } = lowered
        {
            let namespace = self.namespace(meant);
            self.variables.namespaces.push((number, namespace));
        }
        self.builder.program().source_types[number] = lowered;
        number
    }

    /// What a type really is, and the last name that it goes by.
    fn looked_through(&self, of: LLVMMetadataRef) -> (LLVMMetadataRef, String) {
        let (mut of, mut alias) = (of, String::new());
        for _ in 0..LONGEST_CHAIN {
            let tag = tag(of);
            if !matches!(tag, TYPEDEF | CONST | VOLATILE | RESTRICT | ATOMIC) {
                break;
            }
            if tag == TYPEDEF {
                alias = type_name(of);
            }
            match self.base(of) {
                Some(base) => of = base,
                None => break,
            }
        }
        (of, alias)
    }

    fn lower_source_type(&mut self, of: LLVMMetadataRef, alias: &str) -> SourceType {
        // SAFETY: a type of the debug information.
        let size = unsafe { LLVMDITypeGetSizeInBits(of) } / 8;
        match tag(of) {
            kind @ (POINTER | REFERENCE | RVALUE_REFERENCE) => {
                let base = self.base(of);
                SourceType::Pointer {
                    to: base.map(|base| self.source_type(base)).into(),
                    refers: kind != POINTER,
                }
            }
            ARRAY => match self.base(of) {
                Some(element) => SourceType::Array {
                    element: self.source_type(element),
                    size,
                },
                None => SourceType::Plain { size },
            },
            STRUCTURE | CLASS | UNION => {
                let name = type_name(of);
                let name = if name.is_empty() { alias } else { &name };
                SourceType::Structure {
                    name: self.builder.text(name),
                    size,
                    owner: self.owner_of_type(of),
                    fields: self.fields(of),
                }
            }
            _ => SourceType::Plain { size },
        }
    }

    fn fields(&mut self, of: LLVMMetadataRef) -> Box<[SourceField]> {
        let is_list = |kind: &Kind| matches!(kind, Kind::LLVMMDTupleMetadataKind);
        let Some(elements) = self.operand_of_kind(of, is_list) else {
            return Box::default();
        };
        let mut fields = Vec::new();
        for element in self.node_operands(elements).into_iter().flatten() {
            let wanted = matches!(tag(element), MEMBER | INHERITANCE);
            // SAFETY: an element with these tags is a type.
            let is_static = wanted && unsafe { LLVMDITypeGetFlags(element) } & STATIC_MEMBER != 0;
            let Some(base) = self.base(element).filter(|_| wanted && !is_static) else {
                continue;
            };
            // SAFETY: as above.
            let offset = unsafe { LLVMDITypeGetOffsetInBits(element) } / 8;
            fields.push(SourceField {
                name: self.builder.text(&type_name(element)),
                offset,
                of: self.source_type(base),
            });
        }
        fields.into()
    }

    /// What a pointer points to, an array or another name is made of.
    fn base(&self, of: LLVMMetadataRef) -> Option<LLVMMetadataRef> {
        self.operand_of_kind(of, is_type)
    }

    /// The first operand behind the name that is of some kind.
    fn operand_of_kind(
        &self,
        of: LLVMMetadataRef,
        wanted: impl Fn(&Kind) -> bool,
    ) -> Option<LLVMMetadataRef> {
        let operands = self.node_operands(of);
        let mut behind = operands.into_iter().skip(BEHIND_TYPE_NAME).flatten();
        // SAFETY: metadata of the live module.
        behind.find(|operand| wanted(&unsafe { LLVMGetMetadataKind(*operand) }))
    }

    /// Whose a type is: by the file that declares it, or by its namespace. Of types
    /// Rust does not tell the file; see [`Lowering::ask_owner`].
    fn owner_of_type(&self, of: LLVMMetadataRef) -> Owner {
        // SAFETY: a type is a scope.
        match owner_of_file(unsafe { LLVMDIScopeGetFile(of) }) {
            Owner::Program if LIBRARY_NAMESPACES.contains(&self.namespace(of).as_str()) => {
                Owner::Library
            }
            owner => owner,
        }
    }

    /// The outermost namespace of a type or a function.
    fn namespace(&self, of: LLVMMetadataRef) -> String {
        let mut outermost = String::new();
        let mut scope = self.operand(of, SCOPE);
        for _ in 0..LONGEST_CHAIN {
            let Some(node) = scope else {
                break;
            };
            // SAFETY: metadata of the live module.
            scope = match unsafe { LLVMGetMetadataKind(node) } {
                Kind::LLVMDINamespaceMetadataKind => {
                    outermost = self.string(node, NAMESPACE_NAME);
                    self.operand(node, NAMESPACE_SCOPE)
                }
                Kind::LLVMDISubprogramMetadataKind => self.operand(node, SCOPE),
                kind if is_type(&kind) => self.operand(node, SCOPE),
                _ => None,
            };
        }
        outermost
    }

    /// Takes in whose a function is. A namespace of Rust is a package: its functions
    /// tell the file that they are in, its types do not.
    pub(super) fn ask_owner(&mut self, subprogram: LLVMMetadataRef) {
        if !self.variables.asked.insert(subprogram) {
            return;
        }
        // SAFETY: a function of the debug information is a scope.
        let owner = owner_of_file(unsafe { LLVMDIScopeGetFile(subprogram) });
        let namespace = self.namespace(subprogram);
        self.variables
            .owners
            .entry(namespace)
            .or_default()
            .insert(owner);
    }

    /// Gives the types of packages that cargo has fetched to these. What macros of
    /// theirs have written elsewhere is in their files, too, but not only that.
    pub(super) fn settle_owners(&mut self) {
        let fetched = HashSet::from([Owner::Fetched]);
        for (number, namespace) in std::mem::take(&mut self.variables.namespaces) {
            let is_fetched = self.variables.owners.get(&namespace) == Some(&fetched);
            let of = &mut self.builder.program().source_types[number];
            if let SourceType::Structure { owner, .. } = of
                && is_fetched
            {
                *owner = Owner::Fetched;
            }
        }
    }
}

/// Whose a file is; the program's, if there is none.
fn owner_of_file(file: LLVMMetadataRef) -> Owner {
    if file.is_null() {
        return Owner::Program;
    }
    let mut length = 0;
    // SAFETY: a file of the debug information; LLVM tells the lengths.
    let (name, folder) = unsafe {
        let name = text(LLVMDIFileGetFilename(file, &mut length), length as usize);
        let start = LLVMDIFileGetDirectory(file, &mut length);
        (name, text(start, length as usize))
    };
    let path = Path::new(&folder).join(name);
    path.to_str().map_or(Owner::Program, Owner::of_file)
}

fn is_pointer(value: LLVMValueRef) -> bool {
    // SAFETY: a value of the live module.
    unsafe { LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMTypeKind::LLVMPointerTypeKind }
}

fn is_type(kind: &Kind) -> bool {
    matches!(
        kind,
        Kind::LLVMDIBasicTypeMetadataKind
            | Kind::LLVMDIDerivedTypeMetadataKind
            | Kind::LLVMDICompositeTypeMetadataKind
            | Kind::LLVMDISubroutineTypeMetadataKind
    )
}

fn tag(node: LLVMMetadataRef) -> u16 {
    // SAFETY: metadata of the live module; 0 of what has no tag.
    unsafe { LLVMGetDINodeTag(node) }
}

fn type_name(of: LLVMMetadataRef) -> String {
    let mut length = 0;
    // SAFETY: a type; LLVM tells the length.
    unsafe {
        let start = LLVMDITypeGetName(of, &mut length);
        text(start, length)
    }
}

/// The constant that an expression adds, as LLVM writes it, if it does nothing
/// else: `!DIExpression(DW_OP_plus_uconst, 8, DW_OP_stack_value)`.
fn constant_added(shown: &str) -> Option<u64> {
    let (_, rest) = shown.split_once("!DIExpression(")?;
    let (inside, _) = rest.split_once(')')?;
    let words: Vec<&str> = inside.split(", ").filter(|word| !word.is_empty()).collect();
    match words.as_slice() {
        [] | ["DW_OP_stack_value"] => Some(0),
        ["DW_OP_plus_uconst", bytes] | ["DW_OP_plus_uconst", bytes, "DW_OP_stack_value"] => {
            bytes.parse().ok()
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::constant_added;

    #[test]
    fn expressions_that_only_add() {
        for (shown, added) in [
            ("!DIExpression()", Some(0)),
            ("!DIExpression(DW_OP_plus_uconst, 24)", Some(24)),
            (
                "metadata !DIExpression(DW_OP_plus_uconst, 8, DW_OP_stack_value)",
                Some(8),
            ),
            ("!DIExpression(DW_OP_deref)", None),
            ("!DIExpression(DW_OP_LLVM_fragment, 0, 32)", None),
            ("nothing", None),
        ] {
            assert_eq!(constant_added(shown), added, "{shown}");
        }
    }
}
