//! What the source says about the object that an access touches: of which type
//! it is, and how far into it the access goes.
//!
//! An address is followed back through element pointers to values of which a
//! variable says what they point to, and through loads to fields of which their
//! structure says so. Several such values may lie on the way (the object, a part
//! of it, a part of that); all are told, the outermost last.

use crate::address::Step;
use crate::constant::{ConstantExpression, ConstantValue};
use crate::external::{self, ArgumentIndex, External};
use crate::function::Body;
use crate::ids::{
    ConstantNumber, FunctionNumber, InstructionNumber, SiteNumber, SourceTypeNumber, TextNumber,
};
use crate::instruction::{Operand, Operation, Value};
use crate::layout::Layouts;
use crate::program::Program;
use crate::source_type::{SourceType, SourceVariable};
use crate::types::Type;
use bohr_event::EventKind;
use cranelift_entity::EntityRef;

/// That an access lies so many bytes into something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Evidence {
    /// Into what; of an array, into its element.
    pub of: SourceTypeNumber,
    /// How far.
    pub offset: u64,
    /// By what one gets there.
    pub from: Origin,
}

/// By what one gets to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// A variable is the object.
    Variable(TextNumber),
    /// A variable points to it.
    Pointer(TextNumber),
    /// A field, so many bytes into a structure, points to it.
    Field(SourceTypeNumber, u64),
}

/// Pointers that are followed to find out what one points to.
const DEEPEST: usize = 4;

/// Ways into a join that are followed.
const SOURCES: usize = 3;

/// Element pointers that are followed.
const LONGEST: usize = 16;

/// An address on the way back from an access.
struct Way {
    value: Value,
    /// Constant bytes between it and the access.
    offset: i64,
    /// Multiples of these many bytes come on top.
    strides: Vec<i64>,
}

impl Program {
    /// What is known about the object that a site accesses. `layouts` are the
    /// program's own.
    #[must_use]
    pub fn evidence(&self, layouts: &Layouts, site: SiteNumber) -> Vec<Evidence> {
        let site = &self.sites[site];
        match address(&self.instruction_of(site).operation) {
            Some(address) => self.evidence_of(layouts, site.function, address, 0),
            None => Vec::new(),
        }
    }

    /// What is known about the argument of a call that an event of this kind is about;
    /// nothing if the call has no such event. Of functions that nothing is known about
    /// it is the first.
    #[must_use]
    pub fn evidence_of_argument(
        &self,
        layouts: &Layouts,
        function: FunctionNumber,
        instruction: InstructionNumber,
        kind: EventKind,
    ) -> Vec<Evidence> {
        let argument = || {
            let body = self.functions[function].body.as_ref()?;
            let call = body.call_at(instruction)?;
            let known = self.outside(call.callee).filter(|it| it.event.is_some());
            let index = known.map_or(Some(ArgumentIndex(0)), |it| it.object_of(kind))?;
            body.arguments(call).get(usize::from(index.0)).copied()
        };
        match argument() {
            Some(argument) => self.evidence_of(layouts, function, argument, 0),
            None => Vec::new(),
        }
    }

