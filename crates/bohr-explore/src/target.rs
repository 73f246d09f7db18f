//! What is run: a program that can be controlled, or a refusal that says why not.

use crate::bug_file::{ControlMode, LibraryIdentity, ProgramIdentity};
use object::elf::{ELFCLASS32, EM_X86_64, FileHeader64, PT_INTERP};
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, Object, ObjectSymbol};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Name of the library that is loaded into the program.
pub const RUNTIME: &str = "libbohr_runtime.so";

/// Names the runtime's file where it does not lie beside the program `bohr`.
pub const RUNTIME_VARIABLE: &str = "BOHR_RUNTIME";

/// Name of the library that holds up real threads at breakpoints.
pub const NATIVE: &str = "libbohr_native.so";

/// Names its file where it does not lie beside the program `bohr`.
const NATIVE_VARIABLE: &str = "BOHR_NATIVE";

/// Name of the library that has real threads write down their way.
pub const RECORDER: &str = "libbohr_recorder.so";

/// Names its file where it does not lie beside the program `bohr`.
const RECORDER_VARIABLE: &str = "BOHR_RECORDER";

/// A program that can be run under control.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Which program, and how it is controlled.
    pub identity: ProgramIdentity,
    /// What is started: the program itself or its control profile.
    pub executable: PathBuf,
    /// What is loaded into it.
    pub runtime: PathBuf,
    /// What is loaded with it, before the libraries that it asks for.
    pub preload: Vec<PathBuf>,
    /// The profiles of its libraries, in the order of `identity.libraries`.
    pub libraries: Vec<PathBuf>,
}

/// A shared library whose profile takes its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LibraryStart {
    /// The name by which the program asks for it.
    pub name: String,
    /// The library itself.
    pub path: PathBuf,
    /// Its profile.
    pub profile: PathBuf,
    /// Hash of its bundle.
    pub bundle: [u8; 32],
    /// Whether the program loads it itself, while it runs.
    pub loaded_late: bool,
}

impl Target {
    /// The same with these libraries controlled, too; `preload` has the profiles in it of
    /// all that the program does not load itself.
    ///
    /// # Errors
    /// If a profile cannot be read.
    pub fn with_libraries(
        mut self,
        libraries: &[LibraryStart],
        preload: Vec<PathBuf>,
    ) -> Result<Target, TargetError> {
        for library in libraries {
            let linked = std::fs::read(&library.profile).map_err(|source| {
                let path = library.profile.clone();
                TargetError::Unusable { path, source }
            })?;
            self.identity.libraries.push(LibraryIdentity {
                name: library.name.clone(),
                path: library.path.as_os_str().as_bytes().to_vec(),
                bundle: library.bundle,
                profile: *blake3::hash(&linked).as_bytes(),
                loaded_late: library.loaded_late,
            });
            self.libraries.push(library.profile.clone());
        }
        self.preload = preload;
        Ok(self)
    }

    /// The bundles of what is instrumented and loaded when the program begins.
    pub fn bundles_at_start(&self) -> impl Iterator<Item = &[u8; 32]> {
        let program = match &self.identity.mode {
            ControlMode::Accesses { bundle, .. } => Some(bundle),
            ControlMode::Calls => None,
        };
        let libraries = self.identity.libraries.iter();
        let early = libraries.filter(|library| !library.loaded_late);
        program
            .into_iter()
            .chain(early.map(|library| &library.bundle))
    }

    /// Libraries that the program loads itself, and their profiles.
    pub fn loaded_late(&self) -> impl Iterator<Item = (&Path, &Path)> {
        let libraries = self.identity.libraries.iter().zip(&self.libraries);
        let late = libraries.filter(|(library, _)| library.loaded_late);
        late.map(|(library, profile)| {
            let path = Path::new(OsStr::from_bytes(&library.path));
            (path, profile.as_path())
        })
    }

    /// The files that instrumented code is in, with the hashes of the bundles that they
    /// were made from: the program's own first.
    pub fn profiles(&self) -> impl Iterator<Item = (&Path, &[u8; 32])> {
        let program = match &self.identity.mode {
            ControlMode::Accesses { bundle, .. } => Some((self.executable.as_path(), bundle)),
            ControlMode::Calls => None,
        };
        let bundles = self.identity.libraries.iter().map(|one| &one.bundle);
        let libraries = self.libraries.iter().map(PathBuf::as_path).zip(bundles);
        program.into_iter().chain(libraries)
    }
}

