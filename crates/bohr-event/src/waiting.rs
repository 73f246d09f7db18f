//! What the kernel tells of a thread that waits for another one: a line of
//! `/proc/…/syscall`. Read by bohr from outside, and by the library that holds up
//! real threads from inside.

const FUTEX: &str = "202";

/// Operations of a futex that wait: plain, for bits, for a priority lock.
const WAITS: [u64; 4] = [0, 9, 6, 13];

/// Bits of an operation that say nothing about waiting.
const FLAGS: u64 = 128 | 256;

/// The word that a thread waits for without a limit, by the line about its call:
/// the number, then six arguments. `None` if it runs, waits for something else,
/// or only for a time.
#[must_use]
pub fn endless_wait(line: &str) -> Option<u64> {
    let mut words = line.split_whitespace();
    if words.next()? != FUTEX {
        return None;
    }
    let mut argument = || u64::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok();
    let (word, operation, _, limit) = (argument()?, argument()?, argument()?, argument()?);
    (WAITS.contains(&(operation & !FLAGS)) && limit == 0).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_without_a_limit_are_told_from_the_rest() {
        let line = "202 0x7f01 0x80 0x2 0x0 0x0 0x0 0x7ffd 0x7f9c";
        assert_eq!(endless_wait(line), Some(0x7f01));
        let timed = "202 0x7f01 0x189 0x2 0x7ffe 0x0 0xffffffff 0x7ffd 0x7f9c";
        assert_eq!(endless_wait(timed), None);
        let wakes = "202 0x7f01 0x81 0x1 0x0 0x0 0x0 0x7ffd 0x7f9c";
        assert_eq!(endless_wait(wakes), None);
        assert_eq!(endless_wait("running"), None);
        assert_eq!(endless_wait("0 0x3 0x7ffe 0x1 0x0 0x0 0x0 0x7 0x7"), None);
    }
}
