//! What happens where nobody reads what is printed.

/// What a shell tells of a program that wrote for a reader who had gone.
const READER_IS_GONE: i32 = 141;

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
        if message.starts_with("failed printing to") && message.contains("Broken pipe") {
            std::process::exit(READER_IS_GONE);
        }
        usual(panic);
    }));
}
