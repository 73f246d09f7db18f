//! What happens where nobody reads what is printed, or there is no room for it.

use std::io::Write;

/// What a shell tells of a program that wrote for a reader who had gone.
const READER_IS_GONE: i32 = 141;

/// bohr could not do what it was asked for.
const CANNOT_WRITE: i32 = 2;

/// Has a program end as others do there, without a word: `bohr trace BUG | head`.
/// Printing panics where nobody reads, and only its message says why.
///
/// ```
/// bohr_report::end_with_the_reader();
/// println!("somebody reads this");
/// ```
pub fn end_with_the_reader() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let message = panic.payload_as_str().unwrap_or_default();
        let why = message.strip_prefix("failed printing to ");
        match why.and_then(|why| why.split_once(": ")) {
            Some((_, why)) if why.starts_with("Broken pipe") => {
                std::process::exit(READER_IS_GONE);
            }
            // Where messages cannot be written either, the code has to do.
            Some((stream, why)) => {
                let mut messages = std::io::stderr();
                let _ = writeln!(messages, "bohr: error: {stream} cannot be written: {why}");
                std::process::exit(CANNOT_WRITE);
            }
            None => usual(panic),
        }
    }));
}
