//! Places in the source, from LLVM's debug information.

use super::Lowering;
use super::texts::{printed, text};
use bohr_program::{
    FileNumber, Language, Location, LocationNumber, Scope, ScopeNumber, SourceFile, Unit,
    UnitNumber, is_folder_elsewhere,
};
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::debuginfo::{LLVMMetadataKind as Kind, *};
use inkwell::llvm_sys::prelude::{LLVMMetadataRef, LLVMValueRef};
use std::collections::HashMap;

/// Debug information that has a number already.
#[derive(Default)]
pub(super) struct Places {
    locations: HashMap<LLVMMetadataRef, LocationNumber>,
    scopes: HashMap<LLVMMetadataRef, Option<ScopeNumber>>,
    files: HashMap<LLVMMetadataRef, FileNumber>,
    units: HashMap<LLVMMetadataRef, UnitNumber>,
}

/// Positions of operands in LLVM's debug information nodes.
const LEXICAL_BLOCK_SCOPE: usize = 1;
const SUBPROGRAM_NAME: usize = 2;
const SUBPROGRAM_LINKAGE_NAME: usize = 3;
const SUBPROGRAM_UNIT: usize = 5;
const UNIT_PRODUCER: usize = 1;

/// What the debug information says about a function.
pub(super) struct Subprogram {
    pub(super) name: String,
    pub(super) linkage_name: String,
    pub(super) file: Option<FileNumber>,
    pub(super) line: u32,
    pub(super) unit: Option<UnitNumber>,
}

impl Lowering {
    /// Where an instruction stands in the source.
    pub(super) fn location_of(&mut self, instruction: LLVMValueRef) -> Option<LocationNumber> {
        // SAFETY: an instruction of the live module.
        let location = unsafe { LLVMInstructionGetDebugLoc(instruction) };
        self.location(location)
    }

    fn location(&mut self, location: LLVMMetadataRef) -> Option<LocationNumber> {
        if location.is_null() {
            return None;
        }
        if let Some(number) = self.places.locations.get(&location) {
            return Some(*number);
        }
        // SAFETY: a debug location.
        let (line, column, scope, outer) = unsafe {
            (
                LLVMDILocationGetLine(location),
                LLVMDILocationGetColumn(location),
                LLVMDILocationGetScope(location),
                LLVMDILocationGetInlinedAt(location),
            )
        };
        let scope = self.scope(scope)?;
        let inlined_at = self.location(outer).into();
        let number = self.builder.location(Location {
            scope,
            line,
            column: u16::try_from(column).unwrap_or(0),
            inlined_at,
        });
        self.places.locations.insert(location, number);
        Some(number)
    }

    /// The function around a scope, seen from the scope's own file.
    fn scope(&mut self, scope: LLVMMetadataRef) -> Option<ScopeNumber> {
        if let Some(number) = self.places.scopes.get(&scope) {
            return *number;
        }
        let number = self.lower_scope(scope);
        self.places.scopes.insert(scope, number);
        number
    }

    fn lower_scope(&mut self, scope: LLVMMetadataRef) -> Option<ScopeNumber> {
        let function = self.enclosing_function(scope)?;
        // SAFETY: a scope of the debug information.
        let file = unsafe { LLVMDIScopeGetFile(scope) };
        let file = self.file(file);
        let subprogram = self.subprogram(function);
        let scope = Scope {
            name: self.builder.text(&subprogram.name),
            linkage_name: self.builder.text(&subprogram.linkage_name),
            file: file.or(subprogram.file).into(),
            line: subprogram.line,
        };
        Some(self.builder.scope(scope))
    }

    fn enclosing_function(&self, scope: LLVMMetadataRef) -> Option<LLVMMetadataRef> {
        let mut scope = scope;
        while !scope.is_null() {
            // SAFETY: a node of the debug information.
            match unsafe { LLVMGetMetadataKind(scope) } {
                Kind::LLVMDISubprogramMetadataKind => return Some(scope),
                Kind::LLVMDILexicalBlockMetadataKind | Kind::LLVMDILexicalBlockFileMetadataKind => {
                    scope = self.operand(scope, LEXICAL_BLOCK_SCOPE)?;
                }
                _ => return None,
            }
        }
        None
    }

    /// What the debug information says about a function.
    pub(super) fn subprogram(&mut self, subprogram: LLVMMetadataRef) -> Subprogram {
        self.ask_owner(subprogram);
        // SAFETY: a function of the debug information.
        let (file, line) = unsafe {
            (
                LLVMDIScopeGetFile(subprogram),
                LLVMDISubprogramGetLine(subprogram),
            )
        };
        let unit = self.operand(subprogram, SUBPROGRAM_UNIT);
        Subprogram {
            name: self.string(subprogram, SUBPROGRAM_NAME),
            linkage_name: self.string(subprogram, SUBPROGRAM_LINKAGE_NAME),
            file: self.file(file),
            line,
            unit: unit.map(|unit| self.unit(unit)),
        }
    }

