//! What the source says about the object that an access touches: of which type
//! it is, and how far into it the access goes.
//!
//! An address is followed back through element pointers to values of which a
//! variable says what they point to, and through loads to fields of which their
//! structure says so. Where a function was called for it (an accessor, a smart
//! pointer), the way goes through what that returns, and by its arguments back to
//! the caller. Several such values may lie on the way (the object, a part of it, a
//! part of that); all are told, the outermost last.

use crate::address::Step;
use crate::constant::{ConstantExpression, ConstantValue};
use crate::external::{self, ArgumentIndex, External};
use crate::function::Body;
use crate::ids::{
    ConstantNumber, FunctionNumber, InstructionNumber, SiteNumber, SourceTypeNumber, TextNumber,
};
use crate::instruction::{Operand, Operation, Value};
use crate::layout::Layouts;
use crate::program::{Program, Site};
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
    /// A variable points to the first of several, of which it is one; the how manieth,
    /// if that does not change.
    Element(TextNumber, Option<u64>),
    /// A variable of a function that was called for it.
    Called,
}

/// Pointers that are followed to find out what one points to.
const DEEPEST: usize = 4;

/// Ways into a join that are followed.
const SOURCES: usize = 3;

/// Element pointers that are followed.
const LONGEST: usize = 16;

/// What functions are called that fill or copy memory; what follows tells the types.
const MEMORY: [&str; 3] = ["memset", "memcpy", "memmove"];

/// Calls that are followed. Smart pointers go through that many, without optimisation.
const CALLS: usize = 8;

