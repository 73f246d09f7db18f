//! The variables of the analysis: one node for every argument, instruction and
//! result of a function, for every constant that holds addresses, and for the
//! contents of every object.

use crate::ids::{ArgumentNumber, ConstantNumber, FunctionNumber, InstructionNumber};
use crate::instruction::{Operand, Value};
use crate::program::Program;
use cranelift_entity::{EntityRef, SecondaryMap, entity_impl, packed_option::PackedOption};

/// A variable of the analysis.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct NodeNumber(u32);
entity_impl!(NodeNumber, "node");

impl NodeNumber {
    /// The contents of all memory that threads may share, or that code outside
    /// the program may have kept a pointer to. What flows in here escapes.
    pub(crate) const WORLD: NodeNumber = NodeNumber(0);
}

/// Which node belongs to what.
#[derive(Debug)]
pub(crate) struct Numbering {
    /// First node of each defined function; its arguments, instructions and
    /// result follow. One more at the end.
    first: Vec<u32>,
    /// How many arguments each defined function has.
    arguments: Vec<u32>,
    constants: SecondaryMap<ConstantNumber, PackedOption<NodeNumber>>,
    next: u32,
}

impl Numbering {
    /// Numbers the values of all functions; constants follow as they are met.
    pub(crate) fn new(program: &Program) -> Numbering {
        let mut next = 1;
        let mut first = vec![next];
        let mut arguments = Vec::new();
        for (function, _, body) in program.bodies() {
            let count = program.parameters(function).len() as u32;
            arguments.push(count);
            next += count + body.instructions.len() as u32 + 1;
            first.push(next);
        }
        Numbering {
            first,
            arguments,
            constants: SecondaryMap::new(),
            next,
        }
    }

    /// A node for nothing but what it will be used for.
    pub(crate) fn fresh(&mut self) -> NodeNumber {
        self.next += 1;
        NodeNumber(self.next - 1)
    }

    /// The node of an argument of a defined function.
    pub(crate) fn argument(
        &self,
        function: FunctionNumber,
        argument: ArgumentNumber,
    ) -> NodeNumber {
        debug_assert!(argument.as_u32() < self.arguments[function.index()]);
        NodeNumber(self.first[function.index()] + argument.as_u32())
    }

    /// The nodes of all arguments of a defined function.
    pub(crate) fn arguments(
        &self,
        function: FunctionNumber,
    ) -> impl Iterator<Item = NodeNumber> + use<> {
        let first = self.first[function.index()];
        (first..first + self.arguments[function.index()]).map(NodeNumber)
    }

    /// The node of an instruction's result.
    pub(crate) fn instruction(
        &self,
        function: FunctionNumber,
        number: InstructionNumber,
    ) -> NodeNumber {
        let function = function.index();
        NodeNumber(self.first[function] + self.arguments[function] + number.as_u32())
    }

    /// The node of what a defined function returns.
    pub(crate) fn result(&self, function: FunctionNumber) -> NodeNumber {
        NodeNumber(self.first[function.index() + 1] - 1)
    }

    /// All nodes of a defined function.
    pub(crate) fn of(&self, function: FunctionNumber) -> impl Iterator<Item = NodeNumber> + use<> {
        (self.first[function.index()]..self.first[function.index() + 1]).map(NodeNumber)
    }

    /// The node of a constant, made if it has none yet; `true` if it was made.
    pub(crate) fn constant(&mut self, constant: ConstantNumber) -> (NodeNumber, bool) {
        match self.constants[constant].expand() {
            Some(node) => (node, false),
            None => {
                let node = self.fresh();
                self.constants[constant] = node.into();
                (node, true)
            }
        }
    }

    /// The node of a value, if it has one: constants without addresses have not.
    pub(crate) fn value(&self, function: FunctionNumber, value: Value) -> Option<NodeNumber> {
        match value.operand() {
            Operand::Argument(argument) => Some(self.argument(function, argument)),
            Operand::Instruction(number) => Some(self.instruction(function, number)),
            Operand::Constant(constant) => self.constants[constant].expand(),
        }
    }
}
