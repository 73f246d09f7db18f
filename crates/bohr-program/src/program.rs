//! The whole program.

use crate::attribute::Attributes;
use crate::constant::{Assembly, Constant};
use crate::function::{Body, Function, Language, Unit};
use crate::ids::*;
use crate::instruction::{Instruction, Operand, Value};
use crate::layout::DataLayout;
use crate::location::{Location, Scope, SourceFile};
use crate::source_type::SourceType;
use crate::text::Texts;
use crate::types::Type;
use bohr_event::abi::SiteInfo;
use bohr_event::{EventKind, FunctionId, MemoryOrder, SiteId};
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntityRef, PrimaryMap};
use serde::{Deserialize, Serialize};

/// A global variable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Global {
    /// Its linkage name as its author's compiler gave it.
    pub name: TextNumber,
    /// Type of what it holds.
    pub of: TypeNumber,
    /// What it holds in the beginning; `None` if another object defines it.
    pub initialiser: PackedOption<ConstantNumber>,
    /// Bytes its address is a multiple of.
    pub alignment: u64,
    /// Address space; 0 is the ordinary one.
    pub address_space: u32,
    /// Whether each thread has its own.
    pub thread_local: bool,
    /// Whether it is never written.
    pub constant: bool,
    /// Whether its address is used other than to load or store there.
    pub address_taken: bool,
    /// Whether other objects can name it.
    pub exported: bool,
}

/// Another name for a function or global, or a name that a resolver decides on
/// when the program is loaded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Alias {
    /// Its name.
    pub name: TextNumber,
    /// What it stands for; of an indirect function, its resolver.
    pub target: ConstantNumber,
    /// Whether it is an indirect function.
    pub indirect: bool,
}

/// A site: an instruction that accesses memory or can synchronise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Site {
    /// The function.
    pub function: FunctionNumber,
    /// The instruction in it.
    pub instruction: InstructionNumber,
    /// Kind, order and size, as [`SiteInfo`] packs them.
    pub packed: u32,
}

impl Site {
    /// Kind, order and size.
    #[must_use]
    pub fn info(&self) -> SiteInfo {
        SiteInfo(self.packed)
    }

    /// What happens here.
    ///
    /// # Panics
    /// Never, of a program that was built or read: kinds are checked there.
    #[must_use]
    pub fn kind(&self) -> EventKind {
        self.info().kind().expect("a checked kind")
    }

    /// In which memory order.
    ///
    /// # Panics
    /// Never, of a program that was built or read: orders are checked there.
    #[must_use]
    pub fn order(&self) -> MemoryOrder {
        self.info().order().expect("a checked order")
    }
}

/// A program: every instruction of it, and what they refer to.
///
/// ```
/// use bohr_program::ProgramBuilder;
///
/// let program = ProgramBuilder::new("e-p:64:64-i64:64-n8:16:32:64").finish();
/// assert_eq!(program.functions.len(), 0);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// Hash of the bundle that it was made from.
    pub identity: [u8; 32],
    /// Whether it is a shared library: whoever loads it calls its exported functions, and
    /// may have functions of its own take their place.
    pub library: bool,
    /// Whether code takes part that is neither in here nor the system's: of libraries
    /// that the program is linked with, or of whoever loads it.
    pub foreign_code: bool,
    /// Sizes and alignments.
    pub layout: DataLayout,
    /// The target, as LLVM names it.
    pub target: TextNumber,
    /// Names.
    pub texts: Texts,
    /// Types.
    pub types: PrimaryMap<TypeNumber, Type>,
    /// Constants.
    pub constants: PrimaryMap<ConstantNumber, Constant>,
    /// Inline assembly.
    pub assembly: PrimaryMap<AssemblyNumber, Assembly>,
    /// Assembly outside functions, one text per piece.
    pub module_assembly: Vec<TextNumber>,
    /// Attributes.
    pub attributes: PrimaryMap<AttributesNumber, Attributes>,
    /// Source files.
    pub files: PrimaryMap<FileNumber, SourceFile>,
    /// Functions of the source.
    pub scopes: PrimaryMap<ScopeNumber, Scope>,
    /// Places in the source.
    pub locations: PrimaryMap<LocationNumber, Location>,
    /// Types as the author wrote them, those that variables need.
    pub source_types: PrimaryMap<SourceTypeNumber, SourceType>,
    /// Translation units.
    pub units: PrimaryMap<UnitNumber, Unit>,
    /// Global variables.
    pub globals: PrimaryMap<GlobalNumber, Global>,
    /// What the author says that they are, in the order of their numbers, where
    /// there is debug information.
    pub global_types: Vec<(GlobalNumber, SourceTypeNumber)>,
    /// Aliases.
    pub aliases: PrimaryMap<AliasNumber, Alias>,
    /// Functions: the defined ones in the order of their ids, then the declared.
    pub functions: PrimaryMap<FunctionNumber, Function>,
    /// Sites, in the order of functions, then of instructions.
    pub sites: PrimaryMap<SiteNumber, Site>,
    /// Where each defined function's sites begin, and one more: where all end.
    pub(crate) first_sites: Vec<SiteNumber>,
}

