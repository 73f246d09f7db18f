//! The bug file: all that a colleague needs to see the failure.
//!
//! ```text
//!     offset  size  what
//!          0     8  "bohr-bug"
//!          8     4  version, little endian
//!         12     8  length of the body in bytes, little endian
//!         20    32  BLAKE3 hash of the body
//!         52     …  body: a Bug in postcard, compressed with zstd
//! ```
//!
//! Whether a reader can read a file is told by the version alone; a change of
//! [`Bug`] or of anything in it is a new version.

pub use crate::identity::{ControlMode, LibraryIdentity, ProgramIdentity};
pub use crate::thread_line::ThreadLine;

use crate::sources::Source;
use bohr_event::inputs::ThreadInputs;
use bohr_event::{Schedule, Signature, ThreadPath, control};
use serde::{Deserialize, Serialize};

const MAGIC: [u8; 8] = *b"bohr-bug";
const HEADER: usize = 52;

/// A body that unpacks to more is no bug file that bohr has written.
const LARGEST: u64 = 1 << 32;

/// The version that this build writes and reads.
pub const VERSION: u32 = 8;

/// What a run was started with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Invocation {
    /// Without the program's name.
    pub arguments: Vec<Vec<u8>>,
    /// Names and values; without those that look like secrets.
    pub environment: Vec<(Vec<u8>, Vec<u8>)>,
    /// Standard input; empty if there was none.
    pub input: Vec<u8>,
    /// What threads got from outside in the run that was recorded, if one was.
    pub given: Vec<ThreadInputs>,
}

/// Parts of names of variables whose values are nobody else's business.
const SECRETS: [&str; 9] = [
    "TOKEN",
    "SECRET",
    "PASSW",
    "KEY",
    "CREDENTIAL",
    "AUTH",
    "COOKIE",
    "SESSION",
    "PRIVATE",
];

impl Invocation {
    /// Whether a variable's value stays out of bug files.
    fn is_secret(name: &[u8]) -> bool {
        let name = String::from_utf8_lossy(name).to_uppercase();
        SECRETS.iter().any(|part| name.contains(part))
    }

    /// What may be written to a file that people send to each other.
    #[must_use]
    pub fn without_secrets(&self) -> Invocation {
        let mut shared = self.clone();
        shared
            .environment
            .retain(|(name, _)| !Invocation::is_secret(name));
        shared
    }

    /// The recorded invocation, with the secrets of the environment that it is
    /// replayed in.
    #[must_use]
    pub fn with_secrets_of(&self, current: &[(Vec<u8>, Vec<u8>)]) -> Invocation {
        let mut full = self.clone();
        let secrets = current
            .iter()
            .filter(|(name, _)| Invocation::is_secret(name));
        full.environment.extend(secrets.cloned());
        full
    }
}

/// What counts as a failure beside those that the runtime sees by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Oracle {
    /// The exit code of a good run.
    pub exit_code: i32,
    /// What a good run prints.
    pub output: Option<Vec<u8>>,
    /// A shell command that gets the output and ends with 0 if it is good.
    pub check: Option<String>,
    /// What a data race is.
    pub races: Races,
}

/// What becomes of accesses that nothing orders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Races {
    /// Nobody looks for them.
    #[default]
    Ignored,
    /// Those of the runs that are traced anyway are told.
    Reported,
    /// A run with one has failed; every run is traced.
    Failures,
}

impl Oracle {
    /// Whether a verdict needs what the program printed.
    #[must_use]
    pub fn needs_output(&self) -> bool {
        self.output.is_some() || self.check.is_some()
    }

    /// Whether a verdict needs the events of the run.
    #[must_use]
    pub fn needs_events(&self) -> bool {
        self.races == Races::Failures
    }

    /// Whether a run can be a failure that the runtime saw end well.
    #[must_use]
    pub fn looks_at_good_runs(&self) -> bool {
        self.needs_output() || self.needs_events()
    }
}

/// A failing run of which parts are left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reduced {
    /// Its interleaving.
    pub schedule: Schedule,
    /// The threads and iterations that do not happen.
    pub without: control::Omissions,
    /// Threads that run from their beginning to their end while nobody else is
    /// under way.
    pub serial: Vec<ThreadPath>,
}

