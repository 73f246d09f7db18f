//! The parts of a program: what the linker took in, one entry per object or
//! archive member.

use core::fmt;
use serde::{Deserialize, Serialize};

/// A part, by its position in the bundle; parts are in link order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PartId(pub u32);

/// Hash of a part's bytes before compression.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ContentHash(pub [u8; 32]);

impl ContentHash {
    /// Hashes the bytes of a part.
    #[must_use]
    pub fn of(bytes: &[u8]) -> ContentHash {
        ContentHash(*blake3::hash(bytes).as_bytes())
    }
}

impl fmt::Debug for ContentHash {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", blake3::Hash::from_bytes(self.0))
    }
}

/// What a part's bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Content {
    /// LLVM bitcode: one module.
    Bitcode,
    /// A native object that is linked as it is.
    Native(NativeReason),
}

/// Why a part carries no bitcode and so is never instrumented.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum NativeReason {
    /// Start files and libraries that come with the compiler or the C library.
    Toolchain,
    /// Compiled by another compiler, or by plain clang or rustc.
    NoBitcode,
    /// Several objects linked into one before (`ld -r`): which of its code the
    /// bitcode in it stands for is not known.
    PartiallyLinked,
    /// The bitcode in it cannot be taken apart.
    DamagedBitcode,
    /// Not an object for x86-64.
    OtherTarget,
    /// Its symbols are not those of its bitcode, or cannot be compared: changed by
    /// `objcopy`, or by assembly within a function.
    Rewritten,
}

impl fmt::Display for NativeReason {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            NativeReason::Toolchain => "part of the toolchain",
            NativeReason::NoBitcode => "assembly, or compiled without bohr",
            NativeReason::PartiallyLinked => "made by a partial link (ld -r)",
            NativeReason::Rewritten => {
                "its symbols are not those of its bitcode: objcopy, or assembly within a function"
            }
            NativeReason::DamagedBitcode => "its bitcode is damaged",
            NativeReason::OtherTarget => "not for x86-64",
        })
    }
}

/// Where the linker found a part.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Origin {
    /// The object file or archive, as the linker named it.
    pub path: String,
    /// The member, if `path` is an archive.
    pub member: Option<String>,
}

impl Origin {
    /// An object file of its own.
    #[must_use]
    pub fn file(path: impl Into<String>) -> Origin {
        Origin {
            path: path.into(),
            member: None,
        }
    }

    /// A member of an archive.
    #[must_use]
    pub fn member(path: impl Into<String>, member: impl Into<String>) -> Origin {
        Origin {
            path: path.into(),
            member: Some(member.into()),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.member {
            Some(member) => write!(out, "{}({member})", self.path),
            None => out.write_str(&self.path),
        }
    }
}

/// The language that a part was written in, where the build step knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Language {
    /// C, C++ or another language that clang compiles.
    Clang,
    /// Rust.
    Rust {
        /// How far rustc was asked to optimise, where the build step knows it.
        /// clang is made to write its level into every function.
        level: Option<Level>,
    },
}

/// A level of optimisation; sizes (`-Os`, `-Oz`) are attributes of functions
/// and belong to [`Level::Default`].
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub enum Level {
    /// `-O0`: as written, and what compilers do without being asked for more.
    #[default]
    None,
    /// `-O1`, `-Og`: without vectors.
    Less,
    /// `-O2`.
    Default,
    /// `-O3`.
    Aggressive,
}

impl Level {
    /// The level that a compiler's option asks for: what stands behind `-O` or
    /// `opt-level=`.
    ///
    /// ```
    /// use bohr_bundle::Level;
    /// assert_eq!(Level::of_option("s"), Some(Level::Default));
    /// assert_eq!(Level::of_option("7"), Some(Level::Aggressive));
    /// assert_eq!(Level::of_option("fat"), None);
    /// ```
    #[must_use]
    pub fn of_option(text: &str) -> Option<Level> {
        Some(match text {
            "" | "g" => Level::Less,
            "s" | "z" => Level::Default,
            "fast" => Level::Aggressive,
            digits => match digits.parse::<u32>().ok()? {
                0 => Level::None,
                1 => Level::Less,
                2 => Level::Default,
                _ => Level::Aggressive,
            },
        })
    }

    /// The level as the digit that compilers write for it.
    #[must_use]
    pub const fn digit(self) -> &'static str {
        match self {
            Level::None => "0",
            Level::Less => "1",
            Level::Default => "2",
            Level::Aggressive => "3",
        }
    }
}

/// One entry of the table of contents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// What its bytes are.
    pub content: Content,
    /// Where it came from.
    pub origin: Origin,
    /// In which language it was written.
    pub language: Option<Language>,
    /// Hash of its bytes.
    pub hash: ContentHash,
    /// How many bytes it has.
    pub size: u64,
    /// Where its compressed bytes begin, counted from the end of the table of contents.
    pub(crate) start: u64,
    /// How many compressed bytes there are.
    pub(crate) stored: u64,
}
