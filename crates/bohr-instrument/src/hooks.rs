//! Before each site that may be shared: an empty instruction which the runtime
//! can turn into a call (`bohr_event::abi` says how the two sides agree).
//!
//! A hook is one call of inline assembly. It never splits a block, so nothing in
//! LLVM's rules about pads, tail calls and phis stands in its way, and it takes
//! the address in whatever form the access itself uses, so it costs neither
//! instruction nor register. To LLVM it reads and writes all memory: no access
//! moves across, and none is merged with one on the other side.

use crate::sites::{FunctionSites, Length, ModuleSites, Operation, Site, SiteNumber};
use crate::stack::{PrivateSlots, base};
use bohr_program::Reason;
use inkwell::context::{AsContextRef, Context};
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::debuginfo::LLVMInstructionGetDebugLoc;
use inkwell::llvm_sys::prelude::{LLVMBuilderRef, LLVMContextRef, LLVMTypeRef, LLVMValueRef};
use inkwell::llvm_sys::{
    LLVMAttributeFunctionIndex, LLVMInlineAsmDialect, LLVMIntPredicate, LLVMTypeKind,
};
use inkwell::values::{AsValueRef, FunctionValue};
use std::collections::BTreeMap;

/// Section of the stubs; the linker marks its ends since it is a C name.
pub const STUB_SECTION: &str = "bohr_stubs";

/// Section of the stubs of points.
pub const POINT_SECTION: &str = "bohr_stubs_points";

/// Why a site has no hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Unhooked {
    /// No other thread can meet it.
    Private(Reason),
    /// In a stack slot whose address goes nowhere.
    PrivateSlot,
    /// Through a segment register: thread-local by construction.
    Segment,
    /// In a function that consists of assembly.
    Naked,
    /// Touches nothing.
    Empty,
}

/// What the pass did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HookCount {
    /// Sites with a hook.
    pub hooked: u32,
    /// Sites without, by reason.
    pub unhooked: BTreeMap<Unhooked, u32>,
}

/// Inserts a hook before every site for which `private` knows no reason to leave
/// it out, and that another thread can see at all.
pub fn insert(
    context: &Context,
    sites: &ModuleSites<'_>,
    private: &dyn Fn(SiteNumber) -> Option<Reason>,
) -> HookCount {
    let mut hooks = Hooks::new(context, STUB_SECTION);
    let mut latest = None;
    each(sites, private, &mut |function, site, number| {
        if latest.replace(function.first) != Some(function.first) {
            hooks.x87 = uses_x87(function.function);
        }
        hooks.hook(site, number);
    })
}

/// Shows every site that gets a hook to `hook`.
pub(crate) fn each<'ctx>(
    sites: &ModuleSites<'ctx>,
    private: &dyn Fn(SiteNumber) -> Option<Reason>,
    hook: &mut dyn FnMut(&FunctionSites<'ctx>, &Site<'ctx>, SiteNumber),
) -> HookCount {
    let mut slots = PrivateSlots::default();
    let mut count = HookCount::default();
    for function in &sites.functions {
        let naked = has_attribute(function.function.as_value_ref(), "naked");
        for (number, _, site) in function.numbered() {
            match reason(site, naked, private(number), &mut slots) {
                Some(why) => *count.unhooked.entry(why).or_default() += 1,
                None => {
                    hook(function, site, number);
                    count.hooked += 1;
                }
            }
        }
    }
    count
}

fn reason(
    site: &Site<'_>,
    naked: bool,
    private: Option<Reason>,
    slots: &mut PrivateSlots,
) -> Option<Unhooked> {
    let addresses = match site.operation {
        Operation::Access { address } | Operation::Range { address, .. } => vec![address],
        Operation::Copy {
            destination,
            source,
            ..
        } => vec![destination, source],
        Operation::Compare { one, other, .. } => vec![one, other],
        Operation::Lanes { .. } | Operation::Fence | Operation::Call { .. } => vec![],
    };
    if naked {
        Some(Unhooked::Naked)
    } else if is_empty(&site.operation) {
        Some(Unhooked::Empty)
    } else if addresses.iter().any(|address| in_segment(*address)) {
        Some(Unhooked::Segment)
    } else if let Some(reason) = private {
        Some(Unhooked::Private(reason))
    } else if !addresses.is_empty() && addresses.iter().all(|address| slots.holds(*address)) {
        Some(Unhooked::PrivateSlot)
    } else {
        None
    }
}