/// A failing run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bug {
    /// Version of bohr that wrote it.
    pub writer: String,
    /// Which program.
    pub program: ProgramIdentity,
    /// How it was started.
    pub invocation: Invocation,
    /// What counts as a failure.
    pub oracle: Oracle,
    /// What the engine did where the program leaves it open.
    pub policy: control::Policy,
    /// Bounds of a run.
    pub limits: control::Limits,
    /// Name of the strategy that found it.
    pub strategy: String,
    /// Its seed.
    pub seed: u64,
    /// What failed.
    pub signature: Signature,
    /// What the program said.
    pub message: String,
    /// The last lines that the run printed.
    pub printed: String,
    /// Every thread at that moment.
    pub threads: Vec<ThreadLine>,
    /// How many threads the run had.
    pub thread_count: u32,
    /// At which event it failed: how many had been executed.
    pub events: u64,
    /// The interleaving as it was found.
    pub schedule: Schedule,
    /// The lines of the places that the run visited, for a program that changes.
    pub sources: Vec<Source>,
    /// The same failure with fewer threads, iterations and events, if somebody cut it down.
    pub reduced: Option<Reduced>,
    /// A smaller one that was not replayed often enough to rely on: a reduction
    /// was broken off. Only what goes on with that reduction looks at it.
    pub provisional: Option<Reduced>,
    /// The same failure with fewer switches, if somebody smoothed it; what the
    /// reduced one leaves out is left out here, too.
    pub simplified: Option<Schedule>,
}

impl Bug {
    /// The schedule with the fewest events and switches.
    #[must_use]
    pub fn best_schedule(&self) -> &Schedule {
        self.simplified.as_ref().unwrap_or(self.unsimplified())
    }

    /// The schedule with the fewest events that nobody has smoothed.
    #[must_use]
    pub fn unsimplified(&self) -> &Schedule {
        let reduced = self.reduced.as_ref().map(|reduced| &reduced.schedule);
        reduced.unwrap_or(&self.schedule)
    }

    /// What is left out of the program's run.
    #[must_use]
    pub fn without(&self) -> control::Omissions {
        let reduced = self.reduced.as_ref();
        reduced
            .map(|reduced| reduced.without.clone())
            .unwrap_or_default()
    }

    /// At which event it fails under that schedule: how many have been executed.
    #[must_use]
    pub fn failing_event(&self) -> u64 {
        match self.simplified.is_some() || self.reduced.is_some() {
            true => self.best_schedule().events(),
            false => self.events,
        }
    }
}

/// Why a file is not a bug that can be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BugFileError {
    /// It does not begin as a bug file does.
    #[error("this is not a bug file: it does not begin with `bohr-bug`")]
    NotABug,
    /// It was written by another version of the format.
    #[error("the bug file has format version {found}, this bohr reads version {VERSION}")]
    OtherVersion {
        /// What the file says.
        found: u32,
    },
    /// It is shorter than it says.
    #[error("the bug file is truncated: {expected} bytes were written, {found} are there")]
    Truncated {
        /// How long it was.
        expected: u64,
        /// How long it is.
        found: u64,
    },
    /// It is longer than it says.
    #[error("the bug file has {extra} bytes too many at its end")]
    TooLong {
        /// How many.
        extra: u64,
    },
    /// The checksum does not fit.
    #[error("the bug file is damaged: its checksum does not fit its content")]
    Damaged,
    /// The checksum fits and the content still makes no sense.
    #[error("the bug file is whole but its content makes no sense: {0}")]
    Malformed(&'static str),
}

/// The bytes of a bug file.
///
/// # Panics
/// If there is no memory to compress them.
#[must_use]
pub fn write(bug: &Bug) -> Vec<u8> {
    let plain = postcard::to_allocvec(bug).expect("a bug holds nothing that cannot be written");
    let body = zstd::encode_all(&plain[..], 3).expect("compressing memory does no I/O");
    let mut bytes = Vec::with_capacity(HEADER + body.len());
    bytes.extend(MAGIC);
    bytes.extend(VERSION.to_le_bytes());
    bytes.extend((body.len() as u64).to_le_bytes());
    bytes.extend(blake3::hash(&body).as_bytes());
    bytes.extend(body);
    bytes
}

