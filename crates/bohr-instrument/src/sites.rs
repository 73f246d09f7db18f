//! The one enumeration of sites: loads, stores, atomic operations, fences (those
//! of inline assembly included), memory intrinsics and their library twins, and
//! calls that synchronise, in layout order within a function, functions in the
//! order of their ids.
//!
//! The lowering to the program model and the hook pass both walk this list, so
//! that a site has the same number in the model, in every profile and in every
//! trace. **It must run on the merged module before any pass adds or removes an
//! instruction.**

use crate::assembly::orders_stores;
use crate::calls::{MemoryCall, Touch, memory_call, synchronising_call};
use crate::ids::function_id;
use crate::internalise::{assembly_of_call, constraints_of_assembly, name_of};
use bohr_event::abi::SiteInfo;
use bohr_event::{EventKind, FunctionId, MemoryOrder, SiteId};
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::prelude::{LLVMTypeRef, LLVMValueRef};
use inkwell::llvm_sys::target::{LLVMGetModuleDataLayout, LLVMStoreSizeOfType, LLVMTargetDataRef};
use inkwell::llvm_sys::{LLVMAtomicOrdering, LLVMOpcode, LLVMTypeKind};
use inkwell::module::Module;
use inkwell::values::{AsValueRef, FunctionValue, InstructionValue};

/// What a site does, with the operands that say where. Values are raw: they may
/// be of any type that LLVM allows there, vectors of pointers included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Touches as many bytes at `address` as the site's size says.
    Access {
        /// A pointer.
        address: LLVMValueRef,
    },
    /// Touches `length` bytes from `address` on.
    Range {
        /// A pointer.
        address: LLVMValueRef,
        /// How many bytes.
        length: Length,
    },
    /// Reads `length` bytes at `source`, then writes them at `destination`.
    Copy {
        /// A pointer.
        destination: LLVMValueRef,
        /// A pointer.
        source: LLVMValueRef,
        /// How many bytes.
        length: Length,
    },
    /// Reads `length` bytes at both.
    Compare {
        /// A pointer.
        one: LLVMValueRef,
        /// A pointer.
        other: LLVMValueRef,
        /// How many bytes.
        length: Length,
    },
    /// Touches the site's size in bytes at each address whose mask bit is set.
    Lanes {
        /// A vector of pointers.
        addresses: LLVMValueRef,
        /// A vector of as many bits.
        mask: LLVMValueRef,
    },
    /// Orders accesses.
    Fence,
    /// A call that the runtime takes over.
    Call {
        /// Its first argument, if that is a pointer: what the call is about.
        object: Option<LLVMValueRef>,
    },
}

/// How many bytes an operation touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// As many as an integer says.
    Bytes(LLVMValueRef),
    /// The first, and further ones that only the function finds out.
    First,
    /// The same, but none if an integer is 0.
    FirstUnlessZero(LLVMValueRef),
}

/// One site of a function.
#[derive(Clone, Copy, Debug)]
pub struct Site<'ctx> {
    /// The instruction.
    pub instruction: InstructionValue<'ctx>,
    /// What it does.
    pub operation: Operation,
    /// Kind, order and size.
    pub info: SiteInfo,
}

/// The sites of one function.
#[derive(Debug)]
pub struct FunctionSites<'ctx> {
    /// Its id.
    pub id: FunctionId,
    /// The function.
    pub function: FunctionValue<'ctx>,
    /// Number of its first site within the module.
    pub first: SiteNumber,
    /// Its sites, in layout order.
    pub sites: Vec<Site<'ctx>>,
}

/// A site's dense number within its module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SiteNumber(pub u32);

impl<'ctx> FunctionSites<'ctx> {
    /// Its sites with their numbers and ids.
    pub fn numbered(&self) -> impl Iterator<Item = (SiteNumber, SiteId, &Site<'ctx>)> {
        (0..).zip(&self.sites).map(|(index, site)| {
            let function = self.id;
            let number = SiteNumber(self.first.0 + index);
            (number, SiteId { function, index }, site)
        })
    }
}

