//! Functions and their bodies.

use crate::ids::{
    AttributesNumber, BlockNumber, CallNumber, FileNumber, InstructionNumber, LocationNumber,
    TextNumber, TypeNumber, UnitNumber,
};
use crate::instruction::{Case, Clause, Incoming, Instruction, Operation, Value};
use crate::pool::{List, Pool};
use crate::source_type::SourceVariable;
use bohr_event::FunctionId;
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntityRef, PrimaryMap};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// The language that code was written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Language {
    /// C.
    C,
    /// C++.
    Cpp,
    /// Rust.
    Rust,
    /// Another one, or one that neither debug information nor a name tells.
    Other,
}

impl Language {
    /// What a linkage name tells by the way it is mangled.
    ///
    /// ```
    /// use bohr_program::Language;
    /// let of = Language::of_name;
    /// assert_eq!(of("_RNvC3app4main"), Language::Rust);
    /// assert_eq!(of("_ZN3app4main17h0123456789abcdefE"), Language::Rust);
    /// assert_eq!(of("_ZN3app4mainEv"), Language::Cpp);
    /// assert_eq!(of("main"), Language::Other);
    /// ```
    #[must_use]
    pub fn of_name(name: &str) -> Language {
        // The older way of Rust is that of C++ with a hash at its end.
        let hash = name
            .strip_suffix('E')
            .and_then(|name| name.rsplit_once("17h"));
        let hash = hash.map(|(_, hash)| hash.as_bytes());
        if name.starts_with("_R") {
            Language::Rust
        } else if !name.starts_with("_Z") {
            Language::Other
        } else if hash
            .is_some_and(|hash| hash.len() == 16 && hash.iter().all(u8::is_ascii_hexdigit))
        {
            Language::Rust
        } else {
            Language::Cpp
        }
    }
}

/// A translation unit (of Rust: a crate, or a part of one).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Unit {
    /// Its language.
    pub language: Language,
    /// Its main source file, as the compiler was given it.
    pub file: FileNumber,
    /// The compiler and its version.
    pub producer: TextNumber,
}

/// A function, defined in the program or only declared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Function {
    /// Its name for ever.
    pub id: FunctionId,
    /// Its linkage name as its author's compiler gave it.
    pub name: TextNumber,
    /// Its symbol in this program, where merging had to rename it.
    pub symbol: TextNumber,
    /// Its type.
    pub signature: TypeNumber,
    /// What is promised of it.
    pub attributes: AttributesNumber,
    /// The routine that unwinds through it.
    pub personality: PackedOption<crate::FunctionNumber>,
    /// The unit it was compiled in, if the debug information tells.
    pub unit: PackedOption<UnitNumber>,
    /// Its own place in the source, if the debug information tells.
    pub file: PackedOption<FileNumber>,
    /// The line it begins on; 0 is "not known".
    pub line: u32,
    /// Whether it is used other than by calling it.
    pub address_taken: bool,
    /// Whether other objects can call it: exported, or `main`.
    pub exported: bool,
    /// What it does; `None` if it is only declared.
    pub body: Option<Body>,
}

/// A basic block: instructions that follow each other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    /// Its first instruction; it ends where the next block begins.
    pub first: InstructionNumber,
}

/// How a call is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum TailCall {
    /// Not said.
    Unmarked,
    /// May reuse the frame.
    Tail,
    /// Has to reuse the frame.
    Must,
    /// Must not.
    Never,
}

/// The details of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// What is called: a constant function, or a computed address.
    pub callee: Value,
    /// The type that the callee is called as.
    pub signature: TypeNumber,
    /// What is passed.
    pub arguments: List<Value>,
    /// Values passed beside the arguments, as assumptions are.
    pub bundled: List<Value>,
    /// What is promised of this call.
    pub attributes: AttributesNumber,
    /// How it is made.
    pub tail: TailCall,
}

