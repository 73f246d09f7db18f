//! Static items of the same kind and name are one, whatever files and crates they are in,
//! as they are in C: sources that meet at a breakpoint need not see each other.

use crate::meeting::lock;
use std::any::Any;
use std::sync::{Mutex, OnceLock};

type Item = &'static (dyn Any + Send + Sync);

/// Whoever was visited first of a name and kind.
static FIRST: Mutex<Vec<(&'static str, Item)>> = Mutex::new(Vec::new());

/// What a static item looks up once.
pub(crate) type Namesake<T> = OnceLock<&'static T>;

/// The one that stands for all with its name.
pub(crate) fn first<T: Any + Send + Sync>(name: &'static str, own: &'static T) -> &'static T {
    let mut all = lock(&FIRST);
    let known = all.iter().filter(|(one, _)| *one == name);
    let known = known.filter_map(|(_, item)| item.downcast_ref()).next();
    known.unwrap_or_else(|| {
        all.push((name, own));
        own
    })
}
