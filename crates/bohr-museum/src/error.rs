//! What can be wrong with the museum, and what to do about it.

use std::path::PathBuf;

/// Why an exhibit or a paper's figures could not be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file of the project cannot be read or written.
    #[error("{}: {cause}", path.display())]
    File {
        /// Which one.
        path: PathBuf,
        /// What the system says.
        cause: std::io::Error,
    },
    /// A manifest or table that is not the TOML that it should be.
    #[error("{}: {cause}", path.display())]
    Form {
        /// Which one.
        path: PathBuf,
        /// What does not fit.
        cause: Box<toml::de::Error>,
    },
    /// A file whose parts contradict each other.
    #[error("{}: {}", path.display(), offences.join("; "))]
    Content {
        /// Which one.
        path: PathBuf,
        /// Every contradiction.
        offences: Vec<String>,
    },
    /// No folder of that name.
    #[error("there is no exhibit `{name}`; `cargo xtask museum list` names them all")]
    Unknown {
        /// What was asked for.
        name: String,
    },
    /// A marker that the source lacks, has twice, or has on an empty line.
    #[error("the marker {marker}: {fault}")]
    Marker {
        /// Its name.
        marker: String,
        /// What is wrong with it.
        fault: &'static str,
    },
    /// A program that cannot be started.
    #[error("cannot run {program}: {cause}; `cargo xtask demo` installs what is missing")]
    Start {
        /// The compiler or exhibit.
        program: String,
        /// What the system says.
        cause: std::io::Error,
    },
    /// The compiler refused an exhibit.
    #[error("{name} does not build:\n{words}")]
    Build {
        /// The exhibit.
        name: String,
        /// What the compiler says.
        words: String,
    },
    /// `bohr hunt` ended without a report.
    #[error("no report about {program} from bohr: {}", words.trim())]
    Hunt {
        /// The program that was hunted.
        program: String,
        /// What bohr says.
        words: String,
    },
    /// An exhibit that failed in another way than its manifest says.
    #[error("{name} failed in another way than its manifest says: {how}")]
    Surprise {
        /// The exhibit.
        name: String,
        /// What happened instead.
        how: String,
    },
    /// A twin that is not fixed.
    #[error("the fixed twin of {name} failed {failures} times")]
    Twin {
        /// The exhibit.
        name: String,
        /// How often.
        failures: u32,
    },
    /// The guide has lost the lines that mark the table's place.
    #[error("museum/README.md has no place for the table, between `{begin}` and `{end}`")]
    Guide {
        /// The line before the table.
        begin: &'static str,
        /// The line after it.
        end: &'static str,
    },
}
