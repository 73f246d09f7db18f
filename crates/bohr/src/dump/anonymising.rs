//! `bohr core anonymise`: a core without its values.

use super::unpacked;
use crate::outcome::Outcome;
use bohr_dump::anonymous::anonymised;
use bohr_explore::{ExploreError, write_whole};
use std::io::Read;
use std::path::PathBuf;
use std::process::ExitCode;

/// Which core, and where to.
#[derive(clap::Args)]
#[command(after_help = "\
Addresses, layout and small numbers (loop counts, lengths, kinds: amounts below
16,777,216) stay; everything else in writable memory and in registers becomes a
keyed hash, equal where it was equal. The key is kept with the core, since what
it is compared with has to be hashed alike: whoever tries all four billion values
of a cell finds out which one it was. Every step of bohr core works on the
result.")]
pub struct Args {
    /// The core file; packed by zstd, lz4 or gzip, or not at all.
    core: PathBuf,
    /// Where the result goes.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

pub fn run(args: &Args) -> Outcome {
    let core = unpacked(&args.core)?;
    let mut key = [0; 32];
    let file = |source| ExploreError::File {
        path: "/dev/urandom".into(),
        source,
    };
    let mut random = std::fs::File::open("/dev/urandom").map_err(file)?;
    random.read_exact(&mut key).map_err(file)?;
    let anonymous = anonymised(&core, &key)?;
    write_whole(&args.output, &anonymous).map_err(|source| ExploreError::File {
        path: args.output.clone(),
        source,
    })?;
    println!("written to {}", args.output.display());
    Ok(ExitCode::SUCCESS)
}
