//! From a bug file to the program that it is about.

use super::{Accesses, environment, libraries, target};
use crate::outcome::Failure;
use bohr_event::{Diagnosis, Fault};
use bohr_explore::bug_file::{self, Bug, ControlMode, LibraryIdentity, ProgramIdentity};
use bohr_explore::{ExploreError, Subject, Target};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A bug, and how what comes of it is printed: what every command that works on
/// a bug with its own program asks for.
#[derive(clap::Args)]
pub struct BugArgs {
    /// A bug file, as `bohr hunt` writes it; `simplify` and `trace` also take a trace file.
    pub bug: PathBuf,
    /// The program, if it is not where it was.
    #[arg(long, value_name = "FILE")]
    pub program: Option<PathBuf>,
    /// Print one JSON object on standard output.
    #[arg(long)]
    pub json: bool,
}

impl BugArgs {
    /// The bug and its program, which has to be the build that it was found in.
    pub fn load(&self) -> Result<(Bug, Subject), Failure> {
        let bug = load_bug(&self.bug)?;
        let subject = subject_of_bug(&bug, self.program.as_deref())?;
        same_build(&bug, &subject.target)?;
        Ok((bug, subject))
    }
}

/// A bug's program is not where it was.
#[derive(Debug, thiserror::Error)]
#[error("the program that the bug was found in is gone: there is no `{0}`")]
struct ProgramGone(PathBuf);

impl Diagnosis for ProgramGone {
    fn fault(&self) -> Fault {
        Fault::Input
    }

    fn help(&self) -> Option<String> {
        Some(
            "say where it is now (--program FILE), or build it again; without it nothing of a bug \
             can be run, but a trace that was kept of it (bohr trace BUG --export trace) can be \
             looked at and simplified"
                .to_string(),
        )
    }
}

/// Reads a bug file.
pub fn load_bug(path: &Path) -> Result<Bug, Failure> {
    let bytes = std::fs::read(path).map_err(|source| ExploreError::File {
        path: path.to_path_buf(),
        source,
    })?;
    let bug = bug_file::read(&bytes).map_err(|source| ExploreError::BugFile {
        path: path.to_path_buf(),
        source,
    })?;
    Ok(bug)
}

/// The bug's program, at its recorded place or at another that the user names.
pub fn subject_of_bug(bug: &Bug, program: Option<&Path>) -> Result<Subject, Failure> {
    let recorded = PathBuf::from(OsStr::from_bytes(&bug.program.path));
    if program.is_none() && !recorded.exists() {
        return Err(ProgramGone(recorded).into());
    }
    let path = program.unwrap_or(&recorded);
    let invocation = bug.invocation.with_secrets_of(&environment());
    let accesses = match &bug.program {
        program if !program.libraries.is_empty() => Accesses::All(&invocation.environment),
        program if program.mode == ControlMode::Calls => Accesses::None,
        _ => Accesses::OfProgram,
    };
    let (target, models) = target(path, accesses)?;
    let mut subject = Subject::of_bug(bug, target, models);
    subject.invocation = invocation;
    libraries::with_late_ones_of(bug, subject)
}

/// Refuses another build of the program, and names what differs.
pub fn same_build(bug: &Bug, target: &Target) -> Result<(), ExploreError> {
    let (recorded, present) = (&bug.program, &target.identity);
    let difference = difference(recorded, present)
        .or_else(|| difference_of_libraries(&recorded.libraries, &present.libraries));
    match difference {
        None => Ok(()),
        Some(difference) => Err(ExploreError::OtherBuild {
            path: PathBuf::from(OsStr::from_bytes(&target.identity.path)),
            difference,
        }),
    }
}

/// The beginning of a hash, which is enough to tell it from others.
fn hex(hash: &[u8; 32]) -> String {
    let bytes = hash[..8].iter();
    bytes.map(|byte| format!("{byte:02x}")).collect()
}

fn difference_of_libraries(
    recorded: &[LibraryIdentity],
    present: &[LibraryIdentity],
) -> Option<String> {
    for was in recorded {
        let name = libraries::file_name(&was.name);
        let Some(is) = present.iter().find(|is| is.name == was.name) else {
            let path = String::from_utf8_lossy(&was.path);
            return Some(format!(
                "its library {name}, which was {path}, is not there any more, or was not built with bohr"
            ));
        };
        if is.bundle != was.bundle {
            let path = String::from_utf8_lossy(&is.path);
            let (is, was) = (hex(&is.bundle), hex(&was.bundle));
            return Some(format!(
                "the bundle of its library {name} ({path}) is {is}, was {was}"
            ));
        }
        if is.profile != was.profile {
            return Some(format!(
                "the control profile of its library {name} is {}, was {}: another version of bohr \
                 made it",
                hex(&is.profile),
                hex(&was.profile)
            ));
        }
    }
    let is_new = |is: &&LibraryIdentity| recorded.iter().all(|was| was.name != is.name);
    let new = present.iter().find(is_new)?;
    Some(format!(
        "its library {} was not built with bohr then, or was not there",
        libraries::file_name(&new.name)
    ))
}

fn difference(recorded: &ProgramIdentity, present: &ProgramIdentity) -> Option<String> {
    use ControlMode::{Accesses, Calls};
    match (&recorded.mode, &present.mode) {
        (
            Accesses {
                bundle: old,
                profile: was,
            },
            Accesses {
                bundle: new,
                profile: is,
            },
        ) => {
            if old != new {
                return Some(format!("its bundle is {}, was {}", hex(new), hex(old)));
            }
            (was != is).then(|| {
                format!(
                    "its control profile is {}, was {}: another version of bohr made it",
                    hex(is),
                    hex(was)
                )
            })
        }
        (Accesses { .. }, Calls) => Some("it carries no bundle any more".to_string()),
        (Calls, Accesses { .. }) => Some("it was controlled at its calls only".to_string()),
        (Calls, Calls) => (recorded.hash != present.hash).then(|| {
            format!(
                "it has {} bytes and hash {}, had {} bytes and hash {}",
                present.size,
                hex(&present.hash),
                recorded.size,
                hex(&recorded.hash)
            )
        }),
    }
}
