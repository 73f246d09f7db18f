//! Values that depend on what shared memory held when it was read: a graph of
//! computations in which equal ones are one node, and everything that depends on
//! no such read is a plain number.

use bohr_program::interpret::arithmetic::{self, Incomputable, Number};
use bohr_program::{
    BinaryOperator, CastOperator, FloatKind, FloatPredicate, IntegerPredicate, UpdateOperator,
};
use cranelift_entity::{EntityRef, PrimaryMap, entity_impl};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// A node of the graph.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TermNumber(u32);
entity_impl!(TermNumber, "term");

/// A read of shared memory whose value is not known.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReadNumber(u32);
entity_impl!(ReadNumber, "read");

/// At most 128 bits: a number, or what a term comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scalar {
    /// Known; the bits above its width are zero.
    Known(u128),
    /// Depends on reads.
    Term(TermNumber),
}

impl Scalar {
    /// The number, if it depends on nothing.
    #[must_use]
    pub fn known(self) -> Option<u128> {
        match self {
            Scalar::Known(value) => Some(value),
            Scalar::Term(_) => None,
        }
    }
}

impl From<u64> for Scalar {
    fn from(word: u64) -> Scalar {
        Scalar::Known(word.into())
    }
}

impl From<bool> for Scalar {
    fn from(truth: bool) -> Scalar {
        Scalar::Known(truth.into())
    }
}

/// What a node computes from its operands.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Operator {
    /// A binary operation.
    Binary(BinaryOperator, Number),
    /// The number with the other sign.
    Negate(FloatKind),
    /// A comparison of integers of so many bits.
    CompareIntegers(IntegerPredicate, u32),
    /// A comparison of floating-point numbers.
    CompareFloats(FloatPredicate, FloatKind),
    /// A conversion.
    Cast(CastOperator, Number, Number),
    /// The second operand if the first is not zero, else the third.
    Select,
    /// So many bits, from `shift` on.
    Slice {
        /// The lowest bit.
        shift: u32,
        /// How many.
        bits: u32,
    },
    /// The second operand above so many bits of the first.
    Join(u32),
    /// What an atomic update writes.
    Update(UpdateOperator, Number),
    /// The wrapped result of an operation that tells of overflows.
    Wrapped(Box<str>, u32),
    /// Whether it overflows.
    Overflows(Box<str>, u32),
    /// An intrinsic function, with the width of its first argument.
    Function(Box<str>, Number, u32),
}

impl Operator {
    /// What it gives.
    ///
    /// # Errors
    /// If the operation is not allowed on these operands or not modelled.
    pub fn apply(&self, operands: &[u128]) -> Result<u128, Incomputable> {
        match (self, operands) {
            (Operator::Binary(operator, of), &[left, right]) => {
                arithmetic::binary(*operator, *of, left, right)
            }
            (Operator::Negate(kind), &[value]) => Ok(arithmetic::negate(*kind, value)),
            (Operator::CompareIntegers(predicate, bits), &[left, right]) => {
                Ok(arithmetic::compare_integers(*predicate, *bits, left, right).into())
            }
            (Operator::CompareFloats(predicate, kind), &[left, right]) => {
                Ok(arithmetic::compare_floats(*predicate, *kind, left, right)?.into())
            }
            (Operator::Cast(operator, from, to), &[value]) => {
                arithmetic::cast(*operator, *from, *to, value)
            }
            (Operator::Select, &[condition, then, otherwise]) => {
                Ok(if condition != 0 { then } else { otherwise })
            }
            (Operator::Slice { shift, bits }, &[value]) => {
                Ok(value.checked_shr(*shift).unwrap_or(0) & ones(*bits))
            }
            (Operator::Join(bits), &[low, high]) => {
                Ok(low & ones(*bits) | high.checked_shl(*bits).unwrap_or(0))
            }
            (Operator::Update(operator, of), &[old, with]) => {
                arithmetic::update(*operator, *of, old, with)
            }
            (Operator::Wrapped(name, bits), &[left, right]) => {
                Ok(arithmetic::overflow(name, *bits, left, right)?.0)
            }
            (Operator::Overflows(name, bits), &[left, right]) => {
                Ok(arithmetic::overflow(name, *bits, left, right)?.1.into())
            }
            (Operator::Function(name, of, source), arguments) => {
                let result = arithmetic::function(name, *of, *source, arguments)?;
                result.ok_or_else(|| Incomputable::NotModelled(format!("llvm.{name}")))
            }
            (operator, operands) => Err(Incomputable::NotModelled(format!(
                "{operator:?} of {} operands",
                operands.len()
            ))),
        }
    }
}

