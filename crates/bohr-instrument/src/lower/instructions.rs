//! What each instruction does.

use super::Lowering;
use super::body::Local;
use super::flags::{
    access, binary_operator, cast_operator, flags, float_predicate, integer_predicate,
    memory_order, update_operator,
};
use bohr_program::{Alignment, BlockNumber, Case, Clause, Incoming, Operation, Type, Value};
use inkwell::llvm_sys::LLVMOpcode::{self, *};
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::prelude::LLVMValueRef;

impl Lowering {
    /// What an instruction does.
    pub(super) fn operation(&mut self, local: &mut Local, value: LLVMValueRef) -> Operation {
        // SAFETY: an instruction of the live module, dealt with by its opcode.
        unsafe {
            let opcode = LLVMGetInstructionOpcode(value);
            match opcode {
                LLVMCall => Operation::Call {
                    call: self.lower_call(local, value, opcode),
                },
                LLVMAlloca | LLVMLoad | LLVMStore | LLVMAtomicRMW | LLVMAtomicCmpXchg
                | LLVMFence | LLVMGetElementPtr | LLVMVAArg => self.memory(local, value, opcode),
                LLVMExtractValue | LLVMInsertValue | LLVMExtractElement | LLVMInsertElement
                | LLVMShuffleVector => self.part(local, value, opcode),
                LLVMPHI => self.phi(local, value),
                LLVMLandingPad => self.landing_pad(local, value),
                _ if !LLVMIsATerminatorInst(value).is_null() => {
                    self.terminator(local, value, opcode)
                }
                _ => self.computation(local, value, opcode),
            }
        }
    }

    /// The operand with this index.
    ///
    /// # Safety
    /// The instruction must have it.
    unsafe fn at(&mut self, local: &Local, value: LLVMValueRef, index: u32) -> Value {
        // SAFETY: as the caller promises.
        let operand = unsafe { LLVMGetOperand(value, index) };
        self.value(local, operand)
    }

    /// # Safety
    /// `value` must be an instruction with this opcode.
    unsafe fn computation(
        &mut self,
        local: &mut Local,
        value: LLVMValueRef,
        opcode: LLVMOpcode,
    ) -> Operation {
        // SAFETY: operands are asked for as the opcode defines them.
        unsafe {
            let flags = flags(value, opcode);
            if let Some(operator) = binary_operator(opcode) {
                return Operation::Binary {
                    operator,
                    flags,
                    left: self.at(local, value, 0),
                    right: self.at(local, value, 1),
                };
            }
            if let Some(operator) = cast_operator(opcode) {
                return Operation::Cast {
                    operator,
                    flags,
                    operand: self.at(local, value, 0),
                };
            }
            match opcode {
                LLVMFNeg => Operation::Negate {
                    operand: self.at(local, value, 0),
                    flags,
                },
                LLVMICmp => Operation::CompareIntegers {
                    predicate: integer_predicate(LLVMGetICmpPredicate(value)),
                    flags,
                    left: self.at(local, value, 0),
                    right: self.at(local, value, 1),
                },
                LLVMFCmp => Operation::CompareFloats {
                    predicate: float_predicate(LLVMGetFCmpPredicate(value)),
                    flags,
                    left: self.at(local, value, 0),
                    right: self.at(local, value, 1),
                },
                LLVMSelect => Operation::Select {
                    condition: self.at(local, value, 0),
                    then: self.at(local, value, 1),
                    otherwise: self.at(local, value, 2),
                    flags,
                },
                LLVMFreeze => Operation::Freeze {
                    operand: self.at(local, value, 0),
                },
                _ => self.opaque(local, value, opcode),
            }
        }
    }