/// The bug in these bytes.
///
/// # Errors
/// If they are not a whole, undamaged bug file of this version.
pub fn read(bytes: &[u8]) -> Result<Bug, BugFileError> {
    if !bytes.starts_with(&MAGIC) {
        return Err(match MAGIC.starts_with(bytes) && !bytes.is_empty() {
            true => truncated(HEADER as u64, bytes),
            false => BugFileError::NotABug,
        });
    }
    let word = |at: usize| {
        bytes
            .get(at..at + 4)?
            .try_into()
            .ok()
            .map(u32::from_le_bytes)
    };
    let long = |at: usize| {
        bytes
            .get(at..at + 8)?
            .try_into()
            .ok()
            .map(u64::from_le_bytes)
    };
    match word(8) {
        Some(VERSION) => {}
        Some(found) => return Err(BugFileError::OtherVersion { found }),
        None => return Err(truncated(HEADER as u64, bytes)),
    }
    let Some((length, hash)) = long(12).zip(bytes.get(20..HEADER)) else {
        return Err(truncated(HEADER as u64, bytes));
    };
    let body = &bytes[HEADER..];
    check(body, length, hash)?;
    unpack(body)
}

fn truncated(expected: u64, bytes: &[u8]) -> BugFileError {
    BugFileError::Truncated {
        expected,
        found: bytes.len() as u64,
    }
}

fn check(body: &[u8], length: u64, hash: &[u8]) -> Result<(), BugFileError> {
    let found = body.len() as u64;
    if found < length {
        return Err(BugFileError::Truncated {
            expected: length.saturating_add(HEADER as u64),
            found: found + HEADER as u64,
        });
    }
    if found > length {
        return Err(BugFileError::TooLong {
            extra: found - length,
        });
    }
    match blake3::hash(body).as_bytes() == hash {
        true => Ok(()),
        false => Err(BugFileError::Damaged),
    }
}