/// So many ones.
pub(crate) fn ones(bits: u32) -> u128 {
    match bits {
        128.. => u128::MAX,
        _ => (1 << bits) - 1,
    }
}

/// A node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Node {
    /// What a read gave.
    Read(ReadNumber),
    /// What a computation gives.
    Computed(Operator, Box<[Scalar]>),
}

/// The graph. Operands have smaller numbers than what is computed from them.
#[derive(Clone, Debug, Default)]
pub struct Terms {
    nodes: PrimaryMap<TermNumber, Node>,
    numbers: HashMap<Node, TermNumber>,
    supports: HashMap<TermNumber, Arc<BTreeSet<ReadNumber>>>,
}

impl Terms {
    /// What a read gives.
    pub fn read(&mut self, read: ReadNumber) -> Scalar {
        self.intern(Node::Read(read))
    }

    fn intern(&mut self, node: Node) -> Scalar {
        let nodes = &mut self.nodes;
        let number = self.numbers.entry(node);
        Scalar::Term(*number.or_insert_with_key(|node| nodes.push(node.clone())))
    }

    /// What a computation gives: a number, if all operands are.
    ///
    /// # Errors
    /// If the operation is not allowed on known operands or not modelled.
    pub fn compute(
        &mut self,
        operator: Operator,
        operands: &[Scalar],
    ) -> Result<Scalar, Incomputable> {
        let known: Option<Vec<u128>> = operands.iter().map(|operand| operand.known()).collect();
        if let Some(known) = known {
            return Ok(Scalar::Known(operator.apply(&known)?));
        }
        if let (Operator::Select, [Scalar::Known(condition), then, otherwise]) =
            (&operator, operands)
        {
            return Ok(if *condition != 0 { *then } else { *otherwise });
        }
        if matches!(operator, Operator::Select) && operands[1] == operands[2] {
            return Ok(operands[1]);
        }
        Ok(self.intern(Node::Computed(operator, operands.into())))
    }

    /// A node.
    #[must_use]
    pub fn node(&self, term: TermNumber) -> &Node {
        &self.nodes[term]
    }

    /// How many nodes there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// A known number that the value is above or below by something unknown: the
    /// base of an address.
    #[must_use]
    pub fn base(&self, value: Scalar) -> Option<u128> {
        let mut sum: Option<u128> = None;
        let mut open = vec![value];
        while let Some(value) = open.pop() {
            match value {
                Scalar::Known(part) => sum = Some(sum.unwrap_or(0).wrapping_add(part)),
                Scalar::Term(term) => {
                    let add = Operator::Binary(BinaryOperator::Add, Number::Integer(64));
                    if let Node::Computed(operator, operands) = &self.nodes[term]
                        && *operator == add
                    {
                        open.extend(operands.iter());
                    }
                }
            }
        }
        sum.map(|sum| sum & ones(64))
    }

    /// The numbers that a value is computed from.
    #[must_use]
    pub fn leaves(&self, value: Scalar) -> Vec<u128> {
        let mut found = Vec::new();
        let mut seen = BTreeSet::new();
        let mut open = vec![value];
        while let Some(value) = open.pop() {
            match value {
                Scalar::Known(number) => found.push(number),
                Scalar::Term(term) if seen.insert(term) => {
                    if let Node::Computed(_, operands) = &self.nodes[term] {
                        open.extend(operands.iter());
                    }
                }
                Scalar::Term(_) => {}
            }
        }
        found
    }

    /// The reads that a value depends on.
    pub fn support(&mut self, value: Scalar) -> Arc<BTreeSet<ReadNumber>> {
        let Scalar::Term(term) = value else {
            return Arc::default();
        };
        if let Some(known) = self.supports.get(&term) {
            return known.clone();
        }
        let mut reads = BTreeSet::new();
        let mut seen = BTreeSet::from([term]);
        let mut open = vec![term];
        while let Some(term) = open.pop() {
            match &self.nodes[term] {
                Node::Read(read) => {
                    reads.insert(*read);
                }
                Node::Computed(_, operands) => {
                    for operand in operands {
                        if let Scalar::Term(operand) = operand
                            && seen.insert(*operand)
                        {
                            open.push(*operand);
                        }
                    }
                }
            }
        }
        let reads = Arc::new(reads);
        self.supports.insert(term, reads.clone());
        reads
    }

