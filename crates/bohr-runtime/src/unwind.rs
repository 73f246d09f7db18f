//! Stacks of failing threads, from the call frame information that every object
//! carries for exceptions. Run at the end of a failing run, and now and then in a long
//! one, for what its threads hold in registers ([`crate::fingerprint`]).

use crate::{hooks::entry, objects::OBJECTS, signals::frame};
use alloc::vec::Vec;
use core::ops::Range;
use gimli::{
    BaseAddresses, CfaRule, EhFrame, EhFrameHdr, EndianSlice, FrameDescriptionEntry, LittleEndian,
    NativeEndian, Register, RegisterRule, UnwindContext, UnwindSection, X86_64,
};

/// Frames kept of a stack; deep recursion says no more after that.
const DEEPEST: usize = 64;

const COUNT: usize = 17;
const STACK: usize = X86_64::RSP.0 as usize;
const INSTRUCTION: usize = X86_64::RA.0 as usize;

/// Registers that a call leaves as they are, and the two that lead back from it.
const KEPT: [usize; 8] = [
    X86_64::RBX.0 as usize,
    X86_64::RBP.0 as usize,
    STACK,
    X86_64::R12.0 as usize,
    X86_64::R13.0 as usize,
    X86_64::R14.0 as usize,
    X86_64::R15.0 as usize,
    INSTRUCTION,
];

/// Where a signal's context has the registers, by their DWARF numbers.
const ORDER: [i32; COUNT] = [
    libc::REG_RAX,
    libc::REG_RDX,
    libc::REG_RCX,
    libc::REG_RBX,
    libc::REG_RSI,
    libc::REG_RDI,
    libc::REG_RBP,
    libc::REG_RSP,
    libc::REG_R8,
    libc::REG_R9,
    libc::REG_R10,
    libc::REG_R11,
    libc::REG_R12,
    libc::REG_R13,
    libc::REG_R14,
    libc::REG_R15,
    libc::REG_RIP,
];

/// Registers of a frame, by their DWARF numbers; the last is the program counter.
#[derive(Clone, Copy, Debug, Default)]
pub struct Registers {
    values: [u64; COUNT],
    /// The program counter is the interrupted instruction, not a return address.
    interrupted: bool,
}

impl Registers {
    /// Where a suspended fiber will continue.
    pub fn of_fiber(fiber: bohr_fiber::Registers) -> Registers {
        let mut values = [0; COUNT];
        let [rbx, r12, r13, r14, r15] = fiber.saved.map(|value| value as u64);
        values[X86_64::RBX.0 as usize] = rbx;
        values[X86_64::RBP.0 as usize] = fiber.frame as u64;
        values[STACK] = fiber.stack as u64;
        values[12..16].copy_from_slice(&[r12, r13, r14, r15]);
        values[INSTRUCTION] = fiber.instruction as u64;
        Registers {
            values,
            interrupted: false,
        }
    }

    /// Where a signal interrupted the program.
    pub fn of_signal(context: &libc::ucontext_t) -> Registers {
        let general = &context.uc_mcontext.gregs;
        Registers {
            values: ORDER.map(|register| general[register as usize] as u64),
            interrupted: true,
        }
    }

    /// The function that this is inlined into. Good as long as that function has
    /// not returned: what it calls later lies below its frame.
    #[inline(always)]
    pub fn here() -> Registers {
        let mut values = [0u64; COUNT];
        // SAFETY: copies registers and the address of the next instruction.
        unsafe {
            core::arch::asm!(
                "mov [{values} + 3 * 8], rbx",
                "mov [{values} + 6 * 8], rbp",
                "mov [{values} + 7 * 8], rsp",
                "mov [{values} + 12 * 8], r12",
                "mov [{values} + 13 * 8], r13",
                "mov [{values} + 14 * 8], r14",
                "mov [{values} + 15 * 8], r15",
                "lea {address}, [rip]",
                "mov [{values} + 16 * 8], {address}",
                values = in(reg) values.as_mut_ptr(),
                address = out(reg) _,
                options(nostack)
            );
        }
        Registers {
            values,
            interrupted: true,
        }
    }

    /// All of them.
    pub fn values(&self) -> [u64; COUNT] {
        self.values
    }

    /// Writes them where a signal's context has them.
    pub fn describe(&self, context: &mut libc::ucontext_t) {
        for (register, value) in ORDER.into_iter().zip(self.values) {
            context.uc_mcontext.gregs[register as usize] = value as i64;
        }
    }

