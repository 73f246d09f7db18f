//! A branch that goes by what one load read.

use super::predicate::{Predicates, given};
use crate::address::Step;
use crate::constant::{ConstantExpression, ConstantValue};
use crate::function::Body;
use crate::ids::{BlockNumber, FunctionNumber, InstructionNumber, SiteNumber, TypeNumber};
use crate::instruction::{Operand, Operation, Value};
use crate::interpret::arithmetic::{self, Number};
use crate::program::Program;
use crate::types::Type;

/// How deep a condition may be computed.
const DEEPEST: u32 = 16;

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AwaitTest {
    /// The load.
    pub site: SiteNumber,
    /// Bytes that it reads.
    pub size: u32,
    /// Where that is.
    pub(super) function: FunctionNumber,
    /// Whose branch goes by it.
    asked: FunctionNumber,
    /// Where it reads: so many bytes from what this points to.
    pub(super) base: Value,
    offset: i64,
    /// What the branch goes by; none of a pointer to a variable, by which nobody goes.
    condition: Option<Value>,
    /// What the condition is where the thread stays, if it stays at all.
    stays: [bool; 2],
}

/// The function whose tests are looked for.
pub(super) struct At<'a> {
    pub program: &'a Program,
    pub predicates: &'a Predicates,
    pub function: FunctionNumber,
}

impl At<'_> {
    /// The test at the end of a block, of which `stays` tells which ways lead out.
    /// `None` if it is not understood.
    pub fn test(
        &self,
        block: BlockNumber,
        stays: &dyn Fn(BlockNumber) -> bool,
    ) -> Option<AwaitTest> {
        let program = self.program;
        let body = program.functions[self.function].body.as_ref()?;
        let Operation::ConditionalBranch {
            condition,
            then,
            otherwise,
        } = body.terminator(block).operation
        else {
            return None;
        };
        let [(function, load)] = self.loads(self.function, condition, DEEPEST)?[..] else {
            return None;
        };
        let body = program.functions[function].body.as_ref()?;
        let site = program.site_at(function, load)?;
        let bits = number(program, body.instructions[load].result)?.bits();
        let Operation::Load { address, .. } = body.instructions[load].operation else {
            return None;
        };
        let (base, offset) = base(program, body, address);
        let test = AwaitTest {
            site,
            size: bits.div_ceil(8),
            function,
            asked: self.function,
            base,
            offset,
            condition: Some(condition),
            stays: [stays(otherwise), stays(then)],
        };
        (bits <= u64::BITS).then_some(test)
    }

    /// The loads that a value is computed from; `None` if it is computed of more than loads
    /// and constants.
    fn loads(
        &self,
        function: FunctionNumber,
        value: Value,
        depth: u32,
    ) -> Option<Vec<(FunctionNumber, InstructionNumber)>> {
        let depth = depth.checked_sub(1)?;
        let body = self.program.functions[function].body.as_ref()?;
        let operands = match value.operand() {
            Operand::Constant(_) => return Some(Vec::new()),
            Operand::Argument(_) => return None,
            Operand::Instruction(number) => match body.instructions[number].operation {
                Operation::Load { .. } => return Some(vec![(function, number)]),
                Operation::Binary { left, right, .. }
                | Operation::CompareIntegers { left, right, .. } => vec![left, right],
                Operation::Cast { operand, .. } | Operation::Freeze { operand } => vec![operand],
                Operation::Call { .. } | Operation::Invoke { .. } => {
                    let (asked, value) = given(self.program, body, number)?;
                    self.predicates.asked_by(asked)?;
                    return self.loads(asked, value, depth);
                }
                _ => return None,
            },
        };
        let mut found = Vec::new();
        for operand in operands {
            found.extend(self.loads(function, operand, depth)?);
        }
        found.sort_unstable();
        found.dedup();
        Some(found)
    }
}

impl AwaitTest {
    /// The load of a pointer by which tests come to their variables: whoever exchanges it
    /// may let a thread go on that finds another variable behind it.
    pub(super) fn of_pointer(program: &Program, site: SiteNumber) -> Option<AwaitTest> {
        let function = program.sites[site].function;
        let body = program.functions[function].body.as_ref()?;
        let load = program.sites[site].instruction;
        let Operation::Load { address, .. } = body.instructions[load].operation else {
            return None;
        };
        let (base, offset) = base(program, body, address);
        let size = number(program, body.instructions[load].result)?.bits() / 8;
        Some(AwaitTest {
            site,
            size,
            function,
            asked: function,
            base,
            offset,
            condition: None,
            stays: [true; 2],
        })
    }

    /// Whether it is about a pointer to the variable of another test.
    #[must_use]
    pub fn is_pointer(&self) -> bool {
        self.condition.is_none()
    }

