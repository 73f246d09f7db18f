//! Values at run time.

use super::wide::Wide;
use std::rc::Rc;

/// A value: the bits of a scalar (integer, address or floating-point number,
/// the bits above its width zero), the bits of an integer of more than 128, or
/// the parts of a vector or aggregate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Datum {
    Bits(u128),
    Wide(Rc<Wide>),
    Parts(Rc<[Datum]>),
}

impl Datum {
    /// What instructions without a result give.
    pub(crate) const NOTHING: Datum = Datum::Bits(0);

    /// The bits of a scalar, of a wide one the lower 128; those of the first
    /// part of anything else.
    pub(crate) fn bits(&self) -> u128 {
        match self {
            Datum::Bits(bits) => *bits,
            Datum::Wide(wide) => wide.low(),
            Datum::Parts(parts) => parts.first().map_or(0, Datum::bits),
        }
    }

    /// The lower 64 bits of a scalar.
    pub(crate) fn word(&self) -> u64 {
        self.bits() as u64
    }

    /// A scalar's lower 32 bits as a signed number, as C's `int`.
    pub(crate) fn int(&self) -> i32 {
        self.bits() as i32
    }

    /// The parts of a vector or aggregate; none of a scalar.
    pub(crate) fn parts(&self) -> &[Datum] {
        match self {
            Datum::Bits(_) | Datum::Wide(_) => &[],
            Datum::Parts(parts) => parts,
        }
    }

    /// A vector or aggregate.
    pub(crate) fn of_parts(parts: impl IntoIterator<Item = Datum>) -> Datum {
        Datum::Parts(parts.into_iter().collect())
    }

    /// The part at the end of a path.
    pub(crate) fn at(&self, path: &[u32]) -> Option<&Datum> {
        path.iter()
            .try_fold(self, |datum, index| datum.parts().get(*index as usize))
    }

    /// With the part at the end of a path replaced.
    pub(crate) fn with(&self, path: &[u32], new: &Datum) -> Option<Datum> {
        let Some((first, rest)) = path.split_first() else {
            return Some(new.clone());
        };
        let mut parts = self.parts().to_vec();
        let part = parts.get_mut(*first as usize)?;
        *part = part.with(rest, new)?;
        Some(Datum::of_parts(parts))
    }

    /// Lane by lane on vectors, once on scalars.
    pub(crate) fn map<E>(&self, mut each: impl FnMut(u128) -> Result<u128, E>) -> Result<Datum, E> {
        match self {
            Datum::Bits(_) | Datum::Wide(_) => Ok(Datum::Bits(each(self.bits())?)),
            Datum::Parts(parts) => {
                let lanes: Result<Rc<[Datum]>, E> = parts
                    .iter()
                    .map(|part| Ok(Datum::Bits(each(part.bits())?)))
                    .collect();
                Ok(Datum::Parts(lanes?))
            }
        }
    }

    /// Lane by lane on any number of values, once if the first is a scalar: what a
    /// function of scalars gives. A scalar beside vectors is the same for all lanes.
    pub(crate) fn lanes<E>(
        values: &[Datum],
        mut each: impl FnMut(&[u128]) -> Result<Option<u128>, E>,
    ) -> Result<Option<Datum>, E> {
        let Some(Datum::Parts(first)) = values.first() else {
            let scalars: Vec<u128> = values.iter().map(Datum::bits).collect();
            return Ok(each(&scalars)?.map(Datum::Bits));
        };
        let mut parts = Vec::with_capacity(first.len());
        for index in 0..first.len() {
            let lane = |value: &Datum| value.parts().get(index).unwrap_or(value).bits();
            let scalars: Vec<u128> = values.iter().map(lane).collect();
            match each(&scalars)? {
                Some(result) => parts.push(Datum::Bits(result)),
                None => return Ok(None),
            }
        }
        Ok(Some(Datum::of_parts(parts)))
    }

    /// Lane by lane on two vectors of the same length, once on scalars.
    pub(crate) fn zip<E>(
        &self,
        other: &Datum,
        mut each: impl FnMut(u128, u128) -> Result<u128, E>,
    ) -> Result<Datum, E> {
        match (self, other) {
            (Datum::Parts(left), Datum::Parts(right)) => {
                let lanes: Result<Rc<[Datum]>, E> = left
                    .iter()
                    .zip(right.iter())
                    .map(|(left, right)| Ok(Datum::Bits(each(left.bits(), right.bits())?)))
                    .collect();
                Ok(Datum::Parts(lanes?))
            }
            _ => Ok(Datum::Bits(each(self.bits(), other.bits())?)),
        }
    }
}

impl From<u64> for Datum {
    fn from(word: u64) -> Datum {
        Datum::Bits(word.into())
    }
}

impl From<bool> for Datum {
    fn from(truth: bool) -> Datum {
        Datum::Bits(truth.into())
    }
}