fn is_empty(operation: &Operation) -> bool {
    match *operation {
        Operation::Range { length, .. }
        | Operation::Copy { length, .. }
        | Operation::Compare { length, .. } => match length {
            Length::Bytes(count) | Length::FirstUnlessZero(count) => constant(count) == Some(0),
            Length::First => false,
        },
        _ => false,
    }
}

/// The value of a constant that `pushq` can take.
fn constant(value: LLVMValueRef) -> Option<u64> {
    // SAFETY: a live value; only constants of at most 64 bits are asked.
    unsafe {
        (!LLVMIsAConstantInt(value).is_null() && LLVMGetIntTypeWidth(LLVMTypeOf(value)) <= 64)
            .then(|| LLVMConstIntGetZExtValue(value))
            .filter(|number| *number <= i32::MAX as u64)
    }
}

fn in_segment(address: LLVMValueRef) -> bool {
    // SAFETY: addresses are pointers.
    unsafe { LLVMGetPointerAddressSpace(LLVMTypeOf(address)) >= 256 }
}

/// An address that LLVM may write with a segment register, which `lea` ignores.
fn is_thread_local(address: LLVMValueRef) -> bool {
    let base = base(address);
    // SAFETY: a live value; only calls are asked for their callee.
    unsafe {
        if !LLVMIsACallInst(base).is_null() {
            let callee = LLVMGetCalledValue(base);
            return crate::internalise::name_of(callee).starts_with("llvm.threadlocal.address");
        }
        !LLVMIsAGlobalVariable(base).is_null() && LLVMIsThreadLocal(base) != 0
    }
}

pub(crate) fn has_attribute(function: LLVMValueRef, name: &str) -> bool {
    // SAFETY: a live function and an attribute by its name.
    unsafe {
        let kind = LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len());
        !LLVMGetEnumAttributeAtIndex(function, LLVMAttributeFunctionIndex, kind).is_null()
    }
}

/// How one argument reaches its hook.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Passing {
    /// `leaq` of a memory operand; the only argument if there is one.
    Memory,
    /// `movq` from a register; the only argument if there is one.
    Moved,
    /// `pushq` of a register.
    Register,
    /// `pushq` of a number.
    Number,
}

pub(crate) struct Hooks {
    context: LLVMContextRef,
    builder: LLVMBuilderRef,
    void: LLVMTypeRef,
    pointer: LLVMTypeRef,
    word: LLVMTypeRef,
    number: LLVMTypeRef,
    /// Whether the function at hand may hold values on the x87 stack, which the
    /// runtime does not save.
    pub(crate) x87: bool,
    section: &'static str,
}

impl Drop for Hooks {
    fn drop(&mut self) {
        // SAFETY: made by `new`, used by nobody else.
        unsafe { LLVMDisposeBuilder(self.builder) };
    }
}

impl Hooks {
    /// Makes hooks whose stubs go to a section.
    pub(crate) fn new(context: &Context, section: &'static str) -> Hooks {
        let context = context.as_ctx_ref();
        // SAFETY: types and a builder of a live context.
        unsafe {
            Hooks {
                context,
                builder: LLVMCreateBuilderInContext(context),
                void: LLVMVoidTypeInContext(context),
                pointer: LLVMPointerTypeInContext(context, 0),
                word: LLVMInt64TypeInContext(context),
                number: LLVMInt32TypeInContext(context),
                x87: false,
                section,
            }
        }
    }

    /// A point of the control flow, told with the address of its frame.
    pub(crate) fn point(&self, before: LLVMValueRef, frame_address: LLVMValueRef, number: u32) {
        // SAFETY: the instruction is in a block of a live function; the intrinsic
        // takes a constant.
        unsafe {
            LLVMPositionBuilderBefore(self.builder, before);
            LLVMSetCurrentDebugLocation2(self.builder, LLVMInstructionGetDebugLoc(before));
            let mut own = [LLVMConstInt(self.number, 0, 0)];
            let kind = LLVMGlobalGetValueType(frame_address);
            let name = c"".as_ptr();
            let frame =
                LLVMBuildCall2(self.builder, kind, frame_address, own.as_mut_ptr(), 1, name);
            self.call("point", &[(frame, Passing::Register)], SiteNumber(number));
        }
    }

