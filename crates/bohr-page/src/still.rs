//! A page that only has to be read: headings, texts and tables, and no script at all.

use crate::document::escaped;
use std::fmt::Write;

const STYLE: &str = include_str!("../page/still.css");

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StillPage {
    /// What stands at the top.
    pub title: String,
    /// One below the other.
    pub sections: Vec<Section>,
}

/// A part of such a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Section {
    /// What it is about.
    pub heading: String,
    /// Lines of text, as they stand; leading blanks count.
    pub lines: Vec<String>,
    /// Names of the table's columns; without any there is no table.
    pub columns: Vec<String>,
    /// The table's rows.
    pub rows: Vec<Vec<String>>,
}

impl StillPage {
    /// The whole file. Whatever the texts are, they are shown and nothing else.
    #[must_use]
    pub fn as_html(&self) -> String {
        let nonce = blake3::hash(format!("{self:?}").as_bytes()).to_hex();
        let title = escaped(&self.title);
        let mut page = format!(
            "<!doctype html>
<html lang=\"en\">
<meta charset=\"utf-8\">
<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'nonce-{nonce}'; base-uri 'none'; form-action 'none'\">
<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">
<meta name=\"color-scheme\" content=\"light dark\">
<title>{title}</title>
<style nonce=\"{nonce}\">
{STYLE}</style>
<h1>{title}</h1>
"
        );
        for section in &self.sections {
            section.write(&mut page);
        }
        page.push_str("</html>\n");
        page
    }
}

impl Section {
    fn write(&self, page: &mut String) {
        let _ = writeln!(page, "<h2>{}</h2>", escaped(&self.heading));
        if !self.lines.is_empty() {
            let _ = writeln!(page, "<pre>{}</pre>", escaped(&self.lines.join("\n")));
        }
        if self.columns.is_empty() {
            return;
        }
        page.push_str("<table>\n");
        write_row(page, "th", &self.columns);
        for row in &self.rows {
            write_row(page, "td", row);
        }
        page.push_str("</table>\n");
    }
}

fn write_row(page: &mut String, element: &str, cells: &[String]) {
    page.push_str("<tr>");
    for cell in cells {
        let _ = write!(page, "<{element}>{}</{element}>", escaped(cell));
    }
    page.push_str("</tr>\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_stay_texts() {
        let hostile = String::from("</pre><script>alert(1)</script>\"");
        let page = StillPage {
            title: hostile.clone(),
            sections: vec![Section {
                heading: hostile.clone(),
                lines: vec![hostile.clone()],
                columns: vec![hostile.clone()],
                rows: vec![vec![hostile]],
            }],
        };
        let html = page.as_html();
        assert!(!html.contains("<script"), "{html}");
        assert_eq!(html.matches("</pre>").count(), 1);
        assert_eq!(html.matches("&lt;script&gt;").count(), 6);
        assert!(html.contains("default-src 'none'"));
    }
}
