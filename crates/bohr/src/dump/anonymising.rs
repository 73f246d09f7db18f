//! `bohr core anonymise`: a core without its values.

use super::unpacked;
use crate::outcome::{Failure, Outcome};
use bohr_dump::anonymous::{self, Key};
use bohr_event::{Diagnosis, Fault};
use bohr_explore::{ExploreError, write_whole};
use std::io::Read;
use std::path::PathBuf;
use std::process::ExitCode;

/// Which core, and where to.
#[derive(clap::Args)]
#[command(after_help = "\
Addresses, layout and small numbers (loop counts, lengths, kinds: amounts below
16,777,216) stay, and so do the code and the constants of the program and its
libraries; everything else in memory and in registers becomes a keyed hash, equal
where it was equal. The key is kept with the core, since what it is compared with
has to be hashed alike: whoever tries all four billion values of a cell finds out
which one it was. Every step of bohr core works on the result.")]
pub struct Args {
    /// The core file; packed by zstd, lz4 or gzip, or not at all.
    core: PathBuf,
    /// Where the result goes.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Hash by the key of this core, which was made anonymous before, so that the two can
    /// be compared.
    #[arg(long, value_name = "CORE")]
    like: Option<PathBuf>,
}

/// A core that keeps its values.
#[derive(Debug, thiserror::Error)]
#[error("{} was not made anonymous: it has no key", .0.display())]
struct Keyless(PathBuf);

impl Diagnosis for Keyless {
    fn fault(&self) -> Fault {
        Fault::Input
    }

    fn help(&self) -> Option<String> {
        Some("make it anonymous first: bohr core anonymise CORE -o FILE".into())
    }
}

/// The key of the other core, or a new one.
fn key_for(args: &Args) -> Result<Key, Failure> {
    if let Some(like) = &args.like {
        let key = anonymous::key(&unpacked(like)?);
        return Ok(key.ok_or_else(|| Keyless(like.clone()))?);
    }
    let mut key = [0; 32];
    let file = |source| ExploreError::File {
        path: "/dev/urandom".into(),
        source,
    };
    let mut random = std::fs::File::open("/dev/urandom").map_err(file)?;
    random.read_exact(&mut key).map_err(file)?;
    Ok(key)
}

pub fn run(args: &Args) -> Outcome {
    let core = unpacked(&args.core)?;
    let anonymous = anonymous::anonymised(&core, &key_for(args)?)?;
    write_whole(&args.output, &anonymous).map_err(|source| ExploreError::File {
        path: args.output.clone(),
        source,
    })?;
    println!("written to {}", args.output.display());
    Ok(ExitCode::SUCCESS)
}
