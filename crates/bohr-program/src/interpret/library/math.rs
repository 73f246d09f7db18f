//! Mathematics: the host's functions, which are the C library's own.

use crate::interpret::Step;
use crate::interpret::datum::Datum;
use crate::interpret::machine::Machine;

/// A function of one number, by its name.
type OfOne = (&'static str, fn(f64) -> f64);

/// A function of two.
type OfTwo = (&'static str, fn(f64, f64) -> f64);

const OF_ONE: &[OfOne] = &[
    ("sqrt", f64::sqrt),
    ("floor", f64::floor),
    ("ceil", f64::ceil),
    ("trunc", f64::trunc),
    ("round", f64::round),
    ("fabs", f64::abs),
    ("rint", f64::round_ties_even),
    ("nearbyint", f64::round_ties_even),
    ("sin", f64::sin),
    ("cos", f64::cos),
    ("tan", f64::tan),
    ("atan", f64::atan),
    ("exp", f64::exp),
    ("log", f64::ln),
    ("log2", f64::log2),
    ("log10", f64::log10),
    ("cbrt", f64::cbrt),
];

const OF_TWO: &[OfTwo] = &[
    ("pow", f64::powf),
    ("fmod", |left, right| left % right),
    ("atan2", f64::atan2),
    ("hypot", f64::hypot),
    ("fmin", f64::min),
    ("fmax", f64::max),
    ("copysign", f64::copysign),
];

impl Machine<'_> {
    pub(super) fn math_call(&mut self, name: &str, arguments: &[Datum]) -> Step<Option<Datum>> {
        let double = |index: usize| f64::from_bits(arguments[index].word());
        if let Some((_, function)) = OF_ONE.iter().find(|(known, _)| *known == name) {
            return Ok(Some(function(double(0)).to_bits().into()));
        }
        if let Some((_, function)) = OF_TWO.iter().find(|(known, _)| *known == name) {
            return Ok(Some(function(double(0), double(1)).to_bits().into()));
        }
        let single = |index: usize| f32::from_bits(arguments[index].word() as u32);
        Ok(Some(match name {
            "sqrtf" => u64::from(single(0).sqrt().to_bits()).into(),
            "floorf" => u64::from(single(0).floor().to_bits()).into(),
            "ceilf" => u64::from(single(0).ceil().to_bits()).into(),
            "fabsf" => u64::from(single(0).abs().to_bits()).into(),
            "fmodf" => u64::from((single(0) % single(1)).to_bits()).into(),
            "abs" => u64::from(arguments[0].int().unsigned_abs()).into(),
            "labs" | "llabs" => arguments[0].word().cast_signed().unsigned_abs().into(),
            _ => return Ok(None),
        }))
    }
}
