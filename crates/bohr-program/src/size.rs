//! How much memory the model of a program takes: programs have millions of
//! instructions, so bytes per instruction is a figure to watch.

use crate::constant::ConstantValue;
use crate::function::Body;
use crate::program::Program;
use crate::types::Type;
use cranelift_entity::{EntityRef, PrimaryMap};

fn of_map<K: EntityRef, V>(map: &PrimaryMap<K, V>) -> usize {
    map.len() * size_of::<V>()
}

impl Program {
    /// Bytes of memory that this program takes, what it owns on the heap included.
    #[must_use]
    pub fn memory(&self) -> usize {
        let bodies: usize = self.bodies().map(|(_, _, body)| body.memory()).sum();
        let types: usize = self.types.values().map(owned_by_type).sum();
        let constants = self.constants.values();
        let constants: usize = constants
            .map(|constant| owned_by_constant(&constant.value))
            .sum();
        let parameters = self
            .attributes
            .values()
            .map(|attributes| size_of_val::<[_]>(&attributes.parameters));
        size_of::<Program>()
            + bodies
            + types
            + constants
            + parameters.sum::<usize>()
            + self.texts.bytes()
            + of_map(&self.types)
            + of_map(&self.constants)
            + of_map(&self.attributes)
            + of_map(&self.files)
            + of_map(&self.scopes)
            + of_map(&self.locations)
            + of_map(&self.source_types)
            + of_map(&self.globals)
            + of_map(&self.functions)
            + of_map(&self.sites)
    }
}

impl Body {
    fn memory(&self) -> usize {
        of_map(&self.blocks)
            + of_map(&self.instructions)
            + of_map(&self.calls)
            + self.values.bytes()
            + self.incoming.bytes()
            + self.cases.bytes()
            + self.targets.bytes()
            + self.paths.bytes()
            + self.clauses.bytes()
            + size_of_val(&*self.variables)
    }
}

fn owned_by_type(of: &Type) -> usize {
    match of {
        Type::Struct { .. } | Type::Function { .. } => size_of_val(&*of.parts()),
        _ => 0,
    }
}

fn owned_by_constant(value: &ConstantValue) -> usize {
    match value {
        ConstantValue::WideInteger(words) => size_of_val(&**words),
        ConstantValue::WideFloat(words) => size_of_val(&**words),
        ConstantValue::Data(bytes) => bytes.len(),
        ConstantValue::Aggregate(_) | ConstantValue::Expression(_) => size_of_val(&*value.parts()),
        _ => 0,
    }
}
