//! Types and variables as the author wrote them, for naming what an address
//! stands for. LLVM's own types have no field names, and after optimisation
//! little to do with the source; these come from the debug information.

use crate::ids::{SourceTypeNumber, TextNumber};
use crate::instruction::Value;
use crate::libraries::Owner;
use crate::program::Program;
use cranelift_entity::packed_option::PackedOption;
use serde::{Deserialize, Serialize};

/// A type of the source; `const`, `typedef` and the like are looked through.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SourceType {
    /// Something without parts that have names.
    Plain {
        /// In bytes; 0 if it is not known.
        size: u64,
    },
    /// A pointer or reference.
    Pointer {
        /// To what, if that is known.
        to: PackedOption<SourceTypeNumber>,
        /// Whether it goes by the name of the one thing that it points to, as
        /// references of C++ do.
        refers: bool,
    },
    /// A structure, class or union.
    Structure {
        /// Its name; empty if it has none.
        name: TextNumber,
        /// In bytes.
        size: u64,
        /// Whose it is.
        owner: Owner,
        /// In the order of the source. Those of a union overlap.
        fields: Box<[SourceField]>,
    },
    /// An array.
    Array {
        /// Of what.
        element: SourceTypeNumber,
        /// In bytes, all of it.
        size: u64,
    },
}

/// A field of a structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceField {
    /// Its name; empty for a base class or a nameless structure.
    pub name: TextNumber,
    /// In bytes from the beginning.
    pub offset: u64,
    /// Its type.
    pub of: SourceTypeNumber,
}

/// A variable of a function that tells what an address of it points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceVariable {
    /// An address in the function.
    pub value: Value,
    /// What is added to it.
    pub offset: u64,
    /// What lies at the sum.
    pub of: SourceTypeNumber,
    /// The variable's name.
    pub name: TextNumber,
    /// Whether the sum is the variable's value; otherwise it is its address.
    pub pointer: bool,
}

/// Parts of parts that are looked at: damaged debug information may say that a type
/// is a part of itself.
const DEEPEST: u32 = 8;

impl Program {
    /// The size of a type in bytes; 0 if it is not known.
    #[must_use]
    pub fn source_size(&self, of: SourceTypeNumber) -> u64 {
        match &self.source_types[of] {
            SourceType::Plain { size }
            | SourceType::Structure { size, .. }
            | SourceType::Array { size, .. } => *size,
            SourceType::Pointer { .. } => 8,
        }
    }

    /// The field of a structure that holds the byte at an offset.
    #[must_use]
    pub fn source_field(&self, of: SourceTypeNumber, offset: u64) -> Option<&SourceField> {
        let SourceType::Structure { fields, .. } = &self.source_types[of] else {
            return None;
        };
        let holds = |field: &&SourceField| {
            let size = self.source_size(field.of);
            (field.offset..field.offset + size).contains(&offset)
                && !self.is_empty(field.of, DEEPEST)
        };
        fields.iter().find(holds)
    }

    /// Whether there is nothing in a type, nor in its parts. It takes a byte
    /// nevertheless, and something else may lie there.
    fn is_empty(&self, of: SourceTypeNumber, deepest: u32) -> bool {
        match &self.source_types[of] {
            SourceType::Structure { fields, size, .. } if *size <= 1 && deepest > 0 => fields
                .iter()
                .all(|field| self.is_empty(field.of, deepest - 1)),
            _ => false,
        }
    }
}
