//! Memory as objects at addresses, each byte known or a byte of a term.
//!
//! ```text
//! 0x0000_0000_0010_0000  globals
//! 0x0000_0000_4000_0000  functions (16 bytes each; nothing to read there)
//! 0x0000_0100_0000_0000  heap of thread 0, then of thread 1, 2^40 bytes each
//!            + 2^39       its stack and its thread-local variables
//! ```
//!
//! Nothing is given out twice: an address names one object for ever, by its thread
//! and its number among that thread's allocations, whatever the schedule.

use crate::execute::{Halt, Step, not_modelled};
use crate::term::{Operator, Scalar, Terms};
use bohr_program::{FunctionNumber, IntegerPredicate};
use cranelift_entity::EntityRef;
use std::collections::BTreeMap;
use std::sync::Arc;

const GLOBALS: u64 = 0x10_0000;
const FUNCTIONS: u64 = 0x4000_0000;
const FUNCTION_SIZE: u64 = 16;
const THREAD: u64 = 1 << 40;
const STACK: u64 = 1 << 39;

/// No object is larger than this.
const LARGEST: u64 = 1 << 28;

/// Below this nothing ever lies: an access there is one through a null pointer.
pub(crate) const NULL_END: u64 = 0x1_0000;

/// A write whose place in its object is not known, or one that came after such.
#[derive(Clone, Debug)]
struct Write {
    offset: Scalar,
    size: u32,
    value: Scalar,
}

/// A byte of a term that was stored as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Byte {
    term: Scalar,
    index: u8,
    /// How many bytes were stored.
    of: u32,
}

/// Bytes that belong together.
#[derive(Clone, Debug)]
pub(crate) struct Object {
    size: u64,
    bytes: Vec<u8>,
    unknown: BTreeMap<u64, Byte>,
    /// Bytes of terms as terms of their own, once somebody asked for that.
    sliced: BTreeMap<u64, Scalar>,
    /// Writes since the first at an unknown offset, in order (CLAP, section 5).
    writes: Vec<Write>,
}

impl Object {
    fn new(size: u64) -> Object {
        Object {
            size,
            bytes: vec![0; size as usize],
            unknown: BTreeMap::new(),
            sliced: BTreeMap::new(),
            writes: Vec::new(),
        }
    }

    /// Every word and term in it that could be an address.
    pub(crate) fn contents(&self) -> impl Iterator<Item = Scalar> {
        let words = self.bytes.chunks_exact(8).map(|chunk| {
            let word = chunk.iter().rev();
            Scalar::Known(word.fold(0, |word, byte| word << 8 | u128::from(*byte)))
        });
        let unknown = self.unknown.values().map(|byte| byte.term);
        let written = self.writes.iter().map(|write| write.value);
        words.chain(unknown).chain(written)
    }

    fn plain(&self, terms: &mut Terms, offset: u64, size: u32) -> Step<Scalar> {
        let end = offset + u64::from(size);
        if self.unknown.range(offset..end).next().is_none() {
            let bytes = &self.bytes[offset as usize..end as usize];
            let fold = |value: u128, byte: &u8| value << 8 | u128::from(*byte);
            return Ok(Scalar::Known(bytes.iter().rev().fold(0, fold)));
        }
        self.mixed(terms, offset, size)
    }

    /// Bytes of which some are of terms: one whole term, or many pieces.
    fn mixed(&self, terms: &mut Terms, offset: u64, size: u32) -> Step<Scalar> {
        if let Some(Byte { term, index: 0, of }) = self.unknown.get(&offset).copied()
            && of == size
        {
            let is_next = |at: u8| {
                let byte = self.unknown.get(&(offset + u64::from(at)));
                byte == Some(&Byte {
                    term,
                    index: at,
                    of,
                })
            };
            if (0..size as u8).all(is_next) {
                return Ok(term);
            }
        }
        let mut joined = Scalar::Known(0);
        for at in (0..u64::from(size)).rev() {
            let byte = match self.unknown.get(&(offset + at)) {
                None => Scalar::Known(self.bytes[(offset + at) as usize].into()),
                Some(byte) => {
                    let shift = u32::from(byte.index) * 8;
                    terms.compute(Operator::Slice { shift, bits: 8 }, &[byte.term])?
                }
            };
            joined = terms.compute(Operator::Join(8), &[byte, joined])?;
        }
        Ok(joined)
    }

