//! `bohr ld`: runs the real linker with the real arguments, and adds the bundle
//! to what it wrote.
//!
//! Only the linker knows which objects and archive members went in, so it is
//! asked to say (`--trace`, twice: GNU ld names archive members only then). mold
//! names every member that it looks at, and has to be asked for its map, too.

mod alteration;
mod archive;
mod arguments;
mod bitcode;
mod collect;
pub(crate) mod dynamic;
mod object_file;
mod options;
pub(crate) mod origin;
pub(crate) mod production;
mod trace;

use crate::error::BuildError;
use crate::{process, response, toolchain};
use arguments::Request;
use bohr_bundle::attach;
use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// The environment variable by which the compiler step says which linker the user meant.
pub(crate) const REAL_LINKER: &str = "BOHR_REAL_LINKER";

/// Links, then attaches the bundle.
pub(crate) fn run(arguments: &[OsString]) -> Result<ExitCode, BuildError> {
    let linker = real_linker()?;
    let request = Request::read(&response::expand(arguments));
    let mut command = Command::new(&linker);
    command.args(arguments).env_remove(REAL_LINKER);
    if !request.makes_program {
        return Err(process::replace(command));
    }
    let output = command
        .args(["--trace", "--trace"])
        .args(is_mold(&linker).then_some("--print-map"))
        .stdin(Stdio::inherit())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|source| process::not_started(&command, source))?;
    let trace = trace::read(&output.stdout);
    if request.own_trace {
        forward(&trace.lines);
    }
    forward(&trace.rest);
    if request.own_map {
        forward(&trace.map);
    }
    if output.status.success() {
        let path = request.output.clone();
        match add_bundle(request, &linker, &trace.inputs) {
            Ok(Some(bundle)) => {
                if let Some(profile) = production::wanted() {
                    production::replace(&path, profile, &bundle)?;
                }
            }
            Ok(None) => {}
            Err(error) => warn(&error),
        }
    }
    Ok(process::exit_code(output.status))
}

fn real_linker() -> Result<PathBuf, BuildError> {
    match env::var_os(REAL_LINKER) {
        Some(linker) => Ok(linker.into()),
        None => toolchain::lld().or_else(|_| toolchain::linker(None, &[])),
    }
}

/// By the name of its program; other names for it are links.
fn is_mold(linker: &Path) -> bool {
    let program = linker.canonicalize();
    let program = program.as_deref().unwrap_or(linker).file_name();
    program.is_some_and(|name| name.to_string_lossy().contains("mold"))
}

fn forward(text: &[u8]) {
    // Nobody is left to tell when standard output is closed.
    let _ = std::io::stdout().write_all(text);
}

/// The user's program is linked and complete; only bohr cannot use it.
fn warn(error: &BuildError) {
    let mut text = format!("bohr: warning: no bundle was added: {error}");
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    eprintln!("{text}");
}

/// The bundle that was added; `None` where there is no program to add it to.
fn add_bundle(
    request: Request,
    linker: &Path,
    inputs: &[trace::TracedInput],
) -> Result<Option<Vec<u8>>, BuildError> {
    let path = request.output.clone();
    // Configure scripts link to /dev/null.
    if !fs::metadata(&path).is_ok_and(|data| data.is_file()) {
        return Ok(None);
    }
    let program = fs::read(&path).map_err(BuildError::file("read", &path))?;
    if !program.starts_with(b"\x7fELF") {
        return Ok(None);
    }
    let bundle = collect::bundle(request, linker, inputs, &program)?;
    let attachment = attach(&program, &bundle).map_err(BuildError::bundle(&path))?;
    write_in_place(&path, &attachment).map_err(BuildError::file("write", &path))?;
    Ok(Some(bundle))
}

/// The header goes last: until then the file is what the linker left.
fn write_in_place(path: &Path, attachment: &bohr_bundle::Attachment) -> std::io::Result<()> {
    let file = File::options().write(true).open(path)?;
    file.write_all_at(&attachment.tail, attachment.tail_at)?;
    file.write_all_at(&attachment.header, 0)
}
