//! Places in an exhibit's source: `// marker: name` at the end of a line names
//! that line, whatever is written above it later.

use crate::Error;

/// What a marker comment begins with.
const MARKER: &str = "// marker: ";

/// The text of a program.
#[derive(Clone, Debug)]
pub struct Source {
    text: String,
}

impl Source {
    /// A program's text.
    #[must_use]
    pub fn new(text: String) -> Source {
        Source { text }
    }

    /// All of it.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The line (from 1) that carries the marker; there has to be exactly one,
    /// and it has to carry code.
    ///
    /// # Errors
    /// If there is no such line, or more than one, or it is empty.
    pub fn line_of(&self, marker: &str) -> Result<usize, Error> {
        let mut found = self.text.lines().enumerate().filter_map(|(index, line)| {
            let (code, name) = line.split_once(MARKER)?;
            (name.trim_end() == marker).then_some((index + 1, code.trim().is_empty()))
        });
        let fault = match (found.next(), found.next()) {
            (Some((line, false)), None) => return Ok(line),
            (Some((_, true)), None) => "marks no code",
            (None, _) => "is not in the source",
            (Some(_), Some(_)) => "is in the source twice",
        };
        Err(Error::Marker {
            marker: marker.to_string(),
            fault,
        })
    }

    /// Whether the text defines or at least names this function: the last part
    /// of its path is followed by an opening bracket or type parameters.
    #[must_use]
    pub fn mentions_function(&self, function: &str) -> bool {
        let name = function.rsplit("::").next().unwrap_or(function);
        self.text
            .match_indices(name)
            .any(|(at, _)| self.text[at + name.len()..].starts_with(['(', '<']))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source() -> Source {
        Source::new("int x;\nf(x); // marker: call\ng(); // marker: twice\ng(); // marker: twice\n// marker: bare\n".into())
    }

    #[test]
    fn a_marker_names_its_line() {
        assert_eq!(source().line_of("call").unwrap(), 2);
    }

    #[test]
    fn missing_double_and_empty_markers_are_told() {
        for (marker, fault) in [
            ("cal", "is not in the source"),
            ("twice", "is in the source twice"),
            ("bare", "marks no code"),
        ] {
            let told = source().line_of(marker).unwrap_err().to_string();
            assert_eq!(told, format!("the marker {marker}: {fault}"));
        }
    }

    #[test]
    fn functions_are_followed_by_their_arguments() {
        assert!(source().mentions_function("Class::f"));
        assert!(!source().mentions_function("x"));
    }
}
