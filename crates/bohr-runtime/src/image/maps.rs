//! What this process has mapped, as `/proc/self/maps` tells it.

use crate::system;
use alloc::{string::String, vec::Vec};
use bohr_event::abi;
use core::ops::Range;

/// One line of it.
#[derive(Clone, Debug)]
pub struct Own {
    /// Where.
    pub range: Range<usize>,
    /// Whether writes are this process's own.
    pub is_private: bool,
    /// From where on the file is shown.
    pub offset: u64,
    /// The file, what the kernel calls it in brackets, or nothing.
    pub name: String,
}

impl Own {
    /// Whether it is part of an image: the kernel's own code is not, nor what makes
    /// images.
    pub fn is_part(&self) -> bool {
        let (start, end) = (self.range.start as u64, self.range.end as u64);
        let left_out = abi::NOT_IN_IMAGES;
        let is_left_out = left_out.start <= start && end <= left_out.end;
        !self.is_of_kernel() && !is_left_out
    }

    /// Whether the kernel has put its own code or data there.
    pub fn is_of_kernel(&self) -> bool {
        self.name.starts_with("[v")
    }

    /// Whether it shows a file.
    pub fn is_file(&self) -> bool {
        self.name.starts_with('/')
    }
}

/// All of it, ascending.
pub fn read() -> Option<Vec<Own>> {
    let text = system::file(c"/proc/self/maps").ok()?;
    let text = core::str::from_utf8(&text).ok()?;
    Some(text.lines().filter_map(line).collect())
}

fn line(line: &str) -> Option<Own> {
    let mut words = line.splitn(6, ' ');
    let (start, end) = words.next()?.split_once('-')?;
    let is_private = words.next()?.ends_with('p');
    let offset = u64::from_str_radix(words.next()?, 16).ok()?;
    let address = |text| usize::from_str_radix(text, 16).ok();
    Some(Own {
        range: address(start)?..address(end)?,
        is_private,
        offset,
        name: words.nth(2).unwrap_or_default().trim_start().into(),
    })
}