    /// What a value comes to, given what reads gave.
    ///
    /// # Errors
    /// If an operation is not allowed on what it gets, or a read has no value.
    pub fn evaluate(
        &self,
        value: Scalar,
        memory: &mut Evaluation,
        read: &dyn Fn(ReadNumber) -> Option<u128>,
    ) -> Result<u128, Incomputable> {
        let Scalar::Term(root) = value else {
            return Ok(value.known().unwrap_or(0));
        };
        let mut open = vec![root];
        while let Some(term) = open.last().copied() {
            if memory.known.contains_key(&term) {
                open.pop();
                continue;
            }
            let result = match &self.nodes[term] {
                Node::Read(number) => {
                    read(*number).ok_or(Incomputable::Undefined("it needs a read without value"))?
                }
                Node::Computed(operator, operands) => {
                    let missing = operands.iter().filter_map(|operand| match operand {
                        Scalar::Term(part) if !memory.known.contains_key(part) => Some(*part),
                        _ => None,
                    });
                    let before = open.len();
                    open.extend(missing);
                    if open.len() > before {
                        continue;
                    }
                    let operands: Vec<u128> =
                        operands.iter().map(|operand| memory.of(*operand)).collect();
                    operator.apply(&operands)?
                }
            };
            memory.known.insert(term, result);
            memory.order.push(term);
            open.pop();
        }
        Ok(memory.of(value))
    }
}

/// What terms have come to so far.
#[derive(Clone, Debug, Default)]
pub struct Evaluation {
    known: HashMap<TermNumber, u128>,
    /// In the order in which they became so.
    order: Vec<TermNumber>,
}

impl Evaluation {
    /// How many terms have come to something.
    pub(crate) fn len(&self) -> usize {
        self.order.len()
    }

    /// Forgets all but the first of them.
    pub(crate) fn truncate(&mut self, count: usize) {
        for term in self.order.drain(count..) {
            self.known.remove(&term);
        }
    }

    fn of(&self, value: Scalar) -> u128 {
        match value {
            Scalar::Known(value) => value,
            Scalar::Term(term) => self.known.get(&term).copied().unwrap_or(0),
        }
    }
}

/// Counts reads.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reads(u32);

impl Reads {
    pub(crate) fn next(&mut self) -> ReadNumber {
        self.0 += 1;
        ReadNumber::new(self.0 as usize - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const WORD: Number = Number::Integer(64);

    fn add(terms: &mut Terms, left: Scalar, right: Scalar) -> Scalar {
        terms
            .compute(Operator::Binary(BinaryOperator::Add, WORD), &[left, right])
            .unwrap()
    }

    #[test]
    fn equal_computations_are_one_and_known_ones_none() {
        let mut terms = Terms::default();
        let read = terms.read(ReadNumber::new(0));
        let (one, two) = (Scalar::from(1u64), Scalar::from(2u64));
        assert_eq!(add(&mut terms, one, two), Scalar::Known(3));
        assert_eq!(add(&mut terms, read, two), add(&mut terms, read, two));
        assert_eq!(terms.len(), 2);
        let address = add(&mut terms, read, Scalar::from(0x1000u64));
        assert_eq!(terms.base(address), Some(0x1000));
        assert_eq!(terms.base(read), None);
    }

    proptest! {
        #[test]
        fn terms_come_to_what_numbers_give(
            operations in prop::collection::vec((0usize..6, any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..40),
            reads: [u64; 3],
        ) {
            use BinaryOperator::*;
            let mut terms = Terms::default();
            let mut both: Vec<(Scalar, u128)> = (0..3)
                .map(|number| (terms.read(ReadNumber::new(number)), reads[number].into()))
                .collect();
            for (operation, left, right) in operations {
                let operator = [Add, Subtract, Multiply, And, ExclusiveOr, ShiftLeft][operation];
                let operator = Operator::Binary(operator, WORD);
                let (left, right) = (both[left.index(both.len())], both[right.index(both.len())]);
                let term = terms.compute(operator.clone(), &[left.0, right.0]).unwrap();
                both.push((term, operator.apply(&[left.1, right.1]).unwrap()));
            }
            let mut memory = Evaluation::default();
            let read = |number: ReadNumber| Some(u128::from(reads[number.index()]));
            for (term, expected) in both {
                prop_assert_eq!(terms.evaluate(term, &mut memory, &read), Ok(expected));
                prop_assert!(terms.support(term).iter().all(|read| read.index() < 3));
            }
        }
    }
}
