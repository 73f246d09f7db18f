//! A library of the workspace.

pub use shape_derive::Named;

pub trait Named {
    fn name(&self) -> &'static str;
}

#[inline(never)]
pub fn sides() -> u32 {
    4
}
