//! What can go wrong with a browser.

use serde_json::Value;

/// See the module.
#[derive(Debug, thiserror::Error)]
pub enum BrowserError {
    /// There is none, or it does not start.
    #[error("Chromium does not start: {0}; `cargo xtask test` installs it")]
    NotStarted(String),
    /// It has gone.
    #[error("the browser has gone")]
    Gone,
    /// It does not answer.
    #[error("no answer to {0}")]
    Silent(String),
    /// It refuses to do something.
    #[error("{asked}: {answer}")]
    Refused {
        /// What.
        asked: String,
        /// Its own words.
        answer: Value,
    },
    /// The page has none of what it was asked for.
    #[error("the page has no `{0}`")]
    Missing(String),
    /// The system refuses something.
    #[error(transparent)]
    System(#[from] std::io::Error),
}