/// Every site of a module.
#[derive(Debug)]
pub struct ModuleSites<'ctx> {
    /// By ascending function id.
    pub functions: Vec<FunctionSites<'ctx>>,
}

impl<'ctx> ModuleSites<'ctx> {
    /// Enumerates the sites of a merged module.
    #[must_use]
    pub fn of(module: &Module<'ctx>) -> ModuleSites<'ctx> {
        // SAFETY: the layout belongs to the live module.
        let layout = unsafe { LLVMGetModuleDataLayout(module.as_mut_ptr()) };
        let mut functions: Vec<FunctionSites<'ctx>> = module
            .get_functions()
            .filter(|function| function.get_first_basic_block().is_some())
            .filter_map(|function| {
                let id = function_id(function)?;
                let sites = sites_of(function, layout);
                let first = SiteNumber(0);
                Some(FunctionSites {
                    id,
                    function,
                    first,
                    sites,
                })
            })
            .collect();
        functions.sort_by_key(|function| function.id);
        let mut next = 0;
        for function in &mut functions {
            function.first = SiteNumber(next);
            next += function.sites.len() as u32;
        }
        ModuleSites { functions }
    }

    /// How many sites there are.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.functions
            .last()
            .map_or(0, |last| last.first.0 + last.sites.len() as u32)
    }

    /// Kind, order and size of every site, by number.
    pub fn infos(&self) -> impl Iterator<Item = SiteInfo> {
        self.functions
            .iter()
            .flat_map(|function| function.sites.iter().map(|site| site.info))
    }
}

fn sites_of<'ctx>(function: FunctionValue<'ctx>, layout: LLVMTargetDataRef) -> Vec<Site<'ctx>> {
    function
        .get_basic_block_iter()
        .flat_map(|block| block.get_instructions())
        .filter_map(|instruction| {
            // SAFETY: an instruction of a live module with this layout.
            let (operation, info) = unsafe { classify(instruction.as_value_ref(), layout) }?;
            Some(Site {
                instruction,
                operation,
                info,
            })
        })
        .collect()
}

/// # Safety
/// `instruction` must be an instruction of a module with this layout.
unsafe fn classify(
    instruction: LLVMValueRef,
    layout: LLVMTargetDataRef,
) -> Option<(Operation, SiteInfo)> {
    // SAFETY: operands are asked for as the opcode defines them.
    unsafe {
        let size = |of: LLVMTypeRef| LLVMStoreSizeOfType(layout, of);
        let access = |address: u32, kind, of| {
            let order = memory_order(instruction);
            let address = LLVMGetOperand(instruction, address);
            fixed(address, SiteInfo::new(kind, order, fit(size(of))), size(of))
        };
        match LLVMGetInstructionOpcode(instruction) {
            LLVMOpcode::LLVMLoad => Some(access(0, EventKind::Read, LLVMTypeOf(instruction))),
            LLVMOpcode::LLVMStore => {
                let stored = LLVMTypeOf(LLVMGetOperand(instruction, 0));
                Some(access(1, EventKind::Write, stored))
            }
            LLVMOpcode::LLVMAtomicRMW | LLVMOpcode::LLVMAtomicCmpXchg => {
                let operand = LLVMTypeOf(LLVMGetOperand(instruction, 1));
                Some(access(0, EventKind::Update, operand))
            }
            // One between a thread and its own signal handlers orders nothing else.
            LLVMOpcode::LLVMFence if LLVMIsAtomicSingleThread(instruction) != 0 => None,
            LLVMOpcode::LLVMFence => {
                let info = SiteInfo::new(EventKind::Fence, memory_order(instruction), 0);
                Some((Operation::Fence, info))
            }
            LLVMOpcode::LLVMCall | LLVMOpcode::LLVMInvoke => classify_call(instruction, layout),
            _ => None,
        }
    }
}