impl Program {
    /// The functions that have a body, with their bodies.
    pub fn bodies(&self) -> impl Iterator<Item = (FunctionNumber, &Function, &Body)> {
        self.functions
            .iter()
            .map_while(|(number, function)| Some((number, function, function.body.as_ref()?)))
    }

    /// The function with this id.
    #[must_use]
    pub fn function_by_id(&self, id: FunctionId) -> Option<FunctionNumber> {
        let all = self.functions.as_values_slice();
        let defined = &all[..self.first_sites.len() - 1];
        let found = defined.binary_search_by_key(&id, |function| function.id);
        let declared = || all.iter().position(|function| function.id == id);
        Some(FunctionNumber::new(found.ok().or_else(declared)?))
    }

    /// The functions with this linkage name; more than one if they are static.
    pub fn functions_named<'a>(
        &'a self,
        name: &'a str,
    ) -> impl Iterator<Item = FunctionNumber> + 'a {
        self.functions
            .iter()
            .filter(move |(_, function)| &self.texts[function.name] == name)
            .map(|(number, _)| number)
    }

    /// A site by its dense number; `None` if there are not so many.
    #[must_use]
    pub fn site(&self, number: SiteNumber) -> Option<&Site> {
        self.sites.get(number)
    }

    /// The numbers of a function's sites.
    #[must_use]
    pub fn sites_of(&self, function: FunctionNumber) -> std::ops::Range<usize> {
        match self.first_sites.get(function.index() + 1) {
            Some(end) => self.first_sites[function.index()].index()..end.index(),
            None => 0..0,
        }
    }

    /// The site number of an instruction, if it is a site.
    #[must_use]
    pub fn site_at(
        &self,
        function: FunctionNumber,
        instruction: InstructionNumber,
    ) -> Option<SiteNumber> {
        let range = self.sites_of(function);
        let sites = &self.sites.as_values_slice()[range.clone()];
        let found = sites.binary_search_by_key(&instruction, |site| site.instruction);
        Some(SiteNumber::new(range.start + found.ok()?))
    }

    /// The name of a site that stays the same in every build.
    #[must_use]
    pub fn site_id(&self, number: SiteNumber) -> SiteId {
        let function = self.sites[number].function;
        SiteId {
            function: self.functions[function].id,
            index: (number.index() - self.sites_of(function).start) as u32,
        }
    }

    /// The dense number of a site, if this program has it.
    #[must_use]
    pub fn site_number(&self, id: SiteId) -> Option<SiteNumber> {
        let range = self.sites_of(self.function_by_id(id.function)?);
        let number = range.start + id.index as usize;
        range.contains(&number).then(|| SiteNumber::new(number))
    }

    /// The instruction of a site.
    #[must_use]
    pub fn instruction_of(&self, site: &Site) -> &Instruction {
        let body = self.functions[site.function].body.as_ref();
        &body.expect("sites lie in defined functions").instructions[site.instruction]
    }

    /// The type of a value of a function.
    #[must_use]
    pub fn type_of(&self, function: FunctionNumber, value: Value) -> TypeNumber {
        match value.operand() {
            Operand::Constant(constant) => self.constants[constant].of,
            Operand::Argument(argument) => self.parameters(function)[argument.index()],
            Operand::Instruction(instruction) => {
                let body = self.functions[function].body.as_ref();
                body.expect("instructions lie in defined functions")
                    .instructions[instruction]
                    .result
            }
        }
    }

    /// The types of a function's formal arguments.
    #[must_use]
    pub fn parameters(&self, function: FunctionNumber) -> &[TypeNumber] {
        match &self.types[self.functions[function].signature] {
            Type::Function { parameters, .. } => parameters,
            _ => &[],
        }
    }

    /// The language that a function was written in.
    #[must_use]
    pub fn language(&self, function: FunctionNumber) -> Language {
        match self.functions[function].unit.expand() {
            Some(unit) => self.units[unit].language,
            None => Language::of_name(&self.texts[self.functions[function].name]),
        }
    }

    /// The layouts of all types.
    #[must_use]
    pub fn layouts(&self) -> crate::layout::Layouts {
        crate::layout::Layouts::new(&self.layout, &self.types)
    }

    /// How many instructions there are.
    #[must_use]
    pub fn instruction_count(&self) -> usize {
        self.bodies()
            .map(|(_, _, body)| body.instructions.len())
            .sum()
    }
}
