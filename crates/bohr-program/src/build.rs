//! Putting a program together: equal texts, types, constants and places get
//! one number each.

use crate::attribute::Attributes;
use crate::constant::{Assembly, Constant, ConstantValue};
use crate::evidence::order;
use crate::function::{Body, Function};
use crate::ids::*;
use crate::instruction::{Instruction, Operation, Value};
use crate::layout::DataLayout;
use crate::location::{Location, Scope, SourceFile};
use crate::program::{Program, Site};
use crate::source_type::SourceVariable;
use crate::text::Texts;
use crate::types::Type;
use bohr_event::FunctionId;
use bohr_event::abi::SiteInfo;
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntityRef, PrimaryMap};
use std::collections::HashMap;
use std::hash::Hash;

/// Gives equal things the same number.
#[derive(Debug)]
struct Numbers<T, N>(HashMap<T, N>);

impl<T: Eq + Hash + Clone, N: EntityRef + Copy> Numbers<T, N> {
    fn new() -> Numbers<T, N> {
        Numbers(HashMap::new())
    }

    fn of(&mut self, thing: T, all: &mut PrimaryMap<N, T>) -> N {
        *self
            .0
            .entry(thing)
            .or_insert_with_key(|thing| all.push(thing.clone()))
    }
}

/// A program in the making.
///
/// ```
/// use bohr_program::{BodyBuilder, Operation, ProgramBuilder, Type};
///
/// let mut builder = ProgramBuilder::new("e-i64:64");
/// let void = builder.type_of(Type::Void);
/// let signature = builder.type_of(Type::Function {
///     result: void,
///     parameters: Box::default(),
///     variadic: false,
/// });
/// let mut body = BodyBuilder::default();
/// body.block();
/// body.push(Operation::Return { value: None.into() }, void);
/// builder.define("nothing", signature, body.finish());
/// let program = builder.finish();
/// assert_eq!(program.instruction_count(), 1);
/// ```
#[derive(Debug)]
pub struct ProgramBuilder {
    program: Program,
    texts: HashMap<Box<str>, TextNumber>,
    types: Numbers<Type, TypeNumber>,
    constants: Numbers<Constant, ConstantNumber>,
    assembly: Numbers<Assembly, AssemblyNumber>,
    attributes: Numbers<Attributes, AttributesNumber>,
    files: Numbers<SourceFile, FileNumber>,
    scopes: Numbers<Scope, ScopeNumber>,
    locations: Numbers<Location, LocationNumber>,
}

impl ProgramBuilder {
    /// An empty program.
    ///
    /// # Panics
    /// If the data layout is not one; parse it first where it comes from outside.
    #[must_use]
    pub fn new(layout: &str) -> ProgramBuilder {
        let layout = layout.parse().expect("a data layout");
        ProgramBuilder::with_layout(layout)
    }

    /// An empty program.
    #[must_use]
    pub fn with_layout(layout: DataLayout) -> ProgramBuilder {
        let program = Program {
            identity: [0; 32],
            library: false,
            foreign_code: false,
            layout,
            target: TextNumber::new(0),
            texts: Texts::default(),
            types: PrimaryMap::new(),
            constants: PrimaryMap::new(),
            assembly: PrimaryMap::new(),
            module_assembly: Vec::new(),
            attributes: PrimaryMap::new(),
            files: PrimaryMap::new(),
            scopes: PrimaryMap::new(),
            locations: PrimaryMap::new(),
            source_types: PrimaryMap::new(),
            global_types: Vec::new(),
            units: PrimaryMap::new(),
            globals: PrimaryMap::new(),
            aliases: PrimaryMap::new(),
            functions: PrimaryMap::new(),
            sites: PrimaryMap::new(),
            first_sites: Vec::new(),
        };
        let mut builder = ProgramBuilder {
            program,
            texts: HashMap::new(),
            types: Numbers::new(),
            constants: Numbers::new(),
            assembly: Numbers::new(),
            attributes: Numbers::new(),
            files: Numbers::new(),
            scopes: Numbers::new(),
            locations: Numbers::new(),
        };
        builder.text("");
        builder
    }

    /// What is there so far; units, globals, aliases and functions are added here.
    pub fn program(&mut self) -> &mut Program {
        &mut self.program
    }

    /// The number of a text.
    pub fn text(&mut self, text: &str) -> TextNumber {
        if let Some(number) = self.texts.get(text) {
            return *number;
        }
        let number = self.program.texts.push(text);
        self.texts.insert(text.into(), number);
        number
    }

    /// The number of a type.
    pub fn type_of(&mut self, of: Type) -> TypeNumber {
        self.types.of(of, &mut self.program.types)
    }