/// A size as the site table holds it.
fn fit(size: u64) -> u16 {
    u16::try_from(size).unwrap_or(SiteInfo::DYNAMIC_SIZE)
}

/// An access of known size: a range where the site table has no room for it.
fn fixed(address: LLVMValueRef, info: SiteInfo, size: u64) -> (Operation, SiteInfo) {
    if info.size() != SiteInfo::DYNAMIC_SIZE {
        return (Operation::Access { address }, info);
    }
    // SAFETY: an integer type of the context that the address lives in.
    let length = unsafe {
        let context = LLVMGetTypeContext(LLVMTypeOf(address));
        LLVMConstInt(LLVMInt64TypeInContext(context), size, 0)
    };
    let length = Length::Bytes(length);
    (Operation::Range { address, length }, info)
}

fn is_pointer(value: LLVMValueRef) -> bool {
    // SAFETY: a live value has a type.
    let kind = unsafe { LLVMGetTypeKind(LLVMTypeOf(value)) };
    kind == LLVMTypeKind::LLVMPointerTypeKind
}

/// What leaves no store of before waiting.
fn full_fence() -> (Operation, SiteInfo) {
    let order = MemoryOrder::SequentiallyConsistent;
    (Operation::Fence, SiteInfo::new(EventKind::Fence, order, 0))
}

/// # Safety
/// `call` must be a call or invoke of a module with this layout.
unsafe fn classify_call(
    call: LLVMValueRef,
    layout: LLVMTargetDataRef,
) -> Option<(Operation, SiteInfo)> {
    // SAFETY: arguments are asked for by their position in known signatures,
    // and only if the call has as many.
    unsafe {
        let callee = LLVMGetCalledValue(call);
        if !LLVMIsAInlineAsm(callee).is_null() {
            let (template, constraints) = (assembly_of_call(call), constraints_of_assembly(callee));
            return orders_stores(&template, &constraints).then(full_fence);
        }
        if LLVMIsAFunction(callee).is_null() || LLVMIsDeclaration(callee) == 0 {
            return None;
        }
        let name = name_of(callee);
        if name == "llvm.x86.sse2.mfence" {
            return Some(full_fence());
        }
        if let Some(kind) = synchronising_call(&name) {
            let first = (LLVMGetNumArgOperands(call) > 0).then(|| LLVMGetOperand(call, 0));
            let object = first.filter(|value| is_pointer(*value));
            let info = SiteInfo::new(kind, MemoryOrder::Plain, 0);
            return Some((Operation::Call { object }, info));
        }
        let arguments = LLVMGetNumArgOperands(call);
        memory_operation(call, arguments, memory_call(&name)?, layout)
    }
}

