//! Text of a program under test, for a terminal: what it calls its files or says when it
//! fails must not move the cursor, hide lines or rename the window.

/// The text with its control characters visible; lines and tabs stay.
#[must_use]
pub fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\n' | '\t' => shown.push(letter),
            // These turn the direction of what follows.
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                shown.extend(letter.escape_unicode());
            }
            _ if letter.is_control() => shown.extend(letter.escape_default()),
            _ => shown.push(letter),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_reaches_the_terminal_but_letters() {
        assert_eq!(printable("a\tb\nc"), "a\tb\nc");
        assert_eq!(printable("größer ▶ 日本"), "größer ▶ 日本");
        assert_eq!(printable("\u{1b}[31m\u{7}\r"), r"\u{1b}[31m\u{7}\r");
        assert_eq!(printable("\u{9b}2J"), r"\u{9b}2J");
        assert_eq!(printable("a\u{202e}b"), r"a\u{202e}b");
    }
}
