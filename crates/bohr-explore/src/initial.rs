//! What variables hold when their program is loaded, read off its file.

use object::{Object, ObjectSegment};
use std::path::Path;

/// The bytes at an offset from where an object is loaded, at most eight. `None` if the
/// file has no such bytes, or the loader writes there.
pub fn initially(path: &Path, offset: u64, size: u32) -> Option<u64> {
    let bytes = std::fs::read(path).ok()?;
    let file = object::File::parse(&*bytes).ok()?;
    let base = file.segments().map(|segment| segment.address()).min()?;
    let address = base.checked_add(offset)?;
    let end = address.checked_add(size.into())?;
    let mut relocations = file.dynamic_relocations().into_iter().flatten();
    if relocations.any(|(at, _)| at < end && address < at.saturating_add(8)) {
        return None;
    }
    let mut segments = file.segments();
    let segment = segments.find(|segment| {
        let begin = segment.address();
        begin <= address && end <= begin.saturating_add(segment.size())
    })?;
    let data = segment.data().ok()?;
    let first = usize::try_from(address - segment.address()).ok()?;
    let length = usize::try_from(size).ok().filter(|size| *size <= 8)?;
    // Behind what is in the file there are zeros.
    let mut word = [0; 8];
    for (position, byte) in word[..length].iter_mut().enumerate() {
        *byte = data.get(first + position).copied().unwrap_or(0);
    }
    Some(u64::from_le_bytes(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    static ZERO: [u64; 64] = [0; 64];
    static SEVEN: u64 = 0x0007_0000_0006;
    static POINTER: &u64 = &SEVEN;

    /// Where this very program has a variable, from where it is loaded.
    fn offset<T>(variable: &'static T) -> u64 {
        let maps = std::fs::read_to_string("/proc/self/maps").expect("a table of memory");
        let own = std::env::current_exe().expect("a path");
        let mut lines = maps.lines();
        let line = lines.find(|line| line.ends_with(&*own.to_string_lossy()));
        let start = line
            .and_then(|line| line.split_once('-'))
            .expect("a range")
            .0;
        let start = u64::from_str_radix(start, 16).expect("a number");
        std::ptr::from_ref(variable).addr() as u64 - start
    }

    #[test]
    fn the_file_tells_unless_the_loader_decides() {
        let own = std::env::current_exe().expect("a path");
        assert_eq!(initially(&own, offset(&ZERO[32]), 8), Some(0));
        assert_eq!(initially(&own, offset(&SEVEN), 4), Some(6));
        assert_eq!(initially(&own, offset(&SEVEN) + 4, 2), Some(7));
        assert_eq!(initially(&own, offset(&POINTER), 8), None);
        assert_eq!(*POINTER, SEVEN);
    }
}
