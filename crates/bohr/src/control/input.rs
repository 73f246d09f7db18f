//! What a program under test gets as its standard input: a file's content, bohr's own
//! input to its end, or nothing. It has to be there as a whole before the first run,
//! since every run reads it anew.

use crate::outcome::Failure;
use bohr_explore::ExploreError;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::FileType,
};
use std::{io::Read, path::Path};

/// The input that the user asked for.
pub fn standard(asked: Option<&Path>) -> Result<Vec<u8>, Failure> {
    match asked {
        Some(path) if path.as_os_str() == "-" => own(),
        Some(path) => super::read(path),
        None => {
            if is_offered() {
                eprintln!(
                    "bohr: note: the program gets no standard input; with `--stdin -` it gets what bohr is given"
                );
            }
            Ok(Vec::new())
        }
    }
}

/// All that bohr itself is given.
fn own() -> Result<Vec<u8>, Failure> {
    let mut input = Vec::new();
    let read = std::io::stdin().lock().read_to_end(&mut input);
    read.map_err(|source| ExploreError::File {
        path: "-".into(),
        source,
    })?;
    Ok(input)
}

/// Whether bohr's own input has bytes that somebody has put there: a file or a pipe, no
/// terminal and no device.
fn is_offered() -> bool {
    let input = std::io::stdin();
    let Ok(status) = rustix::fs::fstat(&input) else {
        return false;
    };
    match FileType::from_raw_mode(status.st_mode) {
        FileType::RegularFile => status.st_size > 0,
        FileType::Fifo => {
            let mut entry = [PollFd::new(&input, PollFlags::IN)];
            let at_once = Timespec::default();
            poll(&mut entry, Some(&at_once)).is_ok() && entry[0].revents().contains(PollFlags::IN)
        }
        _ => false,
    }
}
