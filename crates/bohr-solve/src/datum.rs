//! Values of every type: scalars, and the parts of vectors and aggregates.

use crate::term::Scalar;
use std::rc::Rc;

/// A value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Datum {
    Scalar(Scalar),
    Parts(Rc<[Datum]>),
}

impl Datum {
    /// What instructions without a result give.
    pub(crate) const NOTHING: Datum = Datum::Scalar(Scalar::Known(0));

    /// A scalar; of anything else, its first part.
    pub(crate) fn scalar(&self) -> Scalar {
        match self {
            Datum::Scalar(scalar) => *scalar,
            Datum::Parts(parts) => parts.first().map_or(Scalar::Known(0), Datum::scalar),
        }
    }

    pub(crate) fn parts(&self) -> &[Datum] {
        match self {
            Datum::Scalar(_) => &[],
            Datum::Parts(parts) => parts,
        }
    }

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

    /// Lane by lane, once if the first is a scalar. A scalar beside vectors is the
    /// same for all lanes.
    pub(crate) fn lanes<E>(
        values: &[Datum],
        mut each: impl FnMut(&[Scalar]) -> Result<Scalar, E>,
    ) -> Result<Datum, E> {
        let vector = values.iter().find_map(|value| match value {
            Datum::Parts(parts) => Some(parts.len()),
            Datum::Scalar(_) => None,
        });
        let Some(count) = vector else {
            let scalars: Vec<Scalar> = values.iter().map(Datum::scalar).collect();
            return each(&scalars).map(Datum::Scalar);
        };
        let lane = |index: usize| {
            let part = |value: &Datum| value.parts().get(index).unwrap_or(value).scalar();
            let scalars: Vec<Scalar> = values.iter().map(part).collect();
            each(&scalars).map(Datum::Scalar)
        };
        Ok(Datum::Parts(
            (0..count).map(lane).collect::<Result<_, E>>()?,
        ))
    }
}

impl From<Scalar> for Datum {
    fn from(scalar: Scalar) -> Datum {
        Datum::Scalar(scalar)
    }
}

impl From<u64> for Datum {
    fn from(word: u64) -> Datum {
        Datum::Scalar(word.into())
    }
}
