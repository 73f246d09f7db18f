//! bohr's side of the board: writes the orders, reads the counters.

use crate::error::ExploreError;
use bohr_event::breakpoint::{
    BOARD_COUNTERS, BOARD_LENGTH, BOARD_MAGIC, BOARD_ORDERS, COUNTER_WORDS, Counts, Orders,
};
use std::os::unix::fs::FileExt;
use std::path::Path;
use tempfile::NamedTempFile;

/// A board, gone when it is dropped.
pub struct Board {
    file: NamedTempFile,
    breakpoints: usize,
}

impl Board {
    /// With these orders.
    pub fn new(orders: &Orders) -> Result<Board, ExploreError> {
        let bytes = postcard::to_allocvec(orders).expect("orders can be written");
        let written = || {
            let file = NamedTempFile::with_prefix("bohr-board-")?;
            let length = (BOARD_ORDERS + bytes.len()).next_multiple_of(BOARD_ORDERS);
            file.as_file().set_len(length as u64)?;
            let word = |value: u64, at: usize| {
                file.as_file().write_all_at(&value.to_le_bytes(), at as u64)
            };
            word(BOARD_MAGIC, 0)?;
            word(bytes.len() as u64, BOARD_LENGTH)?;
            file.as_file().write_all_at(&bytes, BOARD_ORDERS as u64)?;
            Ok(file)
        };
        Ok(Board {
            file: written().map_err(board_error)?,
            breakpoints: orders.breakpoints.len(),
        })
    }

    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// What became of the breakpoints.
    pub fn counts(&self) -> Result<Vec<Counts>, ExploreError> {
        let all = (0..self.breakpoints).map(|number| {
            let mut words = [0; COUNTER_WORDS];
            for (position, word) in words.iter_mut().enumerate() {
                let at = BOARD_COUNTERS + (number * COUNTER_WORDS + position) * 8;
                let mut bytes = [0; 8];
                self.file.as_file().read_exact_at(&mut bytes, at as u64)?;
                *word = u64::from_le_bytes(bytes);
            }
            Ok(Counts::of_words(&words))
        });
        all.collect::<Result<_, std::io::Error>>()
            .map_err(board_error)
    }
}

fn board_error(source: std::io::Error) -> ExploreError {
    ExploreError::File {
        path: std::env::temp_dir(),
        source,
    }
}
