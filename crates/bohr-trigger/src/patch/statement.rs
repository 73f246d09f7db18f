//! Where a call can be put before a line: at the beginning of the statement that
//! the line belongs to. No parser: what C, C++ and Rust have in common is enough,
//! and a compiler looks at the result anyway.

/// Where a call goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// The line, counted from 1.
    pub line: u32,
    /// How many of its bytes come before the call: none, unless the line is a function
    /// as a whole, or a statement that needs braces.
    pub column: usize,
    /// How many come before the brace that then has to be closed.
    pub close: Option<usize>,
}

/// Where the statement around a line begins; `None` if the line lies outside of
/// functions or of the text.
#[must_use]
pub fn room_before(text: &str, line: u32) -> Option<Room> {
    let lines: Vec<&str> = text.lines().collect();
    let mut at = (line as usize)
        .checked_sub(1)
        .filter(|at| *at < lines.len())?;
    if let Some(room) = alone_under_condition(&lines, at) {
        return Some(room);
    }
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
    let column = match is_in_function(&lines, at) {
        true => 0,
        false => body_within(lines[at])?,
    };
    Some(Room {
        line: at as u32 + 1,
        column,
        close: None,
    })
}

/// Where a call and its braces go if a line is all that stands under a condition, or
/// in a loop, without any: a call before the condition would be made far more often.
fn alone_under_condition(lines: &[&str], at: usize) -> Option<Room> {
    let header = code(lines[above(lines, at)?]);
    let header = header.trim_start_matches(['}', ' ']);
    let words = ["if (", "while (", "for (", "else if ("];
    let condition = words.iter().any(|word| header.starts_with(word)) && header.ends_with(')');
    let own = code(lines[at]);
    let whole = own.ends_with(';') && own.matches(';').count() == 1 && is_balanced(own);
    let bare = !words.iter().any(|word| own.starts_with(word)) && !own.starts_with("do");
    let is_it = (condition && is_balanced(header) || header == "else") && whole && bare;
    let column = lines[at].len() - lines[at].trim_start().len();
    (is_it && column > 0 && is_in_function(lines, at)).then(|| Room {
        line: at as u32 + 1,
        column,
        close: Some(column + own.len()),
    })
}

/// Whether every bracket that is opened is closed.
fn is_balanced(code: &str) -> bool {
    let count = |letter: char| code.matches(letter).count();
    count('(') == count(')') && count('{') == count('}')
}

/// How many bytes of a line that is a whole function come before its body.
fn body_within(line: &str) -> Option<usize> {
    let open = line.find('{')?;
    let is_whole = code(line).ends_with('}') && line[..open].contains(')');
    is_whole.then_some(open + 1)
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

/// Whether a line begins inside of a function.
fn is_in_function(lines: &[&str], at: usize) -> bool {
    // Of each brace that is open: whether it is that of a function or inside of one.
    let mut open: Vec<bool> = Vec::new();
    let mut header = String::new();
    for line in &lines[..at] {
        let mut quoted = false;
        let mut before = ' ';
        for letter in code(line).chars() {
            match letter {
                '"' if before != '\\' && before != '\'' => quoted = !quoted,
                '{' if !quoted && before != '\'' => {
                    let inside = open.last().copied().unwrap_or(false);
                    open.push(inside || !holds_items(&header));
                    header.clear();
                }
                '}' if !quoted && before != '\'' => {
                    open.pop();
                    header.clear();
                }
                ';' if !quoted => header.clear(),
                _ => header.push(letter),
            }
            before = letter;
        }
        header.push(' ');
    }
    open.last().copied().unwrap_or(false)
}

/// Whether what stands before a brace says that declarations are inside, or values.
fn holds_items(header: &str) -> bool {
    const KINDS: [&str; 9] = [
        "impl",
        "trait",
        "mod",
        "struct",
        "enum",
        "union",
        "class",
        "namespace",
        "extern",
    ];
    let is_function = header.contains("fn ") || header.trim_end().ends_with(')');
    let mut words = header.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    let is_kind = words.any(|word| KINDS.contains(&word));
    is_kind && !is_function || header.trim_end().ends_with('=')
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
        let room = room_before(&text, asked);
        assert!(room.is_none_or(|room| room.column == 0));
        assert_eq!(
            room.map(|room| room.line),
            find('>').or(find('=')),
            "{marked}"
        );
    }

    #[test]
    fn statements_begin_where_they_should() {
        check("  void f(void) {\n=   x = 1;\n  }");
        check("  void f(void) {\n>   x = a +\n@       b;\n  }");
        check("  void f(void) {\n>   if (x &&\n          z)\n@     y = 1;\n  }");
        check("  void f(void) {\n>   if (x) {\n      y = 1;\n@   } else if (z) {\n    }\n  }");
        check("  fn f() {\n>     let x = a\n@         .lock()\n          .unwrap();\n  }");
        check("  fn f() {\n      match x {\n=         1 => y.lock(),\n      }\n  }");
        check("  void f(void) {\n    a(); // {\n=   x = 1; // why\n  }");
    }

    #[test]
    fn outside_of_functions_there_are_no_statements() {
        check("@ static int x;\n  void f(void) {}");
        check("  struct Pair {\n@     int one;\n  };");
        check("  impl Pair {\n@     const ONE: u32 = 1;\n  }");
        check("  namespace a {\n@ static int x = 1;\n  }");
        check("  static const int all[] = {\n@     1,\n  };");
        assert_eq!(room_before("", 1), None);
        assert_eq!(room_before("x\n", 9), None);
    }

    #[test]
    fn what_stands_alone_under_a_condition_gets_braces() {
        let within = |text: &str, line: u32| {
            let room = room_before(text, line).unwrap();
            let line = text.lines().nth(room.line as usize - 1).unwrap();
            room.close.map(|close| line[room.column..close].to_string())
        };
        let text = "void f(void) {\n  if (x)\n    y = g(1); // why\n  else\n    z = 1;\n  \
                    while (a[1])\n    b();\n  c();\n}\n";
        assert_eq!(within(text, 3).as_deref(), Some("y = g(1);"));
        assert_eq!(within(text, 5).as_deref(), Some("z = 1;"));
        assert_eq!(within(text, 7).as_deref(), Some("b();"));
        assert_eq!(within(text, 8), None);
        assert_eq!(within(text, 2), None);
        let long = "void f(void) {\n  if (x)\n    y = g(1,\n        2);\n}\n";
        assert_eq!(within(long, 3), None);
    }

    #[test]
    fn functions_of_one_line_have_room_inside() {
        let check = |text: &str, line: u32| {
            let (before, after) = text.split_once('@').unwrap();
            let text = format!("{before}{after}");
            let start = before.rfind('\n').map_or(0, |end| end + 1);
            let column = before.len() - start;
            let close = None;
            assert_eq!(
                room_before(&text, line),
                Some(Room {
                    line,
                    column,
                    close
                })
            );
        };
        check("int one(void) {@ return 1; }\n", 1);
        check("impl Bank {\n    fn get(&self) -> u32 {@ self.0 }\n}\n", 2);
        check(
            "class Bank {\n  int get() const {@ return n; } // why\n};\n",
            2,
        );
        check("namespace a {\nstruct B {\n  B() {@ n = 1; }\n};\n}\n", 3);
    }
}