/// Why a program cannot be controlled.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// There is no such file.
    #[error("there is no program `{0}`")]
    NotFound(PathBuf),
    /// It is there and cannot be read or executed.
    #[error("the program `{path}` cannot be used")]
    Unusable {
        /// Which.
        path: PathBuf,
        /// As the system says.
        source: std::io::Error,
    },
    /// It has no execute permission.
    #[error("the file `{0}` is not executable")]
    NotExecutable(PathBuf),
    /// It is a script.
    #[error("`{path}` is a script for `{interpreter}`, not a program")]
    Script {
        /// Which.
        path: PathBuf,
        /// What would run it.
        interpreter: String,
    },
    /// It is something else.
    #[error("`{0}` is not an ELF executable")]
    NotElf(PathBuf),
    /// It is cut off.
    #[error("`{path}` is incomplete: it has {found} bytes, and its headers tell of {expected}")]
    Truncated {
        /// Which.
        path: PathBuf,
        /// How many bytes it has.
        found: u64,
        /// How many it has to have at least.
        expected: u64,
    },
    /// It is for another processor.
    #[error("`{path}` is a program for another processor: {found}, expected x86-64")]
    OtherMachine {
        /// Which.
        path: PathBuf,
        /// What it is for.
        found: String,
    },
    /// It has no dynamic loader to load the runtime with.
    #[error(
        "`{0}` is statically linked and carries no bundle, so the runtime cannot be loaded into it"
    )]
    Static(PathBuf),
    /// It carries a bundle, and what is made of it has no dynamic loader either.
    #[error("`{0}` is linked statically, so the runtime cannot be loaded into its profile")]
    StaticProfile(PathBuf),
    /// Its dynamic loader is missing on this machine.
    #[error("`{path}` asks for the loader `{interpreter}`, which is not there")]
    MissingInterpreter {
        /// Which.
        path: PathBuf,
        /// Its loader.
        interpreter: PathBuf,
    },
    /// The system loads nothing into programs that change their user.
    #[error("`{0}` changes its user or group, so the system loads no library into it")]
    ChangesUser(PathBuf),
    /// It was built with a sanitizer that wants the address space for itself.
    #[error(
        "`{path}` was built with {sanitizer}, which cannot share its address space with the runtime"
    )]
    Sanitizer {
        /// Which.
        path: PathBuf,
        /// Its name.
        sanitizer: &'static str,
    },
    /// The runtime is not where it should be.
    #[error("the runtime {RUNTIME} is not beside bohr ({0})")]
    NoRuntime(PathBuf),
    /// Nor is the library that holds up real threads.
    #[error("the library {NATIVE} is not beside bohr ({0})")]
    NoNative(PathBuf),
    /// Nor is the library that records.
    #[error("the library {RECORDER} is not beside bohr ({0})")]
    NoRecorder(PathBuf),
}

/// The file that a shell would start for this word.
///
/// # Errors
/// If there is none.
pub fn find_program(word: &Path) -> Result<PathBuf, TargetError> {
    let missing = || TargetError::NotFound(word.to_path_buf());
    if word.as_os_str().as_bytes().contains(&b'/') {
        return word.canonicalize().map_err(|_| missing());
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&folders)
        .map(|folder| folder.join(word))
        .find(|path| path.is_file());
    found
        .and_then(|path| path.canonicalize().ok())
        .ok_or_else(missing)
}

/// The runtime that belongs to this bohr.
///
/// # Errors
/// If it is not where it should be.
pub fn find_runtime() -> Result<PathBuf, TargetError> {
    find_beside(RUNTIME, RUNTIME_VARIABLE).map_err(TargetError::NoRuntime)
}

/// The library for breakpoints that belongs to this bohr.
///
/// # Errors
/// If it is not where it should be.
pub fn find_native() -> Result<PathBuf, TargetError> {
    find_beside(NATIVE, NATIVE_VARIABLE).map_err(TargetError::NoNative)
}

/// The library for recording that belongs to this bohr.
///
/// # Errors
/// If it is not where it should be.
pub fn find_recorder() -> Result<PathBuf, TargetError> {
    find_beside(RECORDER, RECORDER_VARIABLE).map_err(TargetError::NoRecorder)
}

/// The library that a variable names, or that lies where bohr does; where it was
/// looked for if it does not.
fn find_beside(name: &str, variable: &str) -> Result<PathBuf, PathBuf> {
    if let Some(path) = std::env::var_os(variable) {
        let path = PathBuf::from(path);
        return path.canonicalize().map_err(|_| path);
    }
    let own = std::env::current_exe().unwrap_or_default();
    let folder = own.parent().unwrap_or(Path::new("."));
    let places = [
        folder.join(name),
        folder.join("../lib/bohr").join(name),
        // Where cargo leaves it when tests need it.
        folder.join("deps").join(name),
    ];
    let found = places.iter().find_map(|path| path.canonicalize().ok());
    found.ok_or_else(|| folder.to_path_buf())
}

