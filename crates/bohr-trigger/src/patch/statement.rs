//! Where a call can be put before a line: at the beginning of the statement that
//! the line belongs to. No parser: what C, C++ and Rust have in common is enough,
//! and a compiler looks at the result anyway.

/// The line, counted from 1, at which the statement around a line begins; `None`
/// if the line lies outside of functions or of the text.
#[must_use]
pub fn statement_line(text: &str, line: u32) -> Option<u32> {
    let lines: Vec<&str> = text.lines().collect();
    let mut at = (line as usize)
        .checked_sub(1)
        .filter(|at| *at < lines.len())?;
    loop {
        let above = above(&lines, at);
        let begins = above.is_none_or(|above| ends_statement(code(lines[above])));
        let code = code(lines[at]);
        if begins && !continues(code) {
            break;
        }
        at = match code.starts_with('}') || code.starts_with("else") {
            // Behind a block: the statement begins before the block.
            true => opening(&lines, at)?,
            false => above?,
        };
    }
    (depth(&lines, at) > 0).then_some(at as u32 + 1)
}

/// The closest line above that holds code.
fn above(lines: &[&str], at: usize) -> Option<usize> {
    (0..at).rev().find(|line| !code(lines[*line]).is_empty())
}

/// A line without its comment and the space around it.
fn code(line: &str) -> &str {
    let line = line.trim();
    let bare = line.starts_with("//") || line.starts_with("/*") || line.starts_with("* ");
    if bare {
        return "";
    }
    let end = ["//", "/*"]
        .iter()
        .filter_map(|start| line.find(start))
        .min();
    line[..end.unwrap_or(line.len())].trim_end()
}

/// Whether the next line begins a statement.
fn ends_statement(code: &str) -> bool {
    let ends = [";", "{", "}", ":"].iter().any(|end| code.ends_with(end));
    ends || code.starts_with('#')
}

/// Whether a line cannot be the first of a statement.
fn continues(code: &str) -> bool {
    let starts = ["}", "else", ".", ")", "]", "?", "&&", "||"];
    let field = code.split_once(": ").is_some_and(|(name, rest)| {
        let name_only = name
            .chars()
            .all(|letter| letter.is_alphanumeric() || letter == '_');
        name_only && rest.ends_with(',')
    });
    field || starts.iter().any(|start| code.starts_with(start))
}

/// The line with the brace that the first one of this line closes.
fn opening(lines: &[&str], at: usize) -> Option<usize> {
    let mut open = 1;
    for line in (0..at).rev() {
        for letter in code(lines[line]).chars().rev() {
            match letter {
                '}' => open += 1,
                '{' => open -= 1,
                _ => {}
            }
            if open == 0 {
                return Some(line);
            }
        }
    }
    None
}

/// How many braces are open where a line begins.
fn depth(lines: &[&str], at: usize) -> i64 {
    let mut depth = 0;
    for line in &lines[..at] {
        let mut quoted = false;
        let mut before = ' ';
        for letter in code(line).chars() {
            match letter {
                '"' if before != '\\' && before != '\'' => quoted = !quoted,
                '{' if !quoted && before != '\'' => depth += 1,
                '}' if !quoted && before != '\'' => depth -= 1,
                _ => {}
            }
            before = letter;
        }
    }
    depth
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines marked with `@` are asked for; `>` is where the answer should be.
    fn check(marked: &str) {
        let text: String = marked
            .lines()
            .map(|line| format!("{}\n", &line[2..]))
            .collect();
        let find = |mark: char| {
            let found = marked.lines().position(|line| line.starts_with(mark));
            found.map(|line| line as u32 + 1)
        };
        let asked = find('@').or(find('=')).unwrap();
        assert_eq!(
            statement_line(&text, asked),
            find('>').or(find('=')),
            "{marked}"
        );
    }

    #[test]
    fn statements_begin_where_they_should() {
        check("  void f(void) {\n=   x = 1;\n  }");
        check("  void f(void) {\n>   x = a +\n@       b;\n  }");
        check("  void f(void) {\n>   if (x)\n@     y = 1;\n  }");
        check("  void f(void) {\n>   if (x) {\n      y = 1;\n@   } else if (z) {\n    }\n  }");
        check("  fn f() {\n>     let x = a\n@         .lock()\n          .unwrap();\n  }");
        check("  fn f() {\n      match x {\n=         1 => y.lock(),\n      }\n  }");
        check("  void f(void) {\n    a(); // {\n=   x = 1; // why\n  }");
    }

    #[test]
    fn outside_of_functions_there_are_no_statements() {
        check("@ static int x;\n  void f(void) {}");
        assert_eq!(statement_line("int main(void) { return 0; }\n", 1), None);
        assert_eq!(statement_line("", 1), None);
        assert_eq!(statement_line("x\n", 9), None);
    }
}
