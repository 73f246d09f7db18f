//! Places in an exhibit's source: `// marker: name` at the end of a line names
//! that line, whatever is written above it later.

use crate::{Error, Language};

/// What a marker comment begins with.
const MARKER: &str = "// marker: ";

/// The text of a program.
#[derive(Clone, Debug)]
pub struct Source {
    text: String,
    language: Language,
}

impl Source {
    /// A program's text.
    #[must_use]
    pub fn new(text: String, language: Language) -> Source {
        Source { text, language }
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

    /// The function that the line (from 1) lies in, without its class or type:
    /// the nearest header above it that is indented less. The exhibits keep to
    /// one style, so this needs no parser.
    #[must_use]
    pub fn function_at(&self, line: usize) -> Option<&str> {
        let lines: Vec<&str> = self.text.lines().take(line).collect();
        let (last, above) = lines.split_last()?;
        let mut inner = indentation(last);
        for candidate in above.iter().rev() {
            let outer = indentation(candidate);
            if candidate.trim().is_empty() || candidate.starts_with('#') || outer >= inner {
                continue;
            }
            if let Some(name) = header(candidate, self.language) {
                return Some(name);
            }
            // A bare bracket belongs to the header right above it.
            inner = if candidate.trim() == "{" {
                outer + 1
            } else {
                outer
            };
        }
        None
    }
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// The name of the function that this line begins, if it begins one.
fn header(line: &str, language: Language) -> Option<&str> {
    // A type parameter may stand behind a Rust function's name; in C++ it is
    // more likely to belong to the type in front.
    let (line, name_end) = match language {
        Language::Rust => {
            let after = line.split_once("fn ")?.1;
            (after, after.find(['(', '<'])?)
        }
        Language::C | Language::Cpp => (line, line.find('(')?),
    };
    let name_start = line[..name_end]
        .rfind(|letter: char| !letter.is_alphanumeric() && letter != '_')
        .map_or(0, |before| before + 1);
    let name = &line[name_start..name_end];
    let statement = ["", "if", "for", "while", "switch", "catch", "return"];
    (!statement.contains(&name)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROGRAM: &str = "\
int twice(int x)
{
    if (x > 0) {
        f(x); // marker: call
        g();  // marker: double
    }
    g(); // marker: double
    // marker: bare
}
";

    fn source() -> Source {
        Source::new(PROGRAM.to_string(), Language::C)
    }

    #[test]
    fn a_marker_names_its_line() {
        assert_eq!(source().line_of("call").unwrap(), 4);
    }

    #[test]
    fn missing_double_and_empty_markers_are_told() {
        for (marker, fault) in [
            ("cal", "is not in the source"),
            ("double", "is in the source twice"),
            ("bare", "marks no code"),
        ] {
            let told = source().line_of(marker).unwrap_err().to_string();
            assert_eq!(told, format!("the marker {marker}: {fault}"));
        }
    }

    #[test]
    fn a_line_knows_its_function() {
        assert_eq!(source().function_at(4), Some("twice"));
        assert_eq!(source().function_at(7), Some("twice"));
        assert_eq!(source().function_at(1), None);
        let text = "impl Pool {\n    fn take<T>(&self) {\n        loop {\n            x();\n";
        let rust = Source::new(text.to_string(), Language::Rust);
        assert_eq!(rust.function_at(4), Some("take"));
        let text = "std::vector<int> copy() {\n    return x;\n";
        let cpp = Source::new(text.to_string(), Language::Cpp);
        assert_eq!(cpp.function_at(2), Some("copy"));
    }
}
