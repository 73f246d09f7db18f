//! Exceptions: from a throw to the landing pad that stops it, as the Itanium
//! C++ ABI has it. Rust's panics take the same way.

use super::datum::Datum;
use super::machine::Machine;
use super::{Halt, Status, Step, not_modelled};
use crate::function::Body;
use crate::ids::*;
use crate::instruction::{Clause, Operation};
use cranelift_entity::EntityRef;
use std::collections::HashMap;

/// An exception that was thrown.
#[derive(Clone, Debug)]
pub(super) struct Exception {
    /// The address of its type information; `None` if the language has none.
    pub(super) of: Option<u64>,
    /// What destroys it; 0 if nothing has to.
    pub(super) destructor: u64,
    /// How many handlers are dealing with it.
    handlers: u32,
    /// Whether a handler threw it again: ending that handler keeps it alive.
    rethrown: bool,
    /// How far the caught base lies from the beginning of the object.
    adjustment: u64,
}

/// Exceptions in flight or caught.
#[derive(Debug, Default)]
pub(super) struct Exceptions {
    /// By the address of their object.
    pub(super) all: HashMap<u64, Exception>,
    /// Those that handlers are dealing with, the innermost last.
    pub(super) caught: Vec<u64>,
    /// What the next landing pad gets.
    arrival: Option<Datum>,
    /// Frames below this wait for a callback of the library: nothing unwinds
    /// through them.
    pub(super) floor: usize,
    /// Type informations that `llvm.eh.typeid.for` or a landing pad named.
    numbers: HashMap<u64, u64>,
}

impl Exceptions {
    /// Whether control has just gone to a landing pad.
    pub(super) fn arrived(&self) -> bool {
        self.arrival.is_some()
    }

    pub(super) fn take_arrival(&mut self) -> Datum {
        self.arrival.take().unwrap_or(Datum::NOTHING)
    }

    /// The number that stands for a type information in selectors.
    pub(super) fn number(&mut self, information: u64) -> u64 {
        let next = self.numbers.len() as u64 + 1;
        *self.numbers.entry(information).or_insert(next)
    }

    /// Notes that an exception was thrown.
    pub(super) fn throw(&mut self, object: u64, of: Option<u64>, destructor: u64) {
        let exception = Exception {
            of,
            destructor,
            handlers: 0,
            rethrown: false,
            adjustment: 0,
        };
        self.all.insert(object, exception);
    }
}

/// Where an exception goes next.
struct Arrival {
    frame: usize,
    pad: BlockNumber,
    selector: u64,
    adjustment: u64,
    /// Whether it is stopped there, rather than only passing through a clean-up.
    stops: bool,
}

