//! bohr's side of the board: writes the orders, reads the counters.

use crate::error::ExploreError;
use bohr_event::breakpoint::{
    BOARD_COUNTERS, BOARD_LENGTH, BOARD_MAGIC, BOARD_ORDERS, BOARD_PASSES, COUNTER_WORDS, Counts,
    Orders, PASS_BYTES, PASS_WORDS, passed,
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
    /// How many sides each breakpoint has.
    breakpoints: Vec<usize>,
    /// Where the passes begin.
    passes: usize,
}

impl Board {
    /// With these orders.
    pub fn new(orders: &Orders) -> Result<Board, ExploreError> {
        let bytes = postcard::to_allocvec(orders).expect("orders can be written");
        let sides = orders.breakpoints.iter().map(|one| one.sides.len());
        let breakpoints: Vec<usize> = sides.collect();
        let passes = (BOARD_ORDERS + bytes.len()).next_multiple_of(BOARD_ORDERS);
        let written = || {
            let file = in_memory()?;
            let sides: usize = breakpoints.iter().sum();
            let length = (passes + sides * PASS_BYTES).next_multiple_of(BOARD_ORDERS);
            file.set_len(length as u64)?;
            let word = |value: u64, at: usize| file.write_all_at(&value.to_le_bytes(), at as u64);
            word(BOARD_MAGIC, 0)?;
            word(bytes.len() as u64, BOARD_LENGTH)?;
            word(passes as u64, BOARD_PASSES)?;
            file.write_all_at(&bytes, BOARD_ORDERS as u64)?;
            Ok(file)
        };
        Ok(Board {
            file: written().map_err(board_error)?,
            breakpoints,
            passes,
        })
    }

    /// How other processes find it, while this one has it open.
    pub fn path(&self) -> PathBuf {
        let number = self.file.as_raw_fd();
        PathBuf::from(format!("/proc/{}/fd/{number}", std::process::id()))
    }

    /// What became of the breakpoints.
    pub fn counts(&self) -> Result<Vec<Counts>, ExploreError> {
        self.read().map_err(board_error)
    }

    fn read(&self) -> std::io::Result<Vec<Counts>> {
        let mut all = Vec::new();
        let mut lines = self.passes;
        for (number, sides) in self.breakpoints.iter().enumerate() {
            let mut words = [0; COUNTER_WORDS];
            self.words(BOARD_COUNTERS + number * COUNTER_WORDS * 8, &mut words)?;
            let mut counts = Counts::of_words(&words);
            for side in 0..*sides {
                let mut words = [0; PASS_BYTES / 8];
                self.words(lines, &mut words)?;
                let of_side = words.chunks_exact(PASS_WORDS).map(passed).sum();
                counts = counts.with_passed(side, of_side);
                lines += PASS_BYTES;
            }
            all.push(counts);
        }
        Ok(all)
    }

    /// So many words from an offset on.
    fn words(&self, from: usize, words: &mut [u64]) -> std::io::Result<()> {
        let mut bytes = vec![0; words.len() * 8];
        self.file.read_exact_at(&mut bytes, from as u64)?;
        let read = bytes
            .chunks_exact(8)
            .map(|word| word.try_into().unwrap_or_default());
        for (word, bytes) in words.iter_mut().zip(read) {
            *word = u64::from_le_bytes(bytes);
        }
        Ok(())
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
