//! Instructions as text.

use super::{Shown, commas};
use crate::function::Body;
use crate::ids::CallNumber;
use crate::instruction::{Clause, Instruction, Operation, Value};
use crate::operator::{Access, OperationFlags};
use bohr_event::MemoryOrder;
use std::fmt::{self, Display, Formatter};

/// Flags by their names, after the operator.
fn flags(flags: OperationFlags) -> String {
    let names = flags.iter_names();
    names
        .map(|(name, _)| format!(" {}", name.to_lowercase()))
        .collect()
}

fn accessed(access: Access) -> String {
    let volatile = if access.volatile { " volatile" } else { "" };
    let single = if access.single_thread {
        " single-thread"
    } else {
        ""
    };
    match access.order {
        MemoryOrder::Plain => format!("{volatile}{single}"),
        order => format!("{volatile}{single} {}", format!("{order:?}").to_lowercase()),
    }
}

impl Shown<'_, (&Body, &Instruction)> {
    /// Values with commas between them.
    fn all(&self, values: &[Value]) -> String {
        let shown = values.iter().map(|value| self.program.show_value(*value));
        shown
            .map(|value| value.to_string())
            .collect::<Vec<_>>()
            .join(", ")
    }

    fn call(&self, out: &mut Formatter<'_>, word: &str, call: CallNumber) -> fmt::Result {
        let (body, instruction) = self.what;
        let call = &body.calls[call];
        let result = self.program.show_type(instruction.result);
        write!(
            out,
            "{word} {result} {}(",
            self.program.show_value(call.callee)
        )?;
        write!(out, "{})", self.all(body.arguments(call)))
    }

    fn terminator(&self, out: &mut Formatter<'_>) -> fmt::Result {
        use Operation::*;
        let (body, instruction) = self.what;
        let show = |value: Value| self.program.show_value(value);
        match instruction.operation {
            Return { value } => match value.expand() {
                Some(value) => write!(out, "ret {}", show(value)),
                None => out.write_str("ret"),
            },
            Branch { target } => write!(out, "br {target}"),
            ConditionalBranch {
                condition,
                then,
                otherwise,
            } => {
                write!(out, "br {}, {then}, {otherwise}", show(condition))
            }
            Switch {
                value,
                default,
                cases,
            } => {
                write!(out, "switch {}, {default} [", show(value))?;
                let cases = body.cases.get(cases).iter();
                let shown = cases.map(|case| {
                    format!(
                        "{}: {}",
                        self.program.show_constant(case.value),
                        case.target
                    )
                });
                commas(out, shown)?;
                out.write_str("]")
            }
            IndirectBranch { address, targets } => {
                write!(out, "indirectbr {} [", show(address))?;
                commas(out, body.targets.get(targets))?;
                out.write_str("]")
            }
            Invoke {
                call,
                normal,
                unwind,
            } => {
                self.call(out, "invoke", call)?;
                write!(out, " to {normal} unwind {unwind}")
            }
            CallBranch {
                call,
                fallthrough,
                targets,
            } => {
                self.call(out, "callbr", call)?;
                write!(out, " to {fallthrough} [")?;
                commas(out, body.targets.get(targets))?;
                out.write_str("]")
            }
            Resume { value } => write!(out, "resume {}", show(value)),
            OpaqueTerminator { what, targets } => {
                write!(out, "<{}> [", &self.program.texts[what])?;
                commas(out, body.targets.get(targets))?;
                out.write_str("]")
            }
            _ => out.write_str("unreachable"),
        }
    }

    fn memory(&self, out: &mut Formatter<'_>) -> fmt::Result {
        use Operation::*;
        let (body, instruction) = self.what;
        let show = |value: Value| self.program.show_value(value);
        let result = self.program.show_type(instruction.result);
        match instruction.operation {
            StackSlot {
                allocated,
                count,
                alignment,
            } => {
                let of = self.program.show_type(allocated);
                write!(out, "alloca {of}, {}, align {alignment:?}", show(count))
            }
            Load { address, access } => {
                write!(out, "load{} {result}, {}", accessed(access), show(address))
            }
            Store {
                address,
                value,
                access,
            } => {
                let operands = self.all(&[value, address]);
                write!(out, "store{} {operands}", accessed(access))
            }
            Update {
                operator,
                address,
                value,
                access,
            } => {
                let operands = self.all(&[address, value]);
                write!(out, "update{} {operator} {operands}", accessed(access))
            }
            CompareExchange {
                address,
                expected,
                desired,
                access,
                failure,
                weak,
            } => {
                let weak = if weak { " weak" } else { "" };
                let order = accessed(access);
                let failure = format!("{failure:?}").to_lowercase();
                let operands = self.all(&[address, expected, desired]);
                write!(out, "cmpxchg{weak}{order} {failure} {operands}")
            }
            Fence { access } => write!(out, "fence{}", accessed(access)),
            ElementPointer {
                source,
                base,
                indices,
                flags: set,
            } => {
                let source = self.program.show_type(source);
                let indices = self.all(body.values.get(indices));
                let (set, base) = (flags(set), show(base));
                write!(out, "getelementptr{set} {source}, {base}, {indices}")
            }
            VariableArgument { list } => write!(out, "va_arg {result}, {}", show(list)),
            _ => Ok(()),
        }
    }

    fn part(&self, out: &mut Formatter<'_>) -> fmt::Result {
        use Operation::*;
        let (body, instruction) = self.what;
        let show = |value: Value| self.program.show_value(value);
        match instruction.operation {
            ExtractValue { aggregate, path } => {
                write!(out, "extractvalue {}, ", show(aggregate))?;
                commas(out, body.paths.get(path))
            }
            InsertValue {
                aggregate,
                value,
                path,
            } => {
                write!(out, "insertvalue {}, ", self.all(&[aggregate, value]))?;
                commas(out, body.paths.get(path))
            }
            ExtractElement { vector, index } => {
                write!(out, "extractelement {}", self.all(&[vector, index]))
            }
            InsertElement {
                vector,
                value,
                index,
            } => {
                write!(out, "insertelement {}", self.all(&[vector, value, index]))
            }
            Shuffle { left, right, mask } => {
                write!(out, "shufflevector {}, <", self.all(&[left, right]))?;
                let mask = body.paths.get(mask).iter();
                commas(out, mask.map(|element| element.cast_signed()))?;
                out.write_str(">")
            }
            LandingPad { clauses, cleanup } => {
                let cleanup = if cleanup { " cleanup" } else { "" };
                write!(out, "landingpad{cleanup}")?;
                let mut clauses = body.clauses.get(clauses).iter();
                clauses.try_for_each(|clause| {
                    let (word, what) = match clause {
                        Clause::Catch(what) => ("catch", what),
                        Clause::Filter(what) => ("filter", what),
                    };
                    write!(out, " {word} {}", self.program.show_constant(*what))
                })
            }
            _ => Ok(()),
        }
    }
}