    /// What the table says about the function outside that is called.
    fn outside(&self, callee: Value) -> Option<&'static External> {
        match self.constants[callee.constant()?].value {
            ConstantValue::Function(function) => {
                external::find(&self.texts[self.functions[function].name])
            }
            _ => None,
        }
    }

    fn evidence_of(
        &self,
        layouts: &Layouts,
        function: FunctionNumber,
        address: Value,
        depth: usize,
    ) -> Vec<Evidence> {
        let Some(body) = &self.functions[function].body else {
            return Vec::new();
        };
        let mut way = Way {
            value: address,
            offset: 0,
            strides: Vec::new(),
        };
        let mut found = Vec::new();
        for _ in 0..LONGEST {
            found.extend(self.told_by_variables(body, &way));
            let number = match way.value.operand() {
                Operand::Instruction(number) => number,
                // What a global is called itself is known without its type.
                Operand::Constant(number) if depth > 0 => {
                    found.extend(self.told_by_global(number, &way));
                    break;
                }
                Operand::Constant(_) | Operand::Argument(_) => break,
            };
            way.value = match body.instructions[number].operation {
                Operation::ElementPointer {
                    source,
                    base,
                    indices,
                    ..
                } => {
                    let indices = body.values.get(indices);
                    let Some(steps) = self.steps(layouts, source, indices) else {
                        break;
                    };
                    steps.iter().for_each(|step| way.add(*step));
                    base
                }
                Operation::Freeze { operand } => operand,
                Operation::Phi { incoming } if depth < DEEPEST => {
                    let sources = body.incoming.get(incoming).iter().map(|one| one.value);
                    let sources = sources.filter(|value| *value != way.value);
                    for source in sources.take(SOURCES) {
                        let told = self.evidence_of(layouts, function, source, depth + 1);
                        // What holds for the beginning of something that goes on.
                        let same = told.iter().filter(|one| one.offset == 0);
                        found.extend(same.filter_map(|one| {
                            self.within(one.of, way.offset, &way.strides, one.from)
                        }));
                    }
                    break;
                }
                Operation::Load { address, .. } if depth < DEEPEST => {
                    let outer = self.evidence_of(layouts, function, address, depth + 1);
                    let inner = outer.iter().filter_map(|outer| self.behind(outer, &way));
                    found.extend(inner);
                    break;
                }
                _ => break,
            };
        }
        found
    }

    fn told_by_variables<'a>(
        &'a self,
        body: &'a Body,
        way: &'a Way,
    ) -> impl Iterator<Item = Evidence> + 'a {
        let variables = &body.variables;
        let first = variables.partition_point(|known| order(known.value) < order(way.value));
        let own = variables[first..]
            .iter()
            .take_while(|known| known.value == way.value);
        own.filter_map(|known: &SourceVariable| {
            let offset = way.offset - i64::try_from(known.offset).ok()?;
            let from = match known.pointer {
                true => Origin::Pointer(known.name),
                false => Origin::Variable(known.name),
            };
            self.within(known.of, offset, &way.strides, from)
        })
    }

    fn told_by_global(&self, constant: ConstantNumber, way: &Way) -> Option<Evidence> {
        let (global, added) = match self.constants[constant].value {
            ConstantValue::Global(global) => (global, 0),
            ConstantValue::Expression(ConstantExpression::ElementPointer {
                source,
                base,
                ref indices,
                ..
            }) => {
                let ConstantValue::Global(global) = self.constants[base].value else {
                    return None;
                };
                let [bytes] = **indices else {
                    return None;
                };
                let ConstantValue::Integer(bytes) = self.constants[bytes].value else {
                    return None;
                };
                let counts_bytes = self.types[source] == Type::Integer(8);
                (global, counts_bytes.then_some(bytes)?.cast_signed())
            }
            _ => return None,
        };
        let known = &self.global_types;
        let position = known.binary_search_by_key(&global, |known| known.0).ok()?;
        let name = self.globals[global].name;
        let offset = way.offset.wrapping_add(added);
        self.within(
            known[position].1,
            offset,
            &way.strides,
            Origin::Variable(name),
        )
    }

    /// What a pointer in a structure says about what it points to.
    fn behind(&self, outer: &Evidence, way: &Way) -> Option<Evidence> {
        let to = match self.source_types[self.source_leaf(outer.of, outer.offset)?] {
            SourceType::Pointer { to } => to.expand()?,
            _ => return None,
        };
        let from = Origin::Field(outer.of, outer.offset);
        self.within(to, way.offset, &way.strides, from)
    }

    /// The position within one element, if the way leads to one.
    fn within(
        &self,
        of: SourceTypeNumber,
        offset: i64,
        strides: &[i64],
        from: Origin,
    ) -> Option<Evidence> {
        let fits = |size: u64| {
            strides
                .iter()
                .all(|stride| stride.unsigned_abs() % size == 0)
        };
        let size = self.source_size(of);
        let offset = match strides.is_empty() {
            // What lies outside is something else, computed from here.
            true => u64::try_from(offset).ok().filter(|offset| *offset < size)?,
            false => offset.rem_euclid(i64::try_from(size).ok().filter(|size| *size > 0)?) as u64,
        };
        let parts = std::iter::successors(Some((of, offset)), |(of, offset)| {
            self.source_part(*of, *offset)
        });
        // An index that jumps out of the whole counts elements of an array in it.
        let mut parts = parts.take(self.source_types.len());
        let (of, offset) = parts.find(|(of, _)| {
            let size = self.source_size(*of);
            size > 0 && fits(size)
        })?;
        Some(Evidence { of, offset, from })
    }

    /// The type of the innermost part at an offset.
    #[must_use]
    pub fn source_leaf(&self, of: SourceTypeNumber, offset: u64) -> Option<SourceTypeNumber> {
        let parts = std::iter::successors(Some((of, offset)), |(of, offset)| {
            self.source_part(*of, *offset)
        });
        // Damaged debug information may say that a type is a part of itself.
        let last = parts.take(self.source_types.len()).last();
        last.map(|(of, _)| of)
    }

    /// The part of a type that an offset lies in, and how far into that.
    #[must_use]
    pub fn source_part(
        &self,
        of: SourceTypeNumber,
        offset: u64,
    ) -> Option<(SourceTypeNumber, u64)> {
        match &self.source_types[of] {
            SourceType::Structure { .. } => {
                let field = self.source_field(of, offset)?;
                Some((field.of, offset - field.offset))
            }
            SourceType::Array { element, .. } => {
                let size = self.source_size(*element);
                Some((*element, offset.checked_rem(size)?))
            }
            SourceType::Plain { .. } | SourceType::Pointer { .. } => None,
        }
    }
}

impl Way {
    fn add(&mut self, step: Step) {
        match step {
            Step::Constant(bytes) => self.offset = self.offset.wrapping_add(bytes),
            Step::Scaled(_, bytes) => self.strides.push(bytes),
        }
    }
}

/// The order in which a body keeps its variables.
pub(crate) fn order(value: Value) -> (u8, usize) {
    match value.operand() {
        Operand::Instruction(number) => (0, number.index()),
        Operand::Argument(number) => (1, number.index()),
        Operand::Constant(number) => (2, number.index()),
    }
}

/// What an operation accesses.
fn address(operation: &Operation) -> Option<Value> {
    match operation {
        Operation::Load { address, .. }
        | Operation::Store { address, .. }
        | Operation::Update { address, .. }
        | Operation::CompareExchange { address, .. } => Some(*address),
        _ => None,
    }
}