    fn hook(&self, site: &Site<'_>, number: SiteNumber) {
        let before = site.instruction.as_value_ref();
        // SAFETY: the instruction is in a block of a live function.
        unsafe {
            LLVMPositionBuilderBefore(self.builder, before);
            LLVMSetCurrentDebugLocation2(self.builder, LLVMInstructionGetDebugLoc(before));
        }
        match site.operation {
            Operation::Access { address } => {
                let passing = if is_thread_local(address) {
                    Passing::Moved
                } else {
                    Passing::Memory
                };
                self.call("access", &[(address, passing)], number);
            }
            Operation::Range { address, length } => self.range(address, length, number),
            Operation::Copy {
                destination,
                source,
                length,
            } => {
                let addresses = [destination, source].map(|address| (address, Passing::Register));
                let arguments = [addresses[0], addresses[1], self.length(length)];
                self.call("copy", &arguments, number);
            }
            Operation::Compare { one, other, length } => {
                self.range(one, length, number);
                self.range(other, length, number);
            }
            Operation::Lanes { addresses, mask } => self.lanes(addresses, mask, site, number),
            Operation::Fence => self.call("fence", &[], number),
            Operation::Call { object } => {
                let object = object.map(|object| (object, Passing::Register));
                let object = object.unwrap_or_else(|| self.number(0));
                self.call("call", &[object], number);
            }
        }
    }

    fn range(&self, address: LLVMValueRef, length: Length, number: SiteNumber) {
        let arguments = [(address, Passing::Register), self.length(length)];
        self.call("range", &arguments, number);
    }

    /// A length as 64 bits, or as the number that it is.
    fn length(&self, length: Length) -> (LLVMValueRef, Passing) {
        let count = match length {
            Length::Bytes(count) | Length::FirstUnlessZero(count) => count,
            Length::First => return self.number(1),
        };
        let limited = length != Length::Bytes(count);
        match constant(count) {
            Some(known) if limited => self.number(known.min(1)),
            Some(known) => self.number(known),
            None if limited => (self.one_unless_zero(count), Passing::Register),
            None => (self.widened(count), Passing::Register),
        }
    }

    fn number(&self, number: u64) -> (LLVMValueRef, Passing) {
        // SAFETY: a constant of a live context.
        let number = unsafe { LLVMConstInt(self.word, number, 0) };
        (number, Passing::Number)
    }

    fn widened(&self, count: LLVMValueRef) -> LLVMValueRef {
        // SAFETY: lengths are integers; the builder stands where they are live.
        unsafe { LLVMBuildIntCast2(self.builder, count, self.word, 0, c"".as_ptr()) }
    }

    fn one_unless_zero(&self, count: LLVMValueRef) -> LLVMValueRef {
        let name = c"".as_ptr();
        // SAFETY: as above; a comparison gives one bit.
        unsafe {
            let zero = LLVMConstNull(LLVMTypeOf(count));
            let some = LLVMBuildICmp(self.builder, LLVMIntPredicate::LLVMIntNE, count, zero, name);
            LLVMBuildZExt(self.builder, some, self.word, name)
        }
    }

    /// One range per lane, of length 0 where the mask is off.
    fn lanes(
        &self,
        addresses: LLVMValueRef,
        mask: LLVMValueRef,
        site: &Site<'_>,
        number: SiteNumber,
    ) {
        // SAFETY: the operands of a gather or scatter are vectors of one length;
        // scalable ones do not exist on x86-64.
        unsafe {
            let size = LLVMConstInt(self.word, u64::from(site.info.size()), 0);
            let nothing = LLVMConstInt(self.word, 0, 0);
            debug_assert_eq!(
                LLVMGetTypeKind(LLVMTypeOf(addresses)),
                LLVMTypeKind::LLVMVectorTypeKind
            );
            for lane in 0..LLVMGetVectorSize(LLVMTypeOf(addresses)) {
                let lane = LLVMConstInt(self.number, u64::from(lane), 0);
                let name = c"".as_ptr();
                let address = LLVMBuildExtractElement(self.builder, addresses, lane, name);
                let on = LLVMBuildExtractElement(self.builder, mask, lane, name);
                let length = LLVMBuildSelect(self.builder, on, size, nothing, name);
                self.range(address, Length::Bytes(length), number);
            }
        }
    }

