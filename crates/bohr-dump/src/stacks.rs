//! Who called whom: a thread's frames from the innermost outwards, by the call frame
//! information of the objects, and by frame pointers where there is none.

use crate::{
    Loaded, Memory, Registers,
    expression::{Bytes, Surroundings},
    registers::{COUNT, FRAME_POINTER, PLACE, STACK_POINTER},
};
use gimli::{
    BaseAddresses, CfaRule, EhFrame, EhFrameHdr, Encoding, FrameDescriptionEntry, LittleEndian,
    ParsedEhFrameHdr, Register, RegisterRule, UnwindContext, UnwindExpression, UnwindSection,
    UnwindTableRow,
};
use object::{Object, ObjectSection};

/// Frames of one stack; a recursion without end has more.
const DEEPEST: usize = 20_000;

const ENCODING: Encoding = Encoding {
    address_size: 8,
    format: gimli::Format::Dwarf32,
    version: 4,
};

/// How a frame was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// The thread was in it.
    Innermost,
    /// By call frame information.
    Tables,
    /// By following frame pointers: what lies between may be missing.
    FramePointer,
}

/// A function that had not returned.
#[derive(Clone, Debug)]
pub struct Frame {
    /// What the processor will hold when it is returned to, as far as that is known.
    pub registers: Registers,
    /// Its canonical address: where the stack pointer was before the call.
    pub address: Option<u64>,
    /// How it was found.
    pub found: Found,
    /// It was interrupted by a signal, rather than calling somebody.
    pub interrupted: bool,
}

impl Frame {
    /// Where it goes on.
    #[must_use]
    pub fn place(&self) -> u64 {
        self.registers.place()
    }

    /// An address within the instruction that it is at: a return address may be the
    /// first of the next line, or of the next function.
    #[must_use]
    pub fn instruction(&self) -> u64 {
        match self.interrupted {
            true => self.place(),
            false => self.place().wrapping_sub(1),
        }
    }
}

/// Unwinds stacks.
pub struct Stacks<'s, 'a> {
    memory: &'s Memory<'a>,
    tables: Vec<Tables<'s, 'a>>,
}

/// The call frame information of one object.
struct Tables<'s, 'a> {
    loaded: &'s Loaded<'a>,
    frames: EhFrame<Bytes<'a>>,
    header: Option<ParsedEhFrameHdr<Bytes<'a>>>,
    bases: BaseAddresses,
}

impl<'s, 'a> Stacks<'s, 'a> {
    /// Of a process with these objects.
    #[must_use]
    pub fn new(memory: &'s Memory<'a>, objects: &'s [Loaded<'a>]) -> Stacks<'s, 'a> {
        Stacks {
            memory,
            tables: objects.iter().filter_map(Tables::new).collect(),
        }
    }

    /// The frames of a thread, the innermost first.
    #[must_use]
    pub fn of(&self, registers: &Registers) -> Vec<Frame> {
        let mut frames = Vec::new();
        let mut context = UnwindContext::new();
        let mut next = Some(Frame {
            registers: registers.clone(),
            address: None,
            found: Found::Innermost,
            interrupted: true,
        });
        while let Some(mut frame) = next.take().filter(|_| frames.len() < DEEPEST) {
            next = self.caller(&mut frame, &mut context);
            // Whoever returns to a lower place has lost its way.
            let stack = |frame: &Frame| frame.registers.get(STACK_POINTER);
            next = next.filter(|outer| outer.place() != 0 && stack(outer) > stack(&frame));
            frames.push(frame);
        }
        frames
    }

    fn caller(&self, frame: &mut Frame, context: &mut UnwindContext<usize>) -> Option<Frame> {
        let address = frame.instruction();
        let tables = self
            .tables
            .iter()
            .find(|tables| tables.loaded.range.contains(&address));
        match tables.map(|tables| tables.step(self.memory, frame, context)) {
            Some(Step::Caller(outer)) => Some(outer),
            Some(Step::Outermost) => None,
            Some(Step::Unknown) | None => self.guess(frame),
        }
    }

    /// Where no table helps. A thread that is nowhere was called through a pointer:
    /// its caller's address is on top of the stack. Elsewhere the frame pointer leads on.
    fn guess(&self, frame: &mut Frame) -> Option<Frame> {
        let stack = frame.registers.get(STACK_POINTER)?;
        let is_lost = frame.found == Found::Innermost && !self.memory.is_known(frame.place());
        let (top, pointer) = match is_lost {
            true => (stack, frame.registers.get(FRAME_POINTER)),
            false => {
                let pointer = frame.registers.get(FRAME_POINTER)?;
                let above = pointer >= stack && pointer.is_multiple_of(8);
                (
                    above.then(|| pointer.wrapping_add(8))?,
                    self.memory.word(pointer),
                )
            }
        };
        let mut registers = frame.registers.forgotten();
        registers.set(PLACE, Some(self.memory.word(top)?));
        registers.set(FRAME_POINTER, pointer);
        registers.set(STACK_POINTER, Some(top.wrapping_add(8)));
        frame.address = Some(top.wrapping_add(8));
        Some(Frame {
            registers,
            address: None,
            found: Found::FramePointer,
            interrupted: false,
        })
    }
}