/// # Safety
/// `call` must be a call with as many arguments in a module with this layout.
unsafe fn memory_operation(
    call: LLVMValueRef,
    arguments: u32,
    kind: MemoryCall,
    layout: LLVMTargetDataRef,
) -> Option<(Operation, SiteInfo)> {
    let needed = match kind {
        MemoryCall::MaskedLoad => 1,
        MemoryCall::Clear | MemoryCall::MaskedStore | MemoryCall::Gather => 2,
        MemoryCall::Text(touch, limit) => touch.last().max(limit.unwrap_or(0)) + 1,
        _ => 3,
    };
    if arguments < needed {
        return None;
    }
    let dynamic = |kind| SiteInfo::new(kind, MemoryOrder::Plain, SiteInfo::DYNAMIC_SIZE);
    // SAFETY: there are as many arguments as the kind of call needs.
    unsafe {
        let argument = |index| LLVMGetOperand(call, index);
        let size = |of: LLVMTypeRef| LLVMStoreSizeOfType(layout, of);
        let plain = |kind, size| SiteInfo::new(kind, MemoryOrder::Plain, fit(size));
        let lanes = |addresses, mask, of, kind| {
            let size = size(LLVMGetElementType(of));
            (Operation::Lanes { addresses, mask }, plain(kind, size))
        };
        Some(match kind {
            MemoryCall::Copy => {
                let (destination, source) = (argument(0), argument(1));
                let length = Length::Bytes(argument(2));
                let copy = Operation::Copy {
                    destination,
                    source,
                    length,
                };
                (copy, dynamic(EventKind::Write))
            }
            MemoryCall::Compare => {
                let (one, other) = (argument(0), argument(1));
                let length = Length::Bytes(argument(2));
                let compare = Operation::Compare { one, other, length };
                (compare, dynamic(EventKind::Read))
            }
            MemoryCall::Fill | MemoryCall::Clear => {
                let (address, length) = (argument(0), Length::Bytes(argument(needed - 1)));
                (
                    Operation::Range { address, length },
                    dynamic(EventKind::Write),
                )
            }
            MemoryCall::Text(touch, limit) => {
                let length = limit.map_or(Length::First, |limit| {
                    Length::FirstUnlessZero(argument(limit))
                });
                let kind = match touch {
                    Touch::Read(_) | Touch::Compare(..) => EventKind::Read,
                    Touch::Copy(..) => EventKind::Write,
                };
                (text_operation(touch, length, &argument), dynamic(kind))
            }
            MemoryCall::MaskedLoad => {
                let size = size(LLVMTypeOf(call));
                fixed(argument(0), plain(EventKind::Read, size), size)
            }
            MemoryCall::MaskedStore => {
                let size = size(LLVMTypeOf(argument(0)));
                fixed(argument(1), plain(EventKind::Write, size), size)
            }
            MemoryCall::Gather => {
                lanes(argument(0), argument(1), LLVMTypeOf(call), EventKind::Read)
            }
            MemoryCall::Scatter => {
                let of = LLVMTypeOf(argument(0));
                lanes(argument(1), argument(2), of, EventKind::Write)
            }
        })
    }
}

/// A function finds out how long a text is by reading it; that its first byte is
/// touched is known before.
fn text_operation(
    touch: Touch,
    length: Length,
    argument: &dyn Fn(u32) -> LLVMValueRef,
) -> Operation {
    match touch {
        Touch::Read(address) => Operation::Range {
            address: argument(address),
            length,
        },
        Touch::Compare(one, other) => Operation::Compare {
            one: argument(one),
            other: argument(other),
            length,
        },
        Touch::Copy(destination, source) => Operation::Copy {
            destination: argument(destination),
            source: argument(source),
            length,
        },
    }
}

/// # Safety
/// `instruction` must be a load, store, fence or atomic operation.
unsafe fn memory_order(instruction: LLVMValueRef) -> MemoryOrder {
    use LLVMAtomicOrdering::*;
    // SAFETY: fences have an order, but no volatility to ask for; the others have both.
    unsafe {
        let opcode = LLVMGetInstructionOpcode(instruction);
        let ordering = match opcode {
            LLVMOpcode::LLVMAtomicCmpXchg => LLVMGetCmpXchgSuccessOrdering(instruction),
            _ => LLVMGetOrdering(instruction),
        };
        match ordering {
            LLVMAtomicOrderingNotAtomic if LLVMGetVolatile(instruction) != 0 => {
                MemoryOrder::Unordered
            }
            LLVMAtomicOrderingNotAtomic => MemoryOrder::Plain,
            LLVMAtomicOrderingUnordered => MemoryOrder::Unordered,
            LLVMAtomicOrderingMonotonic => MemoryOrder::Relaxed,
            LLVMAtomicOrderingAcquire => MemoryOrder::Acquire,
            LLVMAtomicOrderingRelease => MemoryOrder::Release,
            LLVMAtomicOrderingAcquireRelease => MemoryOrder::AcquireRelease,
            LLVMAtomicOrderingSequentiallyConsistent => MemoryOrder::SequentiallyConsistent,
        }
    }
}
