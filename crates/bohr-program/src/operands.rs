//! The operands of an instruction, whatever it is: what every analysis that
//! follows values walks over.

use crate::function::Body;
use crate::instruction::{Instruction, Operation, Value};

impl Body {
    /// Calls `visit` with every value that an instruction uses, in the order
    /// of its fields; of a call: the callee, the arguments, the bundled values.
    ///
    /// Constants in switch cases and landing pad clauses are not values.
    pub fn for_each_operand(&self, instruction: &Instruction, mut visit: impl FnMut(Value)) {
        use Operation::*;
        let mut all = |values: &[Value]| values.iter().for_each(|value| visit(*value));
        match instruction.operation {
            Return { value } => all(value.expand().as_slice()),
            Branch { .. }
            | Unreachable
            | OpaqueTerminator { .. }
            | Fence { .. }
            | LandingPad { .. } => {}
            ConditionalBranch { condition, .. } => all(&[condition]),
            Switch { value, .. } | Resume { value } => all(&[value]),
            IndirectBranch { address, .. } | Load { address, .. } => all(&[address]),
            Negate { operand, .. } | Cast { operand, .. } | Freeze { operand } => all(&[operand]),
            Binary { left, right, .. }
            | CompareIntegers { left, right, .. }
            | CompareFloats { left, right, .. }
            | Shuffle { left, right, .. } => all(&[left, right]),
            Select {
                condition,
                then,
                otherwise,
                ..
            } => all(&[condition, then, otherwise]),
            Phi { incoming } => {
                for incoming in self.incoming.get(incoming) {
                    all(&[incoming.value]);
                }
            }
            StackSlot { count, .. } => all(&[count]),
            Store { address, value, .. } | Update { address, value, .. } => all(&[address, value]),
            CompareExchange {
                address,
                expected,
                desired,
                ..
            } => all(&[address, expected, desired]),
            ElementPointer { base, indices, .. } => {
                all(&[base]);
                all(self.values.get(indices));
            }
            VariableArgument { list } => all(&[list]),
            ExtractValue { aggregate, .. } => all(&[aggregate]),
            InsertValue {
                aggregate, value, ..
            } => all(&[aggregate, value]),
            ExtractElement { vector, index } => all(&[vector, index]),
            InsertElement {
                vector,
                value,
                index,
            } => all(&[vector, value, index]),
            Call { call } | Invoke { call, .. } | CallBranch { call, .. } => {
                let call = &self.calls[call];
                all(&[call.callee]);
                all(self.values.get(call.arguments));
                all(self.values.get(call.bundled));
            }
            Opaque { operands, .. } => all(self.values.get(operands)),
        }
    }
}