/// One frame outwards.
#[expect(clippy::large_enum_variant, reason = "there is one at a time")]
enum Step {
    Caller(Frame),
    /// There is none.
    Outermost,
    /// The tables do not say.
    Unknown,
}

impl<'s, 'a> Tables<'s, 'a> {
    fn new(loaded: &'s Loaded<'a>) -> Option<Tables<'s, 'a>> {
        let section = |name| {
            let section = loaded.file.section_by_name(name)?;
            Some((
                section.data().ok()?,
                section.address().wrapping_add(loaded.bias),
            ))
        };
        let (frames, start) = section(".eh_frame")?;
        let mut bases = BaseAddresses::default().set_eh_frame(start);
        if let Some((_, text)) = section(".text") {
            bases = bases.set_text(text);
        }
        let header = section(".eh_frame_hdr").and_then(|(bytes, start)| {
            bases = bases.clone().set_eh_frame_hdr(start);
            EhFrameHdr::new(bytes, LittleEndian).parse(&bases, 8).ok()
        });
        let mut frames = EhFrame::new(frames, LittleEndian);
        frames.set_address_size(8);
        Some(Tables {
            loaded,
            frames,
            header,
            bases,
        })
    }

    fn step(
        &self,
        memory: &Memory<'a>,
        frame: &mut Frame,
        context: &mut UnwindContext<usize>,
    ) -> Step {
        let address = frame.instruction();
        let Some(description) = self.description(address) else {
            return Step::Unknown;
        };
        let (frames, bases) = (&self.frames, &self.bases);
        let row = description.unwind_info_for_address(frames, bases, context, address);
        let outer = row.ok().and_then(|row| self.outer(memory, frame, row));
        match outer {
            Some(Some(registers)) => Step::Caller(Frame {
                registers,
                address: None,
                found: Found::Tables,
                interrupted: description.is_signal_trampoline(),
            }),
            Some(None) => Step::Outermost,
            None => Step::Unknown,
        }
    }

    /// What is said about the code at this address: found through the sorted table,
    /// or by reading all.
    fn description(&self, address: u64) -> Option<FrameDescriptionEntry<Bytes<'a>>> {
        let (frames, bases) = (&self.frames, &self.bases);
        let Some(table) = self.header.as_ref().and_then(ParsedEhFrameHdr::table) else {
            let found = frames.fde_for_address(bases, address, EhFrame::cie_from_offset);
            return found.ok();
        };
        let place = table.lookup(address, bases).ok()?.direct().ok()?;
        // A damaged table may point in front of what it is a table of.
        let offset = place.checked_sub(bases.eh_frame.section?)?;
        let offset = gimli::EhFrameOffset(usize::try_from(offset).ok()?);
        let found = frames.fde_from_offset(bases, offset, EhFrame::cie_from_offset);
        found.ok().filter(|found| found.contains(address))
    }

    /// The caller's registers; inside, `None` if there is no caller.
    fn outer(
        &self,
        memory: &Memory<'a>,
        frame: &mut Frame,
        row: &UnwindTableRow<usize>,
    ) -> Option<Option<Registers>> {
        let surroundings = Surroundings {
            registers: &frame.registers,
            memory,
            frame: None,
            frame_base: None,
            bias: self.loaded.bias,
            thread_local: None,
            addresses: None,
            at_entry: &|_| None,
            base_type: &|_| None,
        };
        let evaluate = |expression: &UnwindExpression<usize>, initial| {
            let expression = expression.get(&self.frames).ok()?;
            surroundings.number(expression, ENCODING, initial)
        };
        let address = match row.cfa() {
            CfaRule::RegisterAndOffset { register, offset } => frame
                .registers
                .get(register.0)?
                .wrapping_add_signed(*offset),
            CfaRule::Expression(expression) => evaluate(expression, None)?,
        };
        let mut registers = frame.registers.clone();
        registers.set_vectors(None);
        for number in 0..COUNT as u16 {
            let at = |place: u64| memory.word(place);
            let same = frame.registers.get(number);
            let value = match row.register(Register(number)) {
                Some(RegisterRule::Undefined) if number == PLACE => return Some(None),
                Some(RegisterRule::Undefined) => None,
                Some(RegisterRule::Offset(offset)) => at(address.wrapping_add_signed(offset)),
                Some(RegisterRule::ValOffset(offset)) => Some(address.wrapping_add_signed(offset)),
                Some(RegisterRule::Register(other)) => frame.registers.get(other.0),
                Some(RegisterRule::Expression(expression)) => {
                    evaluate(&expression, Some(address)).and_then(at)
                }
                Some(RegisterRule::ValExpression(expression)) => {
                    evaluate(&expression, Some(address))
                }
                Some(RegisterRule::Constant(value)) => Some(value),
                // Callees may change what they need not keep.
                None if !is_kept(number) => None,
                _ => same,
            };
            registers.set(number, value);
        }
        if row.register(Register(STACK_POINTER)).is_none() {
            registers.set(STACK_POINTER, Some(address));
        }
        registers.get(PLACE)?;
        frame.address = Some(address);
        Some(Some(registers))
    }
}

/// Whether a function leaves the register as it was, by the x86-64 calling convention.
fn is_kept(register: u16) -> bool {
    matches!(register, 3 | FRAME_POINTER | STACK_POINTER | 12..=15)
}
