//! What a run takes: time, and time of processors, which tells more where others use
//! the machine, too.

use std::time::Duration;

/// See the module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// From its beginning to its end.
    pub time: Duration,
    /// On all processors, in steps of ten milliseconds.
    pub processor: Duration,
}

/// A clock tick in `/proc`, the same on every Linux for x86-64.
const TICK: Duration = Duration::from_millis(10);

/// What the children of this process that have ended took of processors.
pub fn by_children() -> Duration {
    let status = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    ticks(&status).map_or(Duration::ZERO, |ticks| TICK * ticks)
}

/// The name of the program, which may hold anything, ends with the last parenthesis.
fn ticks(status: &str) -> Option<u32> {
    let (_, fields) = status.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(13);
    let mut field = || fields.next()?.parse::<u32>().ok();
    Some(field()? + field()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_times_of_children_are_the_16th_and_17th_field() {
        let line = "7 (a) b (c) S 1 7 7 0 -1 0 0 0 0 0 5 6 20 22 20 0 1 0";
        assert_eq!(ticks(line), Some(42));
        assert_eq!(ticks("nothing"), None);
        assert!(ticks(&std::fs::read_to_string("/proc/self/stat").unwrap()).is_some());
    }
}
