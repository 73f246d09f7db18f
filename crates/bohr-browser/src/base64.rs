//! What the browser sends as base64 (RFC 4648).

/// The bytes; `None` if this is not base64.
pub fn decoded(text: &str) -> Option<Vec<u8>> {
    let letters = text.trim_end_matches('=').as_bytes();
    let mut bytes = Vec::with_capacity(letters.len() * 3 / 4);
    for four in letters.chunks(4) {
        let mut bits = 0u32;
        for letter in four {
            bits = bits << 6 | six_bits(*letter)?;
        }
        bits <<= 6 * (4 - four.len());
        bytes.extend(&bits.to_be_bytes()[1..four.len()]);
    }
    Some(bytes)
}

fn six_bits(letter: u8) -> Option<u32> {
    let bits = match letter {
        b'A'..=b'Z' => letter - b'A',
        b'a'..=b'z' => letter - b'a' + 26,
        b'0'..=b'9' => letter - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(u32::from(bits))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The vectors of RFC 4648, section 10.
    #[test]
    fn base64_is_everybodys() {
        let vectors = [
            "", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy",
        ];
        for (length, text) in vectors.into_iter().enumerate() {
            assert_eq!(decoded(text).unwrap(), b"foobar"[..length]);
        }
        assert_eq!(decoded("Zm9*"), None);
    }
}