    fn load(&self, terms: &mut Terms, offset: Scalar, size: u32) -> Step<Scalar> {
        let mut value = match offset.known() {
            Some(offset) => self.plain(terms, offset as u64, size)?,
            None => self.anywhere(terms, offset, size)?,
        };
        for write in &self.writes {
            if write.size != size {
                return not_modelled(
                    "an array element that is read and written at unknown places in pieces of different sizes",
                );
            }
            let equal = Operator::CompareIntegers(IntegerPredicate::Equal, 64);
            let same = terms.compute(equal, &[write.offset, offset])?;
            value = terms.compute(Operator::Select, &[same, write.value, value])?;
        }
        Ok(value)
    }

    /// What lay at an unknown offset before all writes at such.
    fn anywhere(&self, terms: &mut Terms, offset: Scalar, size: u32) -> Step<Scalar> {
        let count = self.size / u64::from(size);
        if count > 4096 {
            return not_modelled("an unknown place in an object of more than 4096 elements");
        }
        let mut value = Scalar::Known(0);
        for index in (0..count).rev() {
            let at = index * u64::from(size);
            let element = self.plain(terms, at, size)?;
            let equal = Operator::CompareIntegers(IntegerPredicate::Equal, 64);
            let same = terms.compute(equal, &[offset, at.into()])?;
            value = terms.compute(Operator::Select, &[same, element, value])?;
        }
        Ok(value)
    }

    fn store(&mut self, offset: Scalar, size: u32, value: Scalar) {
        match offset.known() {
            Some(offset) if self.writes.is_empty() => self.put(offset as u64, size, value),
            _ => self.writes.push(Write {
                offset,
                size,
                value,
            }),
        }
    }

    fn put(&mut self, offset: u64, size: u32, value: Scalar) {
        for at in 0..u64::from(size) {
            match value {
                Scalar::Known(bits) => {
                    self.bytes[(offset + at) as usize] = (bits >> (at * 8)) as u8;
                    self.unknown.remove(&(offset + at));
                }
                Scalar::Term(_) => {
                    let byte = Byte {
                        term: value,
                        index: at as u8,
                        of: size,
                    };
                    self.unknown.insert(offset + at, byte);
                }
            }
        }
    }
}

/// Objects by address. Cloning shares them until somebody writes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memory {
    objects: BTreeMap<u64, Arc<Object>>,
}

impl Memory {
    pub(crate) fn add(&mut self, address: u64, size: u64) -> Step<()> {
        if size > LARGEST {
            return not_modelled(format!("an object of {size} bytes"));
        }
        self.objects.insert(address, Arc::new(Object::new(size)));
        Ok(())
    }

    /// The object that an address lies in or just behind, and its size.
    pub(crate) fn object(&self, address: u64) -> Option<(u64, u64)> {
        let (base, object) = self.objects.range(..=address).next_back()?;
        (address - base <= object.size).then_some((*base, object.size))
    }

    /// The object that an unknown address must lie in, if it is told.
    pub(crate) fn object_of(&self, terms: &Terms, address: Scalar) -> Option<(u64, u64)> {
        match address {
            Scalar::Known(address) => self.object(address as u64),
            Scalar::Term(_) => self.object(terms.base(address)? as u64),
        }
    }

    fn place(&self, terms: &mut Terms, address: Scalar, size: u32) -> Step<(u64, Scalar)> {
        let Some((base, length)) = self.object_of(terms, address) else {
            return match address {
                Scalar::Known(address) => Err(Halt::Fault(address as u64)),
                Scalar::Term(_) => {
                    not_modelled("an access of private memory through a pointer that others wrote")
                }
            };
        };
        let subtract = Operator::Binary(
            bohr_program::BinaryOperator::Subtract,
            bohr_program::interpret::arithmetic::Number::Integer(64),
        );
        let offset = terms.compute(subtract, &[address, base.into()])?;
        match offset {
            Scalar::Known(offset) if offset + u128::from(size) > length.into() => {
                Err(Halt::Fault(base + offset as u64))
            }
            _ => Ok((base, offset)),
        }
    }

    pub(crate) fn load(&self, terms: &mut Terms, address: Scalar, size: u32) -> Step<Scalar> {
        let (base, offset) = self.place(terms, address, size)?;
        self.objects[&base].load(terms, offset, size)
    }

    pub(crate) fn store(
        &mut self,
        terms: &mut Terms,
        address: Scalar,
        size: u32,
        value: Scalar,
    ) -> Step<()> {
        let (base, offset) = self.place(terms, address, size)?;
        let object = self
            .objects
            .get_mut(&base)
            .expect("the object was just found");
        Arc::make_mut(object).store(offset, size, value);
        Ok(())
    }