    /// Down to where the stack is in use.
    pub fn stack_pointer(&self) -> usize {
        self.values[STACK] as usize
    }

    /// The program counter.
    pub fn instruction(&self) -> u64 {
        self.values[INSTRUCTION]
    }

    /// The program counter as places are told: behind the call that is being
    /// made, or one byte into the instruction that was interrupted.
    pub fn place(&self) -> u64 {
        self.instruction() + u64::from(self.interrupted)
    }
}

/// Return addresses from the innermost frame outwards, beginning with the
/// place of the program counter. Reads no memory outside of `bounds`, the thread's stacks.
pub fn stack(mut registers: Registers, bounds: &Bounds) -> Vec<u64> {
    let mut addresses = Vec::new();
    let mut context = UnwindContext::new();
    while addresses.len() < DEEPEST && registers.instruction() != 0 {
        addresses.push(registers.place());
        match caller(&registers, bounds, &mut context) {
            Some(outer) if is_outwards(&registers, &outer, bounds) => registers = outer,
            _ => break,
        }
    }
    addresses
}

/// The stacks of a thread, the lowest address and the first behind it: its own, and the
/// one that its handlers run on.
pub type Bounds = [(usize, usize); 2];

/// Which stack holds an address.
fn stack_of(address: usize, bounds: &Bounds) -> Option<usize> {
    let holds = |&(start, end): &(usize, usize)| (start..end).contains(&address);
    bounds.iter().position(holds)
}

/// Whether one frame can be the caller of the other: frames end further up, or on
/// another stack.
fn is_outwards(inner: &Registers, outer: &Registers, bounds: &Bounds) -> bool {
    let [inner, outer] = [inner, outer].map(Registers::stack_pointer);
    outer > inner || stack_of(inner, bounds) != stack_of(outer, bounds)
}

type Bytes = EndianSlice<'static, LittleEndian>;

/// One frame outwards.
fn caller(
    registers: &Registers,
    bounds: &Bounds,
    context: &mut UnwindContext<usize>,
) -> Option<Registers> {
    if frame::is_end(registers.instruction()) {
        let interrupted = registers.stack_pointer();
        stack_of(interrupted, bounds)?;
        // SAFETY: this is where the handler of a fault returns to, on a stack of the
        // thread, and what it returns with is there.
        return Some(Registers::of_signal(unsafe {
            &*(interrupted as *const libc::ucontext_t)
        }));
    }
    // A return address may be the first of the next function.
    let address = registers.instruction() - u64::from(!registers.interrupted);
    let (function, frames, bases) = described(address)?;
    let row = function
        .unwind_info_for_address(&frames, &bases, context, address)
        .ok()?;
    let CfaRule::RegisterAndOffset { register, offset } = *row.cfa() else {
        return None;
    };
    let frame = registers
        .values
        .get(register.0 as usize)?
        .wrapping_add_signed(offset);
    let mut outer = Registers {
        interrupted: false,
        ..*registers
    };
    for number in 0..COUNT {
        let value = &mut outer.values[number];
        match row.register(Register(number as u16)) {
            Some(RegisterRule::Offset(offset)) => {
                *value = read(frame.wrapping_add_signed(offset), bounds)?;
            }
            Some(RegisterRule::ValOffset(offset)) => *value = frame.wrapping_add_signed(offset),
            Some(RegisterRule::Undefined) if number == INSTRUCTION => return None,
            _ => {}
        }
    }
    outer.values[STACK] = frame;
    Some(outer)
}

/// What the call frame information says of the function that holds an address, and
/// where that information is.
fn described(
    address: u64,
) -> Option<(FrameDescriptionEntry<Bytes>, EhFrame<Bytes>, BaseAddresses)> {
    let tables = Tables::of(address)?;
    let header = EhFrameHdr::new(tables.header, NativeEndian)
        .parse(&tables.bases, size_of::<usize>() as u8)
        .ok()?;
    let frames = tables.frames(&header)?;
    let bases = tables.bases.set_eh_frame(frames.as_ptr() as u64);
    let frames: EhFrame<Bytes> = EhFrame::from(EndianSlice::new(frames, LittleEndian));
    let table = header.table()?;
    let function = table
        .fde_for_address(&frames, &bases, address, EhFrame::cie_from_offset)
        .ok()?;
    Some((function, frames, bases))
}