    /// # Safety
    /// `value` must be an instruction that touches memory or computes an address.
    unsafe fn memory(
        &mut self,
        local: &mut Local,
        value: LLVMValueRef,
        opcode: LLVMOpcode,
    ) -> Operation {
        // SAFETY: operands are asked for as the opcode defines them.
        unsafe {
            match opcode {
                LLVMAlloca => Operation::StackSlot {
                    allocated: self.type_number(LLVMGetAllocatedType(value)),
                    count: self.at(local, value, 0),
                    alignment: Alignment::of_bytes(LLVMGetAlignment(value).into()),
                },
                LLVMLoad => Operation::Load {
                    address: self.at(local, value, 0),
                    access: access(value, opcode),
                },
                LLVMStore => Operation::Store {
                    value: self.at(local, value, 0),
                    address: self.at(local, value, 1),
                    access: access(value, opcode),
                },
                LLVMAtomicRMW => Operation::Update {
                    operator: update_operator(LLVMGetAtomicRMWBinOp(value)),
                    address: self.at(local, value, 0),
                    value: self.at(local, value, 1),
                    access: access(value, opcode),
                },
                LLVMAtomicCmpXchg => Operation::CompareExchange {
                    address: self.at(local, value, 0),
                    expected: self.at(local, value, 1),
                    desired: self.at(local, value, 2),
                    access: access(value, opcode),
                    failure: memory_order(LLVMGetCmpXchgFailureOrdering(value)),
                    weak: LLVMGetWeak(value) != 0,
                },
                LLVMFence => Operation::Fence {
                    access: access(value, opcode),
                },
                LLVMVAArg => Operation::VariableArgument {
                    list: self.at(local, value, 0),
                },
                _ => {
                    let count = LLVMGetNumOperands(value).cast_unsigned();
                    let indices: Vec<Value> = (1..count)
                        .map(|index| self.at(local, value, index))
                        .collect();
                    Operation::ElementPointer {
                        source: self.type_number(LLVMGetGEPSourceElementType(value)),
                        base: self.at(local, value, 0),
                        indices: local.body.body().values.push(indices),
                        flags: flags(value, opcode),
                    }
                }
            }
        }
    }

    /// # Safety
    /// `value` must be an instruction on parts of aggregates or vectors.
    unsafe fn part(
        &mut self,
        local: &mut Local,
        value: LLVMValueRef,
        opcode: LLVMOpcode,
    ) -> Operation {
        // SAFETY: operands are asked for as the opcode defines them, indices
        // and mask elements within their counts.
        unsafe {
            let path = || {
                let count = LLVMGetNumIndices(value) as usize;
                std::slice::from_raw_parts(LLVMGetIndices(value), count).to_vec()
            };
            match opcode {
                LLVMExtractValue => Operation::ExtractValue {
                    aggregate: self.at(local, value, 0),
                    path: local.body.body().paths.push(path()),
                },
                LLVMInsertValue => Operation::InsertValue {
                    aggregate: self.at(local, value, 0),
                    value: self.at(local, value, 1),
                    path: local.body.body().paths.push(path()),
                },
                LLVMExtractElement => Operation::ExtractElement {
                    vector: self.at(local, value, 0),
                    index: self.at(local, value, 1),
                },
                LLVMInsertElement => Operation::InsertElement {
                    vector: self.at(local, value, 0),
                    value: self.at(local, value, 1),
                    index: self.at(local, value, 2),
                },
                _ => {
                    let mask = (0..LLVMGetNumMaskElements(value))
                        .map(|index| LLVMGetMaskValue(value, index).cast_unsigned());
                    Operation::Shuffle {
                        left: self.at(local, value, 0),
                        right: self.at(local, value, 1),
                        mask: local.body.body().paths.push(mask),
                    }
                }
            }
        }
    }

    /// # Safety
    /// `value` must be a phi.
    unsafe fn phi(&mut self, local: &mut Local, value: LLVMValueRef) -> Operation {
        // SAFETY: indices are below the number of incoming values.
        let incoming: Vec<Incoming> = unsafe {
            (0..LLVMCountIncoming(value))
                .map(|index| Incoming {
                    from: local.block(LLVMGetIncomingBlock(value, index)),
                    value: self.value(local, LLVMGetIncomingValue(value, index)),
                })
                .collect()
        };
        Operation::Phi {
            incoming: local.body.body().incoming.push(incoming),
        }
    }

    /// # Safety
    /// `value` must be a landing pad.
    unsafe fn landing_pad(&mut self, local: &mut Local, value: LLVMValueRef) -> Operation {
        // SAFETY: indices are below the number of clauses.
        unsafe {
            let clauses: Vec<Clause> = (0..LLVMGetNumClauses(value))
                .map(|index| {
                    let clause = self.constant(LLVMGetClause(value, index));
                    let program = self.builder.program();
                    match program.types[program.constants[clause].of] {
                        // A filter is an array of type informations.
                        Type::Array { .. } => Clause::Filter(clause),
                        _ => Clause::Catch(clause),
                    }
                })
                .collect();
            Operation::LandingPad {
                clauses: local.body.body().clauses.push(clauses),
                cleanup: LLVMIsCleanup(value) != 0,
            }
        }
    }