    /// What lies somewhere, if it depends on nothing; what is nowhere is zero.
    pub(crate) fn known(&self, address: u64, size: u32) -> Option<Scalar> {
        let end = address.checked_add(size.into())?;
        let Some((base, length)) = self.object(address).filter(|it| end <= it.0 + it.1) else {
            return Some(Scalar::Known(0));
        };
        let object = &self.objects[&base];
        let (from, to) = (address - base, end - base);
        let depends = !object.writes.is_empty() || object.unknown.range(from..to).next().is_some();
        if depends || length < to {
            return None;
        }
        let bytes = object.bytes[from as usize..to as usize].iter().rev();
        let value = bytes.fold(0, |value, byte| value << 8 | u128::from(*byte));
        Some(Scalar::Known(value))
    }

    /// A byte, perhaps the lowest eight bits of a term.
    pub(crate) fn byte(&self, address: u64) -> Scalar {
        match self.object(address) {
            Some((base, size)) if address < base + size => {
                let object = &self.objects[&base];
                match object.sliced.get(&(address - base)) {
                    Some(byte) => *byte,
                    None => Scalar::Known(object.bytes[(address - base) as usize].into()),
                }
            }
            _ => Scalar::Known(0),
        }
    }

    /// Makes terms of all bytes that are parts of terms, so that they can be looked at
    /// without changing anything.
    pub(crate) fn slice(&mut self, terms: &mut Terms) -> Step<()> {
        for object in self.objects.values_mut() {
            if object.unknown.is_empty() && object.writes.is_empty() {
                continue;
            }
            let object = Arc::make_mut(object);
            let offsets: Vec<u64> = match object.writes.is_empty() {
                true => object.unknown.keys().copied().collect(),
                false => {
                    return not_modelled(
                        "an array that was written at unknown places before others could see it",
                    );
                }
            };
            for offset in offsets {
                let byte = object.unknown[&offset];
                let shift = u32::from(byte.index) * 8;
                let slice = terms.compute(Operator::Slice { shift, bits: 8 }, &[byte.term])?;
                object.sliced.insert(offset, slice);
            }
        }
        Ok(())
    }

    /// An object as it is now.
    pub(crate) fn snapshot(&self, base: u64) -> Option<Arc<Object>> {
        self.objects.get(&base).cloned()
    }

    /// An object as it was elsewhere.
    pub(crate) fn put(&mut self, base: u64, object: Arc<Object>) {
        self.objects.insert(base, object);
    }

    /// Where all objects begin.
    pub(crate) fn bases(&self) -> impl Iterator<Item = u64> {
        self.objects.keys().copied()
    }

    pub(crate) fn write_bytes(&mut self, address: u64, bytes: &[u8]) -> Step<()> {
        let Some((base, size)) = self.object(address) else {
            return Err(Halt::Fault(address));
        };
        let from = address - base;
        if from + bytes.len() as u64 > size {
            return Err(Halt::Fault(address));
        }
        let object = self
            .objects
            .get_mut(&base)
            .expect("the object was just found");
        let object = Arc::make_mut(object);
        for (at, byte) in (from..).zip(bytes) {
            object.put(at, 1, Scalar::Known((*byte).into()));
        }
        Ok(())
    }
}

/// Where new objects go.
#[derive(Clone, Debug)]
pub(crate) struct Room(u64);

impl Room {
    pub(crate) fn of_globals() -> Room {
        Room(GLOBALS)
    }

    pub(crate) fn of_heap(thread: usize) -> Room {
        Room(THREAD * (thread as u64 + 1))
    }

    pub(crate) fn of_stack(thread: usize) -> Room {
        Room(THREAD * (thread as u64 + 1) + STACK)
    }

    /// An address for so many bytes, with a gap behind them.
    pub(crate) fn take(&mut self, size: u64, alignment: u64) -> u64 {
        let start = self.0.next_multiple_of(alignment.max(16));
        self.0 = start + size + 16;
        start
    }
}

/// Whether an address lies on a thread's stack.
pub(crate) fn on_stack(thread: usize, address: u64) -> bool {
    let stack = THREAD * (thread as u64 + 1) + STACK;
    (stack..stack + STACK).contains(&address)
}

/// Whether an address is one of a global.
pub(crate) fn is_global(address: u64) -> bool {
    address < FUNCTIONS
}

/// The address of a function.
pub(crate) fn function_address(function: FunctionNumber) -> u64 {
    FUNCTIONS + function.index() as u64 * FUNCTION_SIZE
}

/// The function at an address, of so many.
pub(crate) fn function_at(address: u64, count: usize) -> Option<FunctionNumber> {
    let offset = address.checked_sub(FUNCTIONS)?;
    let index = (offset / FUNCTION_SIZE) as usize;
    (offset % FUNCTION_SIZE == 0 && index < count).then(|| FunctionNumber::new(index))
}