    /// The number of a constant.
    pub fn constant(&mut self, of: TypeNumber, value: ConstantValue) -> ConstantNumber {
        self.constants
            .of(Constant { of, value }, &mut self.program.constants)
    }

    /// The number of a piece of inline assembly.
    pub fn assembly(&mut self, assembly: Assembly) -> AssemblyNumber {
        self.assembly.of(assembly, &mut self.program.assembly)
    }

    /// The number of attributes.
    pub fn attributes(&mut self, attributes: Attributes) -> AttributesNumber {
        self.attributes.of(attributes, &mut self.program.attributes)
    }

    /// The number of a source file.
    pub fn file(&mut self, file: SourceFile) -> FileNumber {
        self.files.of(file, &mut self.program.files)
    }

    /// The number of a function of the source.
    pub fn scope(&mut self, scope: Scope) -> ScopeNumber {
        self.scopes.of(scope, &mut self.program.scopes)
    }

    /// The number of a place.
    pub fn location(&mut self, location: Location) -> LocationNumber {
        self.locations.of(location, &mut self.program.locations)
    }

    /// Adds a function of this name, with an id that follows the ones before.
    /// For programs made by hand; a lowering knows more and pushes its own.
    pub fn define(&mut self, name: &str, signature: TypeNumber, body: Body) -> FunctionNumber {
        self.add(name, signature, Some(body))
    }

    /// Adds the declaration of a function. All declarations follow all definitions.
    pub fn declare(&mut self, name: &str, signature: TypeNumber) -> FunctionNumber {
        self.add(name, signature, None)
    }

    fn add(&mut self, name: &str, signature: TypeNumber, body: Option<Body>) -> FunctionNumber {
        let name = self.text(name);
        let attributes = self.attributes(Attributes::default());
        let id = FunctionId(self.program.functions.len() as u64 + 1);
        self.program.functions.push(Function {
            id,
            name,
            symbol: name,
            signature,
            attributes,
            personality: None.into(),
            unit: None.into(),
            file: None.into(),
            line: 0,
            address_taken: false,
            exported: true,
            body,
        })
    }

    /// Adds a site. Sites are added in the order of functions and instructions.
    pub fn site(
        &mut self,
        function: FunctionNumber,
        instruction: InstructionNumber,
        info: SiteInfo,
    ) {
        self.program.sites.push(Site {
            function,
            instruction,
            packed: info.0,
        });
    }

    /// The program: functions checked to be in order, uses of addresses noted.
    ///
    /// # Panics
    /// If functions or sites are not in order, or a number leads nowhere: a
    /// mistake of the caller, told with the place.
    #[must_use]
    pub fn finish(self) -> Program {
        let mut program = self.program;
        program.first_sites = first_sites(&program);
        if let Err(problem) = program.check() {
            panic!("the program is not well-formed: {problem}");
        }
        program.note_taken_addresses();
        for function in program.functions.values_mut() {
            function.body.iter_mut().for_each(Body::shrink);
        }
        program
    }
}

/// Where each defined function's sites begin, and where all end.
pub(crate) fn first_sites(program: &Program) -> Vec<SiteNumber> {
    let defined = program.bodies().count();
    let sites = program.sites.as_values_slice();
    let first = |function: usize| sites.partition_point(|site| site.function.index() < function);
    (0..=defined)
        .map(|function| SiteNumber::new(first(function)))
        .collect()
}

/// A body in the making, block after block.
#[derive(Debug, Default)]
pub struct BodyBuilder {
    body: Body,
    location: PackedOption<LocationNumber>,
}

impl BodyBuilder {
    /// Begins the next block.
    pub fn block(&mut self) -> BlockNumber {
        let first = self.body.instructions.next_key();
        self.body.blocks.push(crate::function::Block { first })
    }

    /// The place of the instructions that follow.
    pub fn at(&mut self, location: Option<LocationNumber>) {
        self.location = location.into();
    }

    /// Adds an instruction to the current block.
    pub fn push(&mut self, operation: Operation, result: TypeNumber) -> Value {
        assert!(!self.body.blocks.is_empty(), "a block before instructions");
        let number = self.body.instructions.push(Instruction {
            operation,
            result,
            location: self.location,
        });
        number.into()
    }

    /// Notes what variables say about addresses.
    pub fn variables(&mut self, mut variables: Vec<SourceVariable>) {
        let key = |known: &SourceVariable| (order(known.value), known.offset, known.name);
        variables.sort_by_key(key);
        variables.dedup();
        self.body.variables = variables;
    }

    /// The pools that lists go to, and what is there so far.
    pub fn body(&mut self) -> &mut Body {
        &mut self.body
    }

    /// The body.
    #[must_use]
    pub fn finish(self) -> Body {
        self.body
    }
}