    /// # Safety
    /// `value` must be a terminator with this opcode.
    unsafe fn terminator(
        &mut self,
        local: &mut Local,
        value: LLVMValueRef,
        opcode: LLVMOpcode,
    ) -> Operation {
        // SAFETY: operands and successors are asked for as the opcode defines them.
        unsafe {
            match opcode {
                LLVMRet => {
                    let returned =
                        (LLVMGetNumOperands(value) > 0).then(|| self.at(local, value, 0));
                    Operation::Return {
                        value: returned.into(),
                    }
                }
                LLVMBr if LLVMIsConditional(value) == 0 => Operation::Branch {
                    target: successor(local, value, 0),
                },
                LLVMBr => Operation::ConditionalBranch {
                    condition: self.value(local, LLVMGetCondition(value)),
                    then: successor(local, value, 0),
                    otherwise: successor(local, value, 1),
                },
                LLVMSwitch => self.switch(local, value),
                LLVMIndirectBr => {
                    let targets = successors(local, value, 0);
                    Operation::IndirectBranch {
                        address: self.at(local, value, 0),
                        targets: local.body.body().targets.push(targets),
                    }
                }
                LLVMInvoke => Operation::Invoke {
                    call: self.lower_call(local, value, opcode),
                    normal: local.block(LLVMGetNormalDest(value)),
                    unwind: local.block(LLVMGetUnwindDest(value)),
                },
                LLVMCallBr => {
                    let targets = successors(local, value, 1);
                    Operation::CallBranch {
                        call: self.lower_call(local, value, opcode),
                        fallthrough: successor(local, value, 0),
                        targets: local.body.body().targets.push(targets),
                    }
                }
                LLVMResume => Operation::Resume {
                    value: self.at(local, value, 0),
                },
                LLVMUnreachable => Operation::Unreachable,
                _ => {
                    let what = format!("{opcode:?}");
                    self.count_opaque(&what);
                    let targets = successors(local, value, 0);
                    Operation::OpaqueTerminator {
                        what: self.builder.text(&what),
                        targets: local.body.body().targets.push(targets),
                    }
                }
            }
        }
    }

    /// # Safety
    /// `value` must be a switch.
    unsafe fn switch(&mut self, local: &mut Local, value: LLVMValueRef) -> Operation {
        // SAFETY: successor 0 is the default, the others have a case value each.
        unsafe {
            let cases: Vec<Case> = (1..LLVMGetNumSuccessors(value))
                .map(|index| Case {
                    value: self.constant(LLVMGetSwitchCaseValue(value, index)),
                    target: successor(local, value, index),
                })
                .collect();
            Operation::Switch {
                value: self.at(local, value, 0),
                default: local.block(LLVMGetSwitchDefaultDest(value)),
                cases: local.body.body().cases.push(cases),
            }
        }
    }

    /// # Safety
    /// `value` must be an instruction.
    unsafe fn opaque(
        &mut self,
        local: &mut Local,
        value: LLVMValueRef,
        opcode: LLVMOpcode,
    ) -> Operation {
        let what = format!("{opcode:?}");
        self.count_opaque(&what);
        // SAFETY: indices are below the number of operands; blocks among them
        // belong to terminators, which do not come here.
        let operands: Vec<Value> = unsafe {
            (0..LLVMGetNumOperands(value).cast_unsigned())
                .map(|index| self.at(local, value, index))
                .collect()
        };
        Operation::Opaque {
            what: self.builder.text(&what),
            operands: local.body.body().values.push(operands),
        }
    }
}

/// # Safety
/// The terminator must have this successor.
unsafe fn successor(local: &Local, value: LLVMValueRef, index: u32) -> BlockNumber {
    // SAFETY: as the caller promises.
    local.block(unsafe { LLVMGetSuccessor(value, index) })
}

/// The successors from an index on.
///
/// # Safety
/// `value` must be a terminator.
unsafe fn successors(local: &Local, value: LLVMValueRef, from: u32) -> Vec<BlockNumber> {
    // SAFETY: indices are below the number of successors.
    unsafe {
        (from..LLVMGetNumSuccessors(value))
            .map(|index| successor(local, value, index))
            .collect()
    }
}