/// The body of a function. Lists in instructions are lists of its pools.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Body {
    /// Blocks in layout order; the first is the entry.
    pub blocks: PrimaryMap<BlockNumber, Block>,
    /// Instructions in layout order; each block ends with a terminator.
    pub instructions: PrimaryMap<InstructionNumber, Instruction>,
    /// Details of calls.
    pub calls: PrimaryMap<CallNumber, Call>,
    /// Operands.
    pub values: Pool<Value>,
    /// Incoming values of phis.
    pub incoming: Pool<Incoming>,
    /// Cases of switches.
    pub cases: Pool<Case>,
    /// Targets of indirect branches.
    pub targets: Pool<BlockNumber>,
    /// Paths into aggregates, and masks of shuffles.
    pub paths: Pool<u32>,
    /// Clauses of landing pads.
    pub clauses: Pool<Clause>,
    /// What variables of the source say about addresses, in the order of these.
    pub variables: Vec<SourceVariable>,
}

impl Body {
    /// Gives back what growing took too much.
    pub(crate) fn shrink(&mut self) {
        self.blocks.shrink_to_fit();
        self.instructions.shrink_to_fit();
        self.calls.shrink_to_fit();
        self.values.shrink();
        self.incoming.shrink();
        self.cases.shrink();
        self.targets.shrink();
        self.paths.shrink();
        self.clauses.shrink();
        self.variables.shrink_to_fit();
    }

    /// The instructions of a block, as a range of numbers.
    #[must_use]
    pub fn range(&self, block: BlockNumber) -> Range<usize> {
        let end = match self.blocks.get(BlockNumber::new(block.index() + 1)) {
            Some(next) => next.first.index(),
            None => self.instructions.len(),
        };
        self.blocks[block].first.index()..end
    }

    /// The instructions of a block.
    pub fn block(
        &self,
        block: BlockNumber,
    ) -> impl DoubleEndedIterator<Item = (InstructionNumber, &Instruction)> {
        let range = self.range(block);
        self.instructions.as_values_slice()[range.clone()]
            .iter()
            .zip(range)
            .map(|(instruction, index)| (InstructionNumber::new(index), instruction))
    }

    /// The block that holds an instruction.
    #[must_use]
    pub fn block_of(&self, instruction: InstructionNumber) -> BlockNumber {
        let blocks = self.blocks.as_values_slice();
        let after = blocks.partition_point(|block| block.first <= instruction);
        BlockNumber::new(after - 1)
    }

    /// The last instruction of a block.
    #[must_use]
    pub fn terminator(&self, block: BlockNumber) -> &Instruction {
        &self.instructions.as_values_slice()[self.range(block).end - 1]
    }

    /// The first place in the source that is known of a block.
    #[must_use]
    pub fn location_of_block(&self, block: BlockNumber) -> Option<LocationNumber> {
        self.block(block).find_map(|(_, one)| one.location.expand())
    }

    /// The details of a call, of every instruction that calls.
    #[must_use]
    pub fn call_at(&self, instruction: InstructionNumber) -> Option<&Call> {
        let call = self.instructions[instruction].operation.call()?;
        Some(&self.calls[call])
    }

    /// What a call passes.
    #[must_use]
    pub fn arguments(&self, call: &Call) -> &[Value] {
        self.values.get(call.arguments)
    }

    /// The blocks that control can go to from the end of a block, in the order
    /// of the terminator's operands; a block may occur more than once. That a
    /// call does not return is not considered.
    #[must_use]
    pub fn successors(&self, block: BlockNumber) -> Vec<BlockNumber> {
        match self.terminator(block).operation {
            Operation::Branch { target } => vec![target],
            Operation::ConditionalBranch {
                then, otherwise, ..
            } => vec![then, otherwise],
            Operation::Switch { default, cases, .. } => std::iter::once(default)
                .chain(self.cases.get(cases).iter().map(|case| case.target))
                .collect(),
            Operation::IndirectBranch { targets, .. }
            | Operation::OpaqueTerminator { targets, .. } => self.targets.get(targets).to_vec(),
            Operation::Invoke { normal, unwind, .. } => vec![normal, unwind],
            Operation::CallBranch {
                fallthrough,
                targets,
                ..
            } => std::iter::once(fallthrough)
                .chain(self.targets.get(targets).iter().copied())
                .collect(),
            _ => Vec::new(),
        }
    }
}