    fn unit(&mut self, unit: LLVMMetadataRef) -> UnitNumber {
        if let Some(number) = self.places.units.get(&unit) {
            return *number;
        }
        // SAFETY: a unit of the debug information. The C interface does not
        // tell its language; its text does.
        let (shown, file) = unsafe {
            let value = LLVMMetadataAsValue(self.context, unit);
            (printed(value), LLVMDIScopeGetFile(unit))
        };
        let unnamed = self.builder.text("");
        let nowhere = SourceFile {
            path: unnamed,
            directory: unnamed,
        };
        let file = self.file(file);
        let file = file.unwrap_or_else(|| self.builder.file(nowhere));
        let producer = self.string(unit, UNIT_PRODUCER);
        let lowered = Unit {
            language: language(&shown),
            file,
            producer: self.builder.text(&producer),
        };
        let number = self.builder.program().units.push(lowered);
        self.places.units.insert(unit, number);
        number
    }

    fn file(&mut self, file: LLVMMetadataRef) -> Option<FileNumber> {
        if file.is_null() {
            return None;
        }
        if let Some(number) = self.places.files.get(&file) {
            return Some(*number);
        }
        let mut length = 0;
        // SAFETY: a file of the debug information; LLVM tells the lengths.
        let (path, directory) = unsafe {
            let path = LLVMDIFileGetFilename(file, &mut length);
            let path = text(path, length as usize);
            let directory = LLVMDIFileGetDirectory(file, &mut length);
            (path, text(directory, length as usize))
        };
        let path = match is_folder_elsewhere(&directory) && !path.starts_with('/') {
            true => format!("{directory}/{path}"),
            false => path.to_string(),
        };
        let lowered = SourceFile {
            path: self.builder.text(&path),
            directory: self.builder.text(&directory),
        };
        let number = self.builder.file(lowered);
        self.places.files.insert(file, number);
        Some(number)
    }

    /// An operand of a node.
    pub(super) fn operand(&self, node: LLVMMetadataRef, index: usize) -> Option<LLVMMetadataRef> {
        let value = self.operand_value(node, index)?;
        // SAFETY: operands of debug information are metadata.
        Some(unsafe { LLVMValueAsMetadata(value) })
    }

    /// All operands of a node.
    pub(super) fn node_operands(&self, node: LLVMMetadataRef) -> Vec<Option<LLVMMetadataRef>> {
        let values = self.operand_values(node).into_iter();
        values
            // SAFETY: operands of debug information are metadata.
            .map(|value| (!value.is_null()).then(|| unsafe { LLVMValueAsMetadata(value) }))
            .collect()
    }

    fn operand_value(&self, node: LLVMMetadataRef, index: usize) -> Option<LLVMValueRef> {
        let operand = *self.operand_values(node).get(index)?;
        (!operand.is_null()).then_some(operand)
    }

    fn operand_values(&self, node: LLVMMetadataRef) -> Vec<LLVMValueRef> {
        // SAFETY: there is room for as many operands as the node has.
        unsafe {
            let value = LLVMMetadataAsValue(self.context, node);
            let count = LLVMGetMDNodeNumOperands(value) as usize;
            let mut operands = vec![std::ptr::null_mut(); count];
            LLVMGetMDNodeOperands(value, operands.as_mut_ptr());
            operands
        }
    }

    /// A string among the operands of a node; empty if there is none.
    pub(super) fn string(&self, node: LLVMMetadataRef, index: usize) -> String {
        let Some(value) = self.operand_value(node, index) else {
            return String::new();
        };
        let mut length = 0;
        // SAFETY: LLVM gives null for what is not a string.
        unsafe {
            let start = LLVMGetMDString(value, &mut length);
            text(start, length as usize)
        }
    }
}

/// The language that a unit's text names: `language: DW_LANG_C11`, or
/// `sourceLanguageName: DW_LNAME_C` since DWARF 6.
fn language(unit: &str) -> Language {
    let after = |key| unit.split_once(key).map(|(_, rest)| rest);
    let name = after("DW_LANG_").or_else(|| after("DW_LNAME_"));
    let name: &str = name.map_or("", |rest| rest.split([',', ')']).next().unwrap_or(""));
    match name {
        "Rust" => Language::Rust,
        "C" | "C89" | "C99" | "C11" | "C17" | "C23" => Language::C,
        _ if name.starts_with("C_plus_plus") => Language::Cpp,
        _ => Language::Other,
    }
}
