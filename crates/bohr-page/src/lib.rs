//! An explained failure as one page to click through: a lane per thread, the
//! source beside it, the failing run against one that passes. It needs a browser
//! and nothing else, neither a network nor another file.
//!
//! What a program says of itself is hostile until proven otherwise: its texts
//! travel as data, the page's own script puts them where text goes and nowhere
//! else, and a policy in the page's head forbids everything that was not there
//! when it was written.
//!
//! A run of a million events fits: its events travel as columns of small numbers,
//! compressed, and the page draws what is in sight. What has no events to show is a
//! page to read ([`StillPage`]).

#![forbid(unsafe_code)]

mod columns;
mod document;
mod excerpt;
mod lexicon;
mod links;
mod page;
mod still;
mod tables;

pub use excerpt::MOST_SOURCE;
pub use lexicon::{Lexicon, SourceText, Whereabouts};
pub use links::links;
pub use page::{Ending, Page, Run};
pub use still::{Section, StillPage};