impl Display for Shown<'_, (&Body, &Instruction)> {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        use Operation::*;
        let (body, instruction) = self.what;
        let show = |value: Value| self.program.show_value(value);
        let result = self.program.show_type(instruction.result);
        match instruction.operation {
            Negate {
                operand,
                flags: set,
            } => write!(out, "fneg{} {}", flags(set), show(operand)),
            Binary {
                operator,
                flags: set,
                left,
                right,
            } => {
                let operands = self.all(&[left, right]);
                write!(out, "{operator}{} {result} {operands}", flags(set))
            }
            CompareIntegers {
                predicate,
                flags: set,
                left,
                right,
            } => {
                let operands = self.all(&[left, right]);
                write!(out, "icmp{} {predicate} {operands}", flags(set))
            }
            CompareFloats {
                predicate,
                flags: set,
                left,
                right,
            } => {
                let operands = self.all(&[left, right]);
                write!(out, "fcmp{} {predicate} {operands}", flags(set))
            }
            Cast {
                operator,
                flags: set,
                operand,
            } => {
                let (set, operand) = (flags(set), show(operand));
                write!(out, "{operator}{set} {operand} to {result}")
            }
            Select {
                condition,
                then,
                otherwise,
                ..
            } => {
                write!(out, "select {}", self.all(&[condition, then, otherwise]))
            }
            Freeze { operand } => write!(out, "freeze {}", show(operand)),
            Phi { incoming } => {
                write!(out, "phi {result} ")?;
                let incoming = body.incoming.get(incoming).iter();
                commas(
                    out,
                    incoming.map(|from| format!("[{}, {}]", from.from, show(from.value))),
                )
            }
            Call { call } => self.call(out, "call", call),
            Opaque { what, operands } => {
                let operands = self.all(body.values.get(operands));
                write!(out, "<{}> {operands}", &self.program.texts[what])
            }
            operation if operation.is_terminator() => self.terminator(out),
            StackSlot { .. }
            | Load { .. }
            | Store { .. }
            | Update { .. }
            | CompareExchange { .. }
            | Fence { .. }
            | ElementPointer { .. }
            | VariableArgument { .. } => self.memory(out),
            _ => self.part(out),
        }
    }
}