fn unpack(body: &[u8]) -> Result<Bug, BugFileError> {
    use std::io::Read;
    let decoder = zstd::Decoder::new(body).map_err(|_| BugFileError::Malformed("no zstd frame"))?;
    let mut plain = Vec::new();
    let unpacked = decoder.take(LARGEST).read_to_end(&mut plain);
    unpacked.map_err(|_| BugFileError::Malformed("zstd cannot unpack it"))?;
    match postcard::take_from_bytes(&plain) {
        Ok((bug, [])) => Ok(bug),
        Ok(_) => Err(BugFileError::Malformed("something follows the bug")),
        Err(_) => Err(BugFileError::Malformed("it holds no bug")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bohr_event::{Anchor, Choice, ChoiceKind, FailureKind, Place, Segment, SiteId};
    use proptest::prelude::*;

    fn place(number: u32) -> Place {
        match number % 2 {
            0 => Place::Code {
                object: "program".into(),
                offset: number.into(),
            },
            _ => Place::Site(SiteId {
                function: bohr_event::FunctionId(number.into()),
                index: number,
            }),
        }
    }

    fn bug(segments: &[(u32, u64)], text: &str, code: i32) -> Bug {
        let mut schedule: Schedule = segments
            .iter()
            .map(|&(child, events)| Segment {
                thread: ThreadPath::MAIN.child(child),
                events,
                end: Some(Anchor {
                    place: place(child),
                    visits: child,
                }),
            })
            .collect();
        schedule.choose(Choice {
            thread: ThreadPath::MAIN,
            number: 3,
            kind: ChoiceKind::Waiter,
            picked: 1,
        });
        Bug {
            writer: "0.1.0".into(),
            program: ProgramIdentity {
                path: b"/bin/program".to_vec(),
                hash: [7; 32],
                size: 99,
                mode: ControlMode::Calls,
                libraries: vec![LibraryIdentity {
                    name: "libpart.so".into(),
                    path: b"/lib/libpart.so".to_vec(),
                    bundle: [8; 32],
                    profile: [9; 32],
                    loaded_late: false,
                }],
            },
            invocation: Invocation {
                arguments: vec![text.as_bytes().to_vec()],
                environment: vec![(b"LANG".to_vec(), text.as_bytes().to_vec())],
                input: text.as_bytes().to_vec(),
                given: vec![ThreadInputs {
                    thread: ThreadPath::MAIN,
                    inputs: vec![bohr_event::inputs::Input::Time(7)],
                }],
            },
            oracle: Oracle::default(),
            policy: control::Policy::default(),
            limits: control::Limits {
                events: 1_000,
                milliseconds: 10,
            },
            strategy: "random".into(),
            seed: 42,
            signature: Signature {
                kind: FailureKind::Exit { code },
                place: Some(place(1)),
                frames: Vec::new(),
                cycle: vec![place(2)],
            },
            message: text.into(),
            printed: text.into(),
            threads: Vec::new(),
            thread_count: 3,
            events: schedule.events(),
            sources: vec![Source {
                place: place(2),
                function: text.into(),
                line: "a.c:7".into(),
            }],
            reduced: None,
            provisional: None,
            simplified: Some(schedule.clone()),
            schedule,
        }
    }

    proptest! {
        #[test]
        fn a_bug_survives_its_file(
            segments in prop::collection::vec((1u32..5, 1u64..1000), 0..40),
            text in ".{0,40}",
            code: i32,
        ) {
            let bug = bug(&segments, &text, code);
            prop_assert_eq!(read(&write(&bug)), Ok(bug));
        }

        #[test]
        fn any_bytes_are_refused_or_read(mut bytes in prop::collection::vec(any::<u8>(), 0..400), headed: bool) {
            if headed {
                bytes.splice(0..0, write(&bug(&[], "", 1))[..20].to_vec());
            }
            prop_assert!(read(&bytes).is_err());
        }

        #[test]
        fn any_body_under_a_right_checksum_is_refused_or_read(body in prop::collection::vec(any::<u8>(), 0..400), packed: bool) {
            let body = if packed { zstd::encode_all(&body[..], 1).unwrap() } else { body };
            let bytes = headed(body);
            prop_assert!(matches!(read(&bytes), Ok(_) | Err(BugFileError::Malformed(_))));
        }
    }

    /// The bytes of a bug file with this unpacked body.
    fn packed(plain: &[u8]) -> Vec<u8> {
        headed(zstd::encode_all(plain, 1).unwrap())
    }

    /// The bytes of a bug file with this body.
    fn headed(body: Vec<u8>) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend((body.len() as u64).to_le_bytes());
        bytes.extend(blake3::hash(&body).as_bytes());
        bytes.extend(body);
        bytes
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        /// Damage that checksums do not see: bugs whose fields were changed,
        /// cut off, doubled or moved before they were packed.
        #[test]
        fn any_damaged_bug_is_refused_or_read(
            segments in prop::collection::vec((1u32..5, 1u64..1000), 0..10),
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0u8..4), 1..6),
        ) {
            let mut plain = postcard::to_allocvec(&bug(&segments, "text", 1)).unwrap();
            for (position, value, change) in changes {
                let at = position.index(plain.len().max(1));
                match change {
                    0 if at < plain.len() => plain[at] = value,
                    1 if at < plain.len() => drop(plain.remove(at)),
                    2 => plain.insert(at.min(plain.len()), value),
                    _ => plain.truncate(at),
                }
            }
            match read(&packed(&plain)) {
                // What is read is a bug like any other.
                Ok(bug) => prop_assert_eq!(read(&write(&bug)), Ok(bug)),
                Err(error) => prop_assert!(matches!(error, BugFileError::Malformed(_))),
            }
        }
    }

    #[test]
    fn every_changed_byte_is_noticed() {
        let bytes = write(&bug(&[(1, 5), (2, 6)], "text", 3));
        for position in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[position] ^= 0x41;
            assert!(read(&changed).is_err(), "byte {position}");
        }
    }

    #[test]
    fn every_truncation_says_so() {
        let bytes = write(&bug(&[(1, 5)], "text", 3));
        assert_eq!(read(&[]), Err(BugFileError::NotABug));
        for length in 1..bytes.len() {
            let refusal = read(&bytes[..length]);
            assert!(
                matches!(refusal, Err(BugFileError::Truncated { .. })),
                "{length}: {refusal:?}"
            );
        }
        let longer = [&bytes[..], &[0]].concat();
        assert_eq!(read(&longer), Err(BugFileError::TooLong { extra: 1 }));
    }

    #[test]
    fn secrets_stay_at_home() {
        let variable = |name: &str| (name.as_bytes().to_vec(), b"x".to_vec());
        let current = vec![
            variable("PATH"),
            variable("GITHUB_TOKEN"),
            variable("db_password"),
        ];
        let invocation = Invocation {
            environment: current.clone(),
            ..Invocation::default()
        };
        let shared = invocation.without_secrets();
        assert_eq!(shared.environment, [variable("PATH")]);
        assert_eq!(shared.with_secrets_of(&current).environment, current);
    }

    #[test]
    fn other_versions_are_named() {
        let mut bytes = write(&bug(&[], "", 1));
        bytes[8] = 9;
        assert_eq!(read(&bytes), Err(BugFileError::OtherVersion { found: 9 }));
        assert_eq!(read(b"\x7fELF...."), Err(BugFileError::NotABug));
    }
}