/// Looks at a program and says whether it can be run under control.
///
/// `profile` is the executable to start in its place, with the hash of its
/// bundle; without it the program itself is started, unmodified.
///
/// # Errors
/// If it cannot, with the reason.
pub fn inspect(word: &Path, profile: Option<(PathBuf, [u8; 32])>) -> Result<Target, TargetError> {
    inspect_with(word, profile, find_runtime()?)
}

/// The same with a runtime that need not be the one of this bohr.
///
/// # Errors
/// As [`inspect`].
pub fn inspect_with(
    word: &Path,
    profile: Option<(PathBuf, [u8; 32])>,
    runtime: PathBuf,
) -> Result<Target, TargetError> {
    let path = find_program(word)?;
    let bytes = read(&path)?;
    check_sanitizers(&path, &bytes)?;
    let (executable, mode) = match profile {
        Some((executable, bundle)) => {
            let linked = read(&executable)?;
            if let Err(TargetError::Static(_)) = check_elf(&path, &linked) {
                return Err(TargetError::StaticProfile(path));
            }
            let profile = *blake3::hash(&linked).as_bytes();
            (executable, ControlMode::Accesses { bundle, profile })
        }
        None => {
            check_elf(&path, &bytes)?;
            (path.clone(), ControlMode::Calls)
        }
    };
    Ok(Target {
        identity: ProgramIdentity {
            hash: *blake3::hash(&bytes).as_bytes(),
            size: bytes.len() as u64,
            path: path.into_os_string().as_bytes().to_vec(),
            mode,
            libraries: Vec::new(),
        },
        executable,
        runtime,
        preload: Vec::new(),
        libraries: Vec::new(),
    })
}

fn read(path: &Path) -> Result<Vec<u8>, TargetError> {
    let unusable = |source| TargetError::Unusable {
        path: path.to_path_buf(),
        source,
    };
    let mode = std::fs::metadata(path)
        .map_err(unusable)?
        .permissions()
        .mode();
    if mode & 0o111 == 0 {
        return Err(TargetError::NotExecutable(path.to_path_buf()));
    }
    if mode & 0o6000 != 0 && !rustix::process::geteuid().is_root() {
        return Err(TargetError::ChangesUser(path.to_path_buf()));
    }
    std::fs::read(path).map_err(unusable)
}

/// Sanitizers that cannot be there together with the runtime, by a function that
/// each of them exports.
const EXCLUSIVE: [(&str, &str); 3] = [
    ("__tsan_init", "ThreadSanitizer"),
    ("__msan_init", "MemorySanitizer"),
    ("__hwasan_init", "HWAddressSanitizer"),
];

fn check_sanitizers(path: &Path, bytes: &[u8]) -> Result<(), TargetError> {
    let Ok(file) = object::File::parse(bytes) else {
        return Ok(());
    };
    let defined = file
        .dynamic_symbols()
        .filter(|symbol| symbol.is_definition());
    for name in defined.filter_map(|symbol| symbol.name().ok()) {
        if let Some((_, sanitizer)) = EXCLUSIVE.iter().find(|(init, _)| *init == name) {
            return Err(TargetError::Sanitizer {
                path: path.to_path_buf(),
                sanitizer,
            });
        }
    }
    Ok(())
}

/// Whether the system can load the runtime into a program with these bytes.
fn check_elf(path: &Path, bytes: &[u8]) -> Result<(), TargetError> {
    let path = path.to_path_buf();
    if let Some(line) = bytes.strip_prefix(b"#!") {
        let end = line
            .iter()
            .position(|byte| *byte == b'\n')
            .unwrap_or(line.len());
        let interpreter = String::from_utf8_lossy(&line[..end]).trim().to_string();
        return Err(TargetError::Script { path, interpreter });
    }
    if !bytes.starts_with(b"\x7fELF") {
        return Err(TargetError::NotElf(path));
    }
    if bytes.get(4) == Some(&ELFCLASS32.0) {
        let found = "a 32-bit program".to_string();
        return Err(TargetError::OtherMachine { path, found });
    }
    let Ok(header) = FileHeader64::<Endianness>::parse(bytes) else {
        return Err(TargetError::NotElf(path));
    };
    let endian = header.endian().unwrap_or_default();
    let machine = header.e_machine(endian);
    if machine != EM_X86_64 {
        let found = format!("machine number {machine:?}");
        return Err(TargetError::OtherMachine { path, found });
    }
    let (found, expected) = (bytes.len() as u64, needed(header, endian, bytes));
    if found < expected {
        return Err(TargetError::Truncated {
            path,
            found,
            expected,
        });
    }
    match interpreter(header, endian, bytes) {
        None => Err(TargetError::Static(path)),
        Some(interpreter) if !interpreter.exists() => {
            Err(TargetError::MissingInterpreter { path, interpreter })
        }
        Some(_) => Ok(()),
    }
}