/// With what a thread goes on that has come into the runtime, by a hook or a call.
#[derive(Debug)]
pub struct Entrance {
    /// The registers that a call leaves as they are, and where it goes on.
    pub values: [u64; KEPT.len()],
    /// What the stack holds from here on is the program's, or was saved for it.
    pub lowest: usize,
    /// So are vector registers that a hook has saved further down.
    pub vectors: Range<usize>,
}

/// How a thread came into the runtime whose frames these registers are in. `None` where
/// that cannot be told.
pub fn entrance(mut registers: Registers, bounds: &Bounds) -> Option<Entrance> {
    let mut context = UnwindContext::new();
    let mut hook = None;
    while OBJECTS.is_runtime(registers.instruction()) {
        let (function, ..) = described(registers.instruction() - 1)?;
        if entry::saves_registers(function.initial_address()) {
            hook = Some(registers);
        }
        let outer = caller(&registers, bounds, &mut context)?;
        if !is_outwards(&registers, &outer, bounds) {
            return None;
        }
        registers = outer;
    }
    let values = KEPT.map(|register| registers.values[register]);
    let (lowest, vectors) = match hook {
        None => (registers.stack_pointer(), 0..0),
        Some(hook) => {
            entry::saved_registers(hook.values[X86_64::RBP.0 as usize], hook.values[STACK])
        }
    };
    Some(Entrance {
        values,
        lowest,
        vectors,
    })
}

/// A word of a stack.
fn read(address: u64, bounds: &Bounds) -> Option<u64> {
    let address = address as usize;
    // Stacks end on whole words.
    if !address.is_multiple_of(8) || stack_of(address, bounds).is_none() {
        return None;
    }
    // SAFETY: it lies in a stack of the thread, which is mapped.
    Some(unsafe { *(address as *const u64) })
}

/// The call frame tables of the object that holds an address.
struct Tables {
    header: &'static [u8],
    bases: BaseAddresses,
    /// First address behind the object.
    end: u64,
}

impl Tables {
    fn of(address: u64) -> Option<Tables> {
        let mut search = Search {
            address,
            found: None,
        };
        // SAFETY: the callback gets the search that it is called with.
        unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut search).cast()) };
        search.found
    }

    /// From the beginning of the frames to the end of the object's memory.
    fn frames(&self, header: &gimli::ParsedEhFrameHdr<Bytes>) -> Option<&'static [u8]> {
        let gimli::Pointer::Direct(start) = header.eh_frame_ptr() else {
            return None;
        };
        let length = self.end.checked_sub(start)? as usize;
        // SAFETY: loaded segments lie between the two, and tables end before gaps.
        Some(unsafe { core::slice::from_raw_parts(start as *const u8, length) })
    }
}

struct Search {
    address: u64,
    found: Option<Tables>,
}

/// Called by the loader for each object.
unsafe extern "C" fn look(
    info: *mut libc::dl_phdr_info,
    _: libc::size_t,
    search: *mut libc::c_void,
) -> i32 {
    // SAFETY: the loader passes a valid description, and `Tables::of` its search.
    let (info, search) = unsafe { (&*info, &mut *search.cast::<Search>()) };
    // SAFETY: the table has that many entries.
    let headers = unsafe { core::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum as usize) };
    let start = |header: &libc::Elf64_Phdr| info.dlpi_addr.wrapping_add(header.p_vaddr);
    let holding = headers.iter().find(|header| {
        header.p_type == libc::PT_LOAD
            && (start(header)..start(header) + header.p_memsz).contains(&search.address)
    });
    let tables = headers
        .iter()
        .find(|header| header.p_type == libc::PT_GNU_EH_FRAME);
    let (Some(_), Some(tables)) = (holding, tables) else {
        return 0;
    };
    // The tables' own segment ends behind them.
    let segment = headers.iter().find(|header| {
        header.p_type == libc::PT_LOAD
            && (header.p_vaddr..header.p_vaddr + header.p_memsz).contains(&tables.p_vaddr)
    });
    let Some(segment) = segment else {
        return 1;
    };
    let begin = start(tables);
    // SAFETY: the loader has mapped this part of the object.
    let header =
        unsafe { core::slice::from_raw_parts(begin as *const u8, tables.p_memsz as usize) };
    search.found = Some(Tables {
        header,
        bases: BaseAddresses::default().set_eh_frame_hdr(begin),
        end: start(segment) + segment.p_memsz,
    });
    1
}
