//! All names of a program in one string: a program has tens of thousands of
//! them, and most are looked at only when something is shown.

use crate::ids::TextNumber;
use cranelift_entity::EntityRef;
use serde::{Deserialize, Serialize};

/// Texts by number.
///
/// ```
/// let mut texts = bohr_program::Texts::default();
/// let main = texts.push("main");
/// assert_eq!(&texts[main], "main");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Texts {
    all: String,
    /// Where each text ends; rising, each at a character boundary of `all`.
    ends: Vec<u32>,
}

impl Texts {
    /// Adds a text, without looking for an equal one.
    ///
    /// # Panics
    /// If all texts together reach 4 GiB.
    pub fn push(&mut self, text: &str) -> TextNumber {
        let number = TextNumber::new(self.ends.len());
        self.all.push_str(text);
        let end = u32::try_from(self.all.len()).expect("names of a program stay below 4 GiB");
        self.ends.push(end);
        number
    }

    /// How many texts there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Whether the ends rise and cut at character boundaries.
    pub(crate) fn is_sound(&self) -> bool {
        self.ends.is_sorted()
            && self
                .ends
                .iter()
                .all(|end| self.all.is_char_boundary(*end as usize))
    }

    /// Bytes of memory taken.
    pub(crate) fn bytes(&self) -> usize {
        self.all.len() + self.ends.len() * size_of::<u32>()
    }
}

impl std::ops::Index<TextNumber> for Texts {
    type Output = str;

    fn index(&self, number: TextNumber) -> &str {
        let start = match number.index().checked_sub(1) {
            Some(before) => self.ends[before] as usize,
            None => 0,
        };
        &self.all[start..self.ends[number.index()] as usize]
    }
}