/// Up to where the file has to reach for the system to load the program: the table of
/// its segments, and each of them.
fn needed(header: &FileHeader64<Endianness>, endian: Endianness, bytes: &[u8]) -> u64 {
    let entries = u64::from(header.e_phnum(endian)) * u64::from(header.e_phentsize(endian));
    let table = header.e_phoff(endian).saturating_add(entries);
    let segments = header.program_headers(endian, bytes).unwrap_or_default();
    let ends = segments.iter().map(|segment| {
        let start = segment.p_offset(endian);
        start.saturating_add(segment.p_filesz(endian))
    });
    ends.fold(table, u64::max)
}

fn interpreter(
    header: &FileHeader64<Endianness>,
    endian: Endianness,
    bytes: &[u8],
) -> Option<PathBuf> {
    let segments = header.program_headers(endian, bytes).ok()?;
    let segment = segments
        .iter()
        .find(|segment| segment.p_type(endian) == PT_INTERP)?;
    let name = segment.data(endian, bytes).ok()?;
    let name = name.split(|byte| *byte == 0).next()?;
    Some(PathBuf::from(OsStr::from_bytes(name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// Writes an executable file and looks at it.
    fn refusal(bytes: &[u8]) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("program");
        std::fs::write(&path, bytes).unwrap();
        check_elf(&path, bytes)
            .unwrap_err()
            .to_string()
            .replace(folder.path().to_str().unwrap(), "")
    }

    fn compiled(flags: &[&str]) -> Vec<u8> {
        let folder = tempfile::tempdir().unwrap();
        let (source, output) = (folder.path().join("a.c"), folder.path().join("a"));
        std::fs::write(&source, "int main(void) { return 0; }").unwrap();
        let mut compiler = Command::new("clang-22");
        let status = compiler
            .args(flags)
            .arg(&source)
            .arg("-o")
            .arg(&output)
            .status()
            .unwrap();
        assert!(status.success());
        std::fs::read(output).unwrap()
    }

    #[test]
    fn what_cannot_be_controlled_is_refused_with_the_reason() {
        assert_eq!(
            refusal(b"#!/bin/sh -e\necho\n"),
            "`/program` is a script for `/bin/sh -e`, not a program"
        );
        assert_eq!(refusal(b"MZ"), "`/program` is not an ELF executable");
        assert_eq!(
            refusal(b"\x7fELF\x02"),
            "`/program` is not an ELF executable"
        );
        assert_eq!(
            refusal(b"\x7fELF\x01\x01\x01"),
            "`/program` is a program for another processor: a 32-bit program, expected x86-64"
        );
        let whole = compiled(&[]);
        for cut in [300, whole.len() / 2] {
            let told = refusal(&whole[..cut]);
            let told = told.split(", and").next().unwrap();
            let expected = format!("`/program` is incomplete: it has {cut} bytes");
            assert_eq!(told, expected);
        }
        assert_eq!(
            refusal(&compiled(&["-static"])),
            "`/program` is statically linked and carries no bundle, so the runtime cannot be loaded into it"
        );
        assert_eq!(
            refusal(&compiled(&["-Wl,--dynamic-linker=/no/ld.so"])),
            "`/program` asks for the loader `/no/ld.so`, which is not there"
        );
    }

    #[test]
    fn an_ordinary_program_is_taken() {
        let path = find_program(Path::new("sh")).unwrap();
        check_elf(&path, &std::fs::read(&path).unwrap()).unwrap();
        assert!(matches!(
            find_program(Path::new("no-such-program")),
            Err(TargetError::NotFound(_))
        ));
    }

    #[test]
    fn any_bytes_are_taken_or_refused() {
        let program = compiled(&[]);
        let path = Path::new("/program");
        for cut in (0..program.len().min(4096)).step_by(7) {
            let _ = check_elf(path, &program[..cut]);
            let mut changed = program.clone();
            changed[cut] ^= 0xff;
            let _ = check_elf(path, &changed);
        }
    }
}