    /// Where another test of the same loop reads, when this one reads there, if what
    /// both go by tells.
    #[must_use]
    pub fn beside(&self, address: u64, other: &AwaitTest) -> Option<u64> {
        let alike = self.function == other.function && self.base == other.base;
        alike.then(|| address.wrapping_add_signed(other.offset - self.offset))
    }

    /// Whether another test of the same visit reads the same variable.
    pub(super) fn reads_the_same(&self, other: &AwaitTest) -> bool {
        self.beside(0, other) == Some(0) && self.size == other.size
    }

    /// Whether a thread that reads this goes on. `None` if that cannot be computed.
    #[must_use]
    pub fn opens(&self, program: &Program, read: u64) -> Option<bool> {
        let evaluation = Evaluation {
            program,
            read: read.into(),
        };
        let holds = evaluation.value(self.asked, self.condition?)? & 1 == 1;
        Some(!self.stays[usize::from(holds)])
    }
}

/// What an address points into, and how far.
pub(super) fn base(program: &Program, body: &Body, address: Value) -> (Value, i64) {
    let layouts = program.layouts();
    let (mut base_of, mut offset) = (address, 0i64);
    while let Some((source, base, indices)) = element(program, body, base_of) {
        let steps = program.steps(&layouts, source, &indices);
        let bytes = steps.and_then(|steps| {
            let bytes = |step: &Step| match step {
                Step::Constant(bytes) => Some(*bytes),
                Step::Scaled(..) => None,
            };
            steps.iter().map(bytes).sum::<Option<i64>>()
        });
        let Some(sum) = bytes.and_then(|bytes| offset.checked_add(bytes)) else {
            break;
        };
        (base_of, offset) = (base, sum);
    }
    (base_of, offset)
}

/// The source, the base and the indices of an element pointer.
fn element(
    program: &Program,
    body: &Body,
    value: Value,
) -> Option<(TypeNumber, Value, Vec<Value>)> {
    match value.operand() {
        Operand::Instruction(number) => match body.instructions[number].operation {
            Operation::ElementPointer {
                source,
                base,
                indices,
                ..
            } => Some((source, base, body.values.get(indices).to_vec())),
            _ => None,
        },
        Operand::Constant(number) => match &program.constants[number].value {
            ConstantValue::Expression(ConstantExpression::ElementPointer {
                source,
                base,
                indices,
                ..
            }) => {
                let indices = indices.iter().map(|index| Value::from(*index));
                Some((*source, Value::from(*base), indices.collect()))
            }
            _ => None,
        },
        Operand::Argument(_) => None,
    }
}

/// What the bits of a scalar mean.
fn number(program: &Program, of: TypeNumber) -> Option<Number> {
    match &program.types[of] {
        Type::Integer(bits) => Some(Number::Integer(*bits)),
        Type::Pointer(_) => Some(Number::Integer(u64::BITS)),
        _ => None,
    }
}

/// Conditions after a load that read this.
struct Evaluation<'a> {
    program: &'a Program,
    read: u128,
}

impl Evaluation<'_> {
    /// What a value of a function is.
    fn value(&self, function: FunctionNumber, value: Value) -> Option<u128> {
        let number = |value| number(self.program, self.program.type_of(function, value));
        let of = number(value)?;
        let body = self.program.functions[function].body.as_ref()?;
        let (position, instruction) = match value.operand() {
            Operand::Constant(constant) => {
                return match self.program.constants[constant].value {
                    ConstantValue::Integer(value) => Some(value.into()),
                    ConstantValue::Null => Some(0),
                    _ => None,
                };
            }
            Operand::Argument(_) => return None,
            Operand::Instruction(position) => (position, &body.instructions[position]),
        };
        let value = |value| self.value(function, value);
        match instruction.operation {
            Operation::Load { .. } => Some(match of.bits() {
                bits @ ..u128::BITS => self.read & ((1 << bits) - 1),
                _ => self.read,
            }),
            Operation::Freeze { operand } => value(operand),
            Operation::Binary {
                operator,
                left,
                right,
                ..
            } => arithmetic::binary(operator, of, value(left)?, value(right)?).ok(),
            Operation::CompareIntegers {
                predicate,
                left,
                right,
                ..
            } => {
                let bits = number(left)?.bits();
                let holds =
                    arithmetic::compare_integers(predicate, bits, value(left)?, value(right)?);
                Some(holds.into())
            }
            Operation::Cast {
                operator, operand, ..
            } => arithmetic::cast(operator, number(operand)?, of, value(operand)?).ok(),
            Operation::Call { .. } | Operation::Invoke { .. } => {
                let (asked, given) = given(self.program, body, position)?;
                self.value(asked, given)
            }
            _ => None,
        }
    }
}
