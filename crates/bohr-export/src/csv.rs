//! Comma-separated values as RFC 4180 has them: a line of names, lines ended by
//! CR LF, and quotes around what would be taken for something else.

use crate::row::{Rows, Tables};
use crate::{ExportError, Row};
use bohr_trace::Trace;
use std::io::Write;

pub(crate) fn write(trace: &Trace<'_>, out: &mut dyn Write) -> Result<(), ExportError> {
    let tables = Tables::of(trace)?;
    out.write_all(b"sequence,thread,kind,order,object,variable,size,place,value\r\n")?;
    for row in Rows::new(trace, &tables)? {
        out.write_all(line(&row?).as_bytes())?;
    }
    Ok(())
}

fn line(row: &Row) -> String {
    let fields = [
        row.sequence.to_string(),
        field(&row.thread),
        field(&row.kind),
        row.order.to_string(),
        row.object.to_string(),
        field(&row.variable),
        row.size.to_string(),
        field(&row.place),
        row.value.map(|value| value.to_string()).unwrap_or_default(),
    ];
    format!("{}\r\n", fields.join(","))
}

/// Quotes a text that holds a comma, a quote or the end of a line.
fn field(text: &str) -> String {
    if text.contains([',', '"', '\r', '\n']) {
        return format!("\"{}\"", text.replace('"', "\"\""));
    }
    text.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_needs_quotes_has_them() {
        assert_eq!(field("map+8"), "map+8");
        assert_eq!(field("heap(0, a \"b\", 1)"), "\"heap(0, a \"\"b\"\", 1)\"");
        assert_eq!(field("two\nlines"), "\"two\nlines\"");
    }
}
