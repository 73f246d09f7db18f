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
    fn call(&self, out: &mut Formatter<'_>, word: &str, call: CallNumber) -> fmt::Result {
        let (body, instruction) = self.what;
        let call = &body.calls[call];
        let result = self.program.show_type(instruction.result);
        write!(
            out,
            "{word} {result} {}(",
            self.program.show_value(call.callee)
        )?;
        let arguments = body.arguments(call).iter();
        commas(out, arguments.map(|value| self.program.show_value(*value)))?;
        out.write_str(")")
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
                write!(
                    out,
                    "store{} {}, {}",
                    accessed(access),
                    show(value),
                    show(address)
                )
            }
            Update {
                operator,
                address,
                value,
                access,
            } => {
                let (order, address) = (accessed(access), show(address));
                write!(out, "update{order} {operator} {address}, {}", show(value))
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
                write!(out, "cmpxchg{weak}{order} {failure} {}, ", show(address))?;
                write!(out, "{}, {}", show(expected), show(desired))
            }
            Fence { access } => write!(out, "fence{}", accessed(access)),
            ElementPointer {
                source,
                base,
                indices,
                flags: set,
            } => {
                let source = self.program.show_type(source);
                write!(
                    out,
                    "getelementptr{} {source}, {}, ",
                    flags(set),
                    show(base)
                )?;
                commas(
                    out,
                    body.values.get(indices).iter().map(|value| show(*value)),
                )
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
                write!(out, "insertvalue {}, {}, ", show(aggregate), show(value))?;
                commas(out, body.paths.get(path))
            }
            ExtractElement { vector, index } => {
                write!(out, "extractelement {}, {}", show(vector), show(index))
            }
            InsertElement {
                vector,
                value,
                index,
            } => {
                let (vector, value) = (show(vector), show(value));
                write!(out, "insertelement {vector}, {value}, {}", show(index))
            }
            Shuffle { left, right, mask } => {
                write!(out, "shufflevector {}, {}, <", show(left), show(right))?;
                let mask = body.paths.get(mask).iter();
                commas(out, mask.map(|element| element.cast_signed()))?;
                out.write_str(">")
            }
            LandingPad { clauses, cleanup } => {
                out.write_str(if cleanup {
                    "landingpad cleanup"
                } else {
                    "landingpad"
                })?;
                body.clauses
                    .get(clauses)
                    .iter()
                    .try_for_each(|clause| match clause {
                        Clause::Catch(what) => {
                            write!(out, " catch {}", self.program.show_constant(*what))
                        }
                        Clause::Filter(what) => {
                            write!(out, " filter {}", self.program.show_constant(*what))
                        }
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
                write!(
                    out,
                    "{operator}{} {result} {}, {}",
                    flags(set),
                    show(left),
                    show(right)
                )
            }
            CompareIntegers {
                predicate,
                flags: set,
                left,
                right,
            } => {
                write!(
                    out,
                    "icmp{} {predicate} {}, {}",
                    flags(set),
                    show(left),
                    show(right)
                )
            }
            CompareFloats {
                predicate,
                flags: set,
                left,
                right,
            } => {
                write!(
                    out,
                    "fcmp{} {predicate} {}, {}",
                    flags(set),
                    show(left),
                    show(right)
                )
            }
            Cast {
                operator,
                flags: set,
                operand,
            } => {
                write!(
                    out,
                    "{operator}{} {} to {result}",
                    flags(set),
                    show(operand)
                )
            }
            Select {
                condition,
                then,
                otherwise,
                ..
            } => {
                let (condition, then) = (show(condition), show(then));
                write!(out, "select {condition}, {then}, {}", show(otherwise))
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
                write!(out, "<{}> ", &self.program.texts[what])?;
                commas(
                    out,
                    body.values.get(operands).iter().map(|value| show(*value)),
                )
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
