//! bohr's side of the board: writes the orders, reads the counters.

use crate::error::ExploreError;
use bohr_event::breakpoint::{
    BOARD_COUNTERS, BOARD_LENGTH, BOARD_MAGIC, BOARD_ORDERS, COUNTER_WORDS, Counts, Orders,
};
use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// A board, gone when it is dropped. It lies in memory: a disk would make the
/// program wait when it first writes there.
pub struct Board {
    file: File,
    breakpoints: usize,
}

impl Board {
    /// With these orders.
    pub fn new(orders: &Orders) -> Result<Board, ExploreError> {
        let bytes = postcard::to_allocvec(orders).expect("orders can be written");
        let written = || {
            let file = in_memory()?;
            let length = (BOARD_ORDERS + bytes.len()).next_multiple_of(BOARD_ORDERS);
            file.set_len(length as u64)?;
            let word = |value: u64, at: usize| file.write_all_at(&value.to_le_bytes(), at as u64);
            word(BOARD_MAGIC, 0)?;
            word(bytes.len() as u64, BOARD_LENGTH)?;
            file.write_all_at(&bytes, BOARD_ORDERS as u64)?;
            Ok(file)
        };
        Ok(Board {
            file: written().map_err(board_error)?,
            breakpoints: orders.breakpoints.len(),
        })
    }

    /// How other processes find it, while this one has it open.
    pub fn path(&self) -> PathBuf {
        let number = self.file.as_raw_fd();
        PathBuf::from(format!("/proc/{}/fd/{number}", std::process::id()))
    }

    /// What became of the breakpoints.
    pub fn counts(&self) -> Result<Vec<Counts>, ExploreError> {
        let all = (0..self.breakpoints).map(|number| {
            let mut words = [0; COUNTER_WORDS];
            for (position, word) in words.iter_mut().enumerate() {
                let at = BOARD_COUNTERS + (number * COUNTER_WORDS + position) * 8;
                let mut bytes = [0; 8];
                self.file.read_exact_at(&mut bytes, at as u64)?;
                *word = u64::from_le_bytes(bytes);
            }
            Ok(Counts::of_words(&words))
        });
        all.collect::<Result<_, std::io::Error>>()
            .map_err(board_error)
    }
}

/// A file without a name that is on no disk.
fn in_memory() -> std::io::Result<File> {
    Ok(File::from(memfd_create("bohr", MemfdFlags::CLOEXEC)?))
}

fn board_error(source: std::io::Error) -> ExploreError {
    ExploreError::File {
        path: std::env::temp_dir(),
        source,
    }
}