/// A function that the way goes through.
struct Frame<'a> {
    body: &'a Body,
    /// Who called it for an address, and with what; nobody called the function of the
    /// access, as far as is known.
    caller: Option<(&'a Frame<'a>, &'a [Value])>,
    /// How many callers there are.
    calls: usize,
}

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
        let operation = &self.instruction_of(site).operation;
        match address(operation).or_else(|| self.address_of_call(site)) {
            Some(address) => self.evidence_in(layouts, site.function, address),
            None => Vec::new(),
        }
    }

    /// What a call accesses that fills or copies memory: it writes to its first
    /// argument, and reads from its second.
    fn address_of_call(&self, site: &Site) -> Option<Value> {
        let body = self.functions[site.function].body.as_ref()?;
        let call = body.call_at(site.instruction)?;
        let ConstantValue::Function(callee) = self.constants[call.callee.constant()?].value else {
            return None;
        };
        let name = &self.texts[self.functions[callee].name];
        let name = name.strip_prefix("llvm.").unwrap_or(name);
        if !MEMORY.iter().any(|known| name.starts_with(known)) {
            return None;
        }
        let position = usize::from(site.kind() == EventKind::Read);
        body.arguments(call).get(position).copied()
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
            Some(argument) => self.evidence_in(layouts, function, argument),
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

    fn evidence_in(
        &self,
        layouts: &Layouts,
        function: FunctionNumber,
        address: Value,
    ) -> Vec<Evidence> {
        let Some(body) = &self.functions[function].body else {
            return Vec::new();
        };
        let frame = Frame {
            body,
            caller: None,
            calls: 0,
        };
        self.evidence_of(layouts, &frame, Way::to(address), 0)
    }

    fn evidence_of(
        &self,
        layouts: &Layouts,
        frame: &Frame<'_>,
        mut way: Way,
        depth: usize,
    ) -> Vec<Evidence> {
        let body = frame.body;
        let mut found = Vec::new();
        for _ in 0..LONGEST {
            found.extend(self.told_by_variables(frame, &way));
            found.extend(self.told_by_copy(frame, &way));
            let number = match way.value.operand() {
                Operand::Instruction(number) => number,
                // What a global is called itself is known without its type.
                Operand::Constant(number) if depth > 0 => {
                    found.extend(self.told_by_global(number, &way));
                    break;
                }
                Operand::Constant(_) => break,
                Operand::Argument(number) => {
                    if let Some((caller, arguments)) = frame.caller
                        && let Some(argument) = arguments.get(number.index())
                    {
                        way.value = *argument;
                        found.extend(self.evidence_of(layouts, caller, way, depth));
                    }
                    break;
                }
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
                        let told = self.evidence_of(layouts, frame, Way::to(source), depth + 1);
                        // What holds for the beginning of something that goes on.
                        let same = told.iter().filter(|one| one.offset == 0);
                        found.extend(same.filter_map(|one| {
                            self.within(one.of, way.offset, &way.strides, one.from)
                        }));
                    }
                    break;
                }
                Operation::Load { address, .. } => {
                    // Without optimisation, arguments lie in variables of their own.
                    let argument = frame.caller.and_then(|_| stored_once(body, address));
                    if let Some(argument) = argument {
                        argument
                    } else {
                        if depth < DEEPEST {
                            let outer =
                                self.evidence_of(layouts, frame, Way::to(address), depth + 1);
                            found.extend(outer.iter().filter_map(|one| self.behind(one, &way)));
                        }
                        break;
                    }
                }
                Operation::Call { .. } | Operation::Invoke { .. } if frame.calls < CALLS => {
                    if let Some((body, arguments, returned)) = self.returned(frame.body, number) {
                        let frame = Frame {
                            body,
                            caller: Some((frame, arguments)),
                            calls: frame.calls + 1,
                        };
                        way.value = returned;
                        found.extend(self.evidence_of(layouts, &frame, way, depth));
                    }
                    break;
                }
                _ => break,
            };
        }
        found
    }

    /// What a call returns, in the function that it calls, if that always returns the
    /// same; and what it was called with.
    fn returned<'a>(
        &'a self,
        body: &'a Body,
        call: InstructionNumber,
    ) -> Option<(&'a Body, &'a [Value], Value)> {
        let call = body.call_at(call)?;
        let ConstantValue::Function(callee) = self.constants[call.callee.constant()?].value else {
            return None;
        };
        let callee = self.functions[callee].body.as_ref()?;
        let ends = callee.blocks.keys().map(|block| callee.terminator(block));
        let mut returned = ends.filter_map(|end| match end.operation {
            Operation::Return { value } => Some(value.expand()),
            _ => None,
        });
        let value = returned.next()??;
        let alone = returned.next().is_none();
        alone.then_some((callee, body.arguments(call), value))
    }

    fn told_by_variables<'a>(
        &'a self,
        frame: &'a Frame<'_>,
        way: &'a Way,
    ) -> impl Iterator<Item = Evidence> + 'a {
        let variables = &frame.body.variables;
        let first = variables.partition_point(|known| order(known.value) < order(way.value));
        let own = variables[first..]
            .iter()
            .take_while(|known| known.value == way.value);
        own.filter_map(|known: &SourceVariable| {
            let offset = way.offset - i64::try_from(known.offset).ok()?;
            let from = match known.pointer {
                // What it is called there says nothing to those who called it.
                _ if frame.caller.is_some() => Origin::Called,
                true => return self.pointed_to(known.of, offset, &way.strides, known.name),
                false => Origin::Variable(known.name),
            };
            self.within(known.of, offset, &way.strides, from)
        })
    }

    /// What a variable on the stack says that an address was put into: without
    /// optimisation, the arguments of a function are.
    fn told_by_copy(&self, frame: &Frame<'_>, way: &Way) -> Option<Evidence> {
        let copy = copy_of(frame.body, way.value)?;
        let slot = self.told_by_variables(frame, &Way::to(copy)).next()?;
        // The first part of it, if it is a pointer with a length.
        let first = self.source_leaf(slot.of, slot.offset)?;
        let SourceType::Pointer { to, .. } = self.source_types[first] else {
            return None;
        };
        let from = match slot.from {
            Origin::Variable(name) => Origin::Pointer(name),
            from => from,
        };
        self.within(to.expand()?, way.offset, &way.strides, from)
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

    /// What a pointer says about what it points to.
    fn behind(&self, outer: &Evidence, way: &Way) -> Option<Evidence> {
        let to = match self.source_types[self.source_leaf(outer.of, outer.offset)?] {
            SourceType::Pointer { to, .. } => to.expand()?,
            _ => return None,
        };
        let name = match (outer.from, &self.source_types[outer.of]) {
            (Origin::Variable(name), SourceType::Pointer { .. }) => name,
            _ => {
                let from = Origin::Field(outer.of, outer.offset);
                return self.within(to, way.offset, &way.strides, from);
            }
        };
        self.pointed_to(to, way.offset, &way.strides, name)
    }

    /// What a variable says that points to the first of perhaps several.
    fn pointed_to(
        &self,
        to: SourceTypeNumber,
        offset: i64,
        strides: &[i64],
        name: TextNumber,
    ) -> Option<Evidence> {
        if !strides.is_empty() {
            return self.within(to, offset, strides, Origin::Element(name, None));
        }
        let size = i64::try_from(self.source_size(to)).ok()?;
        // What lies behind a structure may be more of what it is the beginning of.
        let is_plain = matches!(self.source_types[to], SourceType::Plain { .. });
        let (index, offset) = match is_plain && size > 0 && offset >= 0 {
            true => (offset / size, offset % size),
            false => (0, offset),
        };
        let from = match u64::try_from(index) {
            Ok(index) if index > 0 => Origin::Element(name, Some(index)),
            _ => Origin::Pointer(name),
        };
        self.within(to, offset, &[], from)
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
    fn to(value: Value) -> Way {
        Way {
            value,
            offset: 0,
            strides: Vec::new(),
        }
    }

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

/// What a variable on the stack holds, if it is stored to once.
pub(crate) fn stored_once(body: &Body, slot: Value) -> Option<Value> {
    let instructions = body.instructions.values();
    let mut stored = instructions.filter_map(|one| match one.operation {
        Operation::Store { address, value, .. } if address == slot => Some(value),
        _ => None,
    });
    let first = stored.next().filter(|_| is_slot(body, slot))?;
    stored.next().is_none().then_some(first)
}

/// The variable on the stack that an address is put into, if there is one that holds
/// nothing else.
fn copy_of(body: &Body, copied: Value) -> Option<Value> {
    let mut stores = body.instructions.values().map(|one| one.operation);
    stores.find_map(|operation| match operation {
        Operation::Store { address, value, .. }
            if value == copied && stored_once(body, address).is_some() =>
        {
            Some(address)
        }
        _ => None,
    })
}

pub(crate) fn is_slot(body: &Body, value: Value) -> bool {
    let Operand::Instruction(number) = value.operand() else {
        return false;
    };
    let operation = &body.instructions[number].operation;
    matches!(operation, Operation::StackSlot { .. })
}

/// What an operation accesses.
pub(crate) fn address(operation: &Operation) -> Option<Value> {
    match operation {
        Operation::Load { address, .. }
        | Operation::Store { address, .. }
        | Operation::Update { address, .. }
        | Operation::CompareExchange { address, .. } => Some(*address),
        _ => None,
    }
}