impl Machine<'_> {
    /// Unwinds with an exception: to the next landing pad, if any handler above
    /// will stop it.
    ///
    /// Gives `false` if none will: then nothing was unwound.
    pub(super) fn unwind(&mut self, object: u64) -> Step<bool> {
        let mut first = None;
        for frame in (self.exceptions.floor..self.frames.len()).rev() {
            let Some(arrival) = self.arrival(frame, object)? else {
                continue;
            };
            let stops = arrival.stops;
            first = first.or(Some(arrival));
            if stops {
                self.arrive(object, first.expect("just set"))?;
                return Ok(true);
            }
        }
        match self.exceptions.floor {
            0 => Ok(false),
            _ => not_modelled("an exception that leaves a callback"),
        }
    }

    fn arrive(&mut self, object: u64, arrival: Arrival) -> Step<()> {
        if let Some(above) = self.frames.get(arrival.frame + 1) {
            self.memory.stack.shrink(above.stack);
        }
        self.frames.truncate(arrival.frame + 1);
        if arrival.stops {
            let exception = self.exceptions.all.get_mut(&object);
            exception
                .ok_or(Halt::Undefined("it resumes what was not thrown"))?
                .adjustment = arrival.adjustment;
        }
        self.jump(arrival.pad)?;
        let pad = Datum::of_parts([object.into(), arrival.selector.into()]);
        self.exceptions.arrival = Some(pad);
        Ok(())
    }

    /// What `_Unwind_Resume` does.
    pub(super) fn resume(&mut self, object: u64) -> Step<()> {
        match self.unwind(object)? {
            true => Ok(()),
            false => Err(Halt::Ended(Status::Aborted)),
        }
    }

    /// Where an exception would arrive in a frame.
    fn arrival(&mut self, frame: usize, object: u64) -> Step<Option<Arrival>> {
        let at = InstructionNumber::new(self.frames[frame].next - 1);
        let body: &Body = self.frames[frame].body;
        // A terminator that jumped has moved on: only calls are waiting here.
        let Operation::Invoke { unwind, .. } = body.instructions[at].operation else {
            return Ok(None);
        };
        let pad = body
            .block(unwind)
            .find_map(|(_, instruction)| match instruction.operation {
                Operation::LandingPad { clauses, cleanup } => Some((clauses, cleanup)),
                _ => None,
            });
        let (clauses, cleanup) = pad.ok_or(Halt::Undefined("it unwinds to no landing pad"))?;
        let arrive = |selector, adjustment, stops| Arrival {
            frame,
            pad: unwind,
            selector,
            adjustment,
            stops,
        };
        for clause in body.clauses.get(clauses) {
            match clause {
                Clause::Catch(information) => {
                    let information = self.constant(*information)?.word();
                    if let Some(adjustment) = self.matches(object, information)? {
                        let selector = self.exceptions.number(information);
                        return Ok(Some(arrive(selector, adjustment, true)));
                    }
                }
                Clause::Filter(informations) => {
                    let informations = self.constant(*informations)?;
                    let mut allowed = false;
                    for information in informations.parts() {
                        allowed |= self.matches(object, information.word())?.is_some();
                    }
                    if !allowed {
                        return Ok(Some(arrive(u64::from(u32::MAX), 0, true)));
                    }
                }
            }
        }
        Ok(cleanup.then(|| arrive(0, 0, false)))
    }

    /// Whether a handler for a type stops an exception, and where in it the
    /// caught object lies.
    fn matches(&self, object: u64, wanted: u64) -> Step<Option<u64>> {
        let Some(exception) = self.exceptions.all.get(&object) else {
            return Err(Halt::Undefined("it unwinds with what was not thrown"));
        };
        match exception.of {
            _ if wanted == 0 => Ok(Some(0)),
            Some(of) => self.base_offset(of, wanted),
            None => Ok(None),
        }
    }

    /// How far a base class lies from the beginning of a class; `None` if it is
    /// no base. Type informations hold a pointer to the virtual table of their
    /// own kind, then the name, then the bases.
    fn base_offset(&self, of: u64, wanted: u64) -> Step<Option<u64>> {
        if of == wanted {
            return Ok(Some(0));
        }
        let kind = self.memory.read_word(of)?.wrapping_sub(16);
        let is = |name: &str| {
            let mut all = self.program.globals.iter();
            all.any(|(number, global)| {
                self.globals[number] == kind && &self.program.texts[global.name] == name
            })
        };
        if is("_ZTVN10__cxxabiv120__si_class_type_infoE") {
            return self.base_offset(self.memory.read_word(of + 16)?, wanted);
        }
        if !is("_ZTVN10__cxxabiv121__vmi_class_type_infoE") {
            return Ok(None);
        }
        let count = self.memory.read_int(of + 20)?.cast_unsigned();
        for base in (0..u64::from(count)).map(|index| of + 24 + index * 16) {
            let (information, flags) = (
                self.memory.read_word(base)?,
                self.memory.read_word(base + 8)?,
            );
            if let Some(offset) = self.base_offset(information, wanted)? {
                let is_virtual = flags & 1 != 0;
                if is_virtual {
                    return not_modelled("an exception caught as a virtual base");
                }
                return Ok(Some(offset + (flags >> 8)));
            }
        }
        Ok(None)
    }

    /// What `__dynamic_cast` does. Before an object's virtual functions stand
    /// how far it lies from the whole object, and that one's type information.
    pub(super) fn dynamic_cast(&self, object: u64, wanted: u64) -> Step<u64> {
        let functions = self.memory.read_word(object)?;
        let whole = object.wrapping_add(self.memory.read_word(functions - 16)?);
        let of = self.memory.read_word(functions - 8)?;
        let offset = self.base_offset(of, wanted)?;
        Ok(offset.map_or(0, |offset| whole + offset))
    }

    /// What `__cxa_begin_catch` does: the address of the caught object.
    pub(super) fn begin_catch(&mut self, object: u64) -> Step<u64> {
        let exception = self.exceptions.all.get_mut(&object);
        let exception = exception.ok_or(Halt::Undefined("it catches what was not thrown"))?;
        exception.handlers += 1;
        exception.rethrown = false;
        let adjusted = object + exception.adjustment;
        self.exceptions.caught.push(object);
        Ok(adjusted)
    }

    /// What `__cxa_rethrow` does.
    pub(super) fn rethrow(&mut self) -> Step<()> {
        let Some(object) = self.exceptions.caught.last().copied() else {
            return Err(Halt::Ended(Status::Aborted));
        };
        if let Some(exception) = self.exceptions.all.get_mut(&object) {
            exception.rethrown = true;
        }
        self.resume(object)
    }

    /// What `__cxa_end_catch` does.
    pub(super) fn end_catch(&mut self) -> Step<()> {
        let Some(object) = self.exceptions.caught.pop() else {
            return Err(Halt::Undefined("it ends a catch that did not begin"));
        };
        let Some(exception) = self.exceptions.all.get_mut(&object) else {
            return Ok(());
        };
        exception.handlers = exception.handlers.saturating_sub(1);
        if exception.handlers > 0 || exception.rethrown {
            return Ok(());
        }
        let destructor = exception.destructor;
        self.exceptions.all.remove(&object);
        if destructor != 0 {
            let destructor = self.function_at(destructor)?;
            self.call_and_wait(destructor, vec![object.into()])?;
        }
        self.heap.release(object)
    }
}