    fn call(&self, hook: &str, arguments: &[(LLVMValueRef, Passing)], site: SiteNumber) {
        let passings: Vec<Passing> = arguments.iter().map(|argument| argument.1).collect();
        let text = assembly(hook, &passings, self.section);
        let constraints = constraints(&passings, self.x87);
        let mut types: Vec<LLVMTypeRef> = passings
            .iter()
            .map(|passing| self.type_of(*passing))
            .collect();
        types.push(self.number);
        // SAFETY: the assembly's type has one parameter for each of its
        // constraints, and each argument is converted to that type.
        unsafe {
            let mut values: Vec<LLVMValueRef> = arguments
                .iter()
                .map(|(value, passing)| self.converted(*value, *passing))
                .collect();
            values.push(LLVMConstInt(self.number, u64::from(site.0), 0));
            let count = types.len() as u32;
            let signature = LLVMFunctionType(self.void, types.as_mut_ptr(), count, 0);
            let code = LLVMGetInlineAsm(
                signature,
                text.as_ptr().cast(),
                text.len(),
                constraints.as_ptr().cast(),
                constraints.len(),
                1, // it has effects
                1, // it needs an aligned stack, which also keeps the red zone unused
                LLVMInlineAsmDialect::LLVMInlineAsmDialectATT,
                0,
            );
            let call = LLVMBuildCall2(
                self.builder,
                signature,
                code,
                values.as_mut_ptr(),
                count,
                c"".as_ptr(),
            );
            LLVMAddCallSiteAttribute(call, LLVMAttributeFunctionIndex, self.attribute("nounwind"));
            if passings.contains(&Passing::Memory) {
                LLVMAddCallSiteAttribute(call, 1, self.element_type());
            }
        }
    }

    fn type_of(&self, passing: Passing) -> LLVMTypeRef {
        match passing {
            Passing::Memory | Passing::Moved => self.pointer,
            Passing::Register | Passing::Number => self.word,
        }
    }

    /// # Safety
    /// The builder must stand where `value` is live.
    unsafe fn converted(&self, value: LLVMValueRef, passing: Passing) -> LLVMValueRef {
        // SAFETY: the caller's promise.
        unsafe {
            if passing == Passing::Register
                && LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMTypeKind::LLVMPointerTypeKind
            {
                return LLVMBuildPtrToInt(self.builder, value, self.word, c"".as_ptr());
            }
            value
        }
    }

    fn attribute(&self, name: &str) -> inkwell::llvm_sys::prelude::LLVMAttributeRef {
        // SAFETY: an attribute of this context, by its name.
        unsafe {
            let kind = LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len());
            LLVMCreateEnumAttribute(self.context, kind, 0)
        }
    }

    /// What a memory operand points to: of no consequence, but LLVM asks.
    fn element_type(&self) -> inkwell::llvm_sys::prelude::LLVMAttributeRef {
        const NAME: &str = "elementtype";
        // SAFETY: as above.
        unsafe {
            let kind = LLVMGetEnumAttributeKindForName(NAME.as_ptr().cast(), NAME.len());
            LLVMCreateTypeAttribute(self.context, kind, LLVMInt8TypeInContext(self.context))
        }
    }
}

/// Whether some value of a function is a `long double`.
pub(crate) fn uses_x87(function: FunctionValue<'_>) -> bool {
    function
        .get_basic_block_iter()
        .flat_map(|block| block.get_instructions())
        .any(|instruction| {
            // SAFETY: an instruction of a live function has a type.
            let kind = unsafe { LLVMGetTypeKind(LLVMTypeOf(instruction.as_value_ref())) };
            kind == LLVMTypeKind::LLVMX86_FP80TypeKind
        })
}

/// Registers that are named as changed cost much time in code generation, hence
/// none: the stub and its thunk save what they use, flags included.
fn constraints(passings: &[Passing], x87: bool) -> String {
    let mut text = String::new();
    for passing in passings {
        text.push_str(match passing {
            Passing::Memory => "*m,",
            Passing::Moved | Passing::Register => "r,",
            Passing::Number => "i,",
        });
    }
    text += "i,~{memory}";
    if x87 {
        text += ",~{st},~{st(1)},~{st(2)},~{st(3)},~{st(4)},~{st(5)},~{st(6)},~{st(7)}";
    }
    text
}

/// The empty instruction and its stub. Every stub is padded to the next multiple
/// of 32 bytes; its section begins at one, since nothing else goes into it.
fn assembly(hook: &str, passings: &[Passing], section: &str) -> String {
    let label = ".Lbohr${:uid}";
    let site = passings.len();
    let mut text = format!(
        "{label}:\n.byte 0x0f,0x1f,0x44,0,0\n\
         .pushsection {section},\"axR\",@progbits\n\
         .long {label}-.\n.byte 0x68\n.long ${{{site}:c}}\n"
    );
    for (index, passing) in passings.iter().enumerate() {
        text += &match passing {
            Passing::Memory => format!("pushq %r11\nleaq ${index}, %r11\n"),
            Passing::Moved => format!("pushq %r11\nmovq ${index}, %r11\n"),
            Passing::Register | Passing::Number => format!("pushq ${index}\n"),
        };
    }
    text + &format!("jmp __bohr_thunk_{hook}\n.p2align 5\n.popsection")
}
