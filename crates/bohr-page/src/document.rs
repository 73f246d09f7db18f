//! The file: the page's own script and style, and the data as text that nobody
//! executes.
//!
//! Two things keep what the program says from becoming part of the page. In the
//! data every `<` is written as an escape, so nothing in it ends the element that
//! it is in. And the policy lets only those elements act that carry a number made
//! of the data itself, which nothing in the data can know.

use serde_json::Value;

/// The page's script, in the order in which its parts build on each other.
const SCRIPT: [&str; 7] = [
    include_str!("../page/events.js"),
    include_str!("../page/words.js"),
    include_str!("../page/canvas.js"),
    include_str!("../page/timeline.js"),
    include_str!("../page/panes.js"),
    include_str!("../page/story.js"),
    include_str!("../page/main.js"),
];

const STYLE: &str = include_str!("../page/page.css");
const BODY: &str = include_str!("../page/body.html");

/// Puts a page together; `columns` are the events of its runs.
pub fn document(title: &str, data: &Value, columns: &[String]) -> String {
    let data = inert(&data.to_string());
    let mut hasher = blake3::Hasher::new();
    hasher.update(data.as_bytes());
    for column in columns {
        hasher.update(column.as_bytes());
    }
    let nonce = hasher.finalize().to_hex();
    let runs = columns.iter().enumerate().map(|(run, column)| {
        format!("<script type=\"text/plain\" id=\"run-{run}\">{column}</script>\n")
    });
    format!(
        "<!doctype html>
<html lang=\"en\">
<meta charset=\"utf-8\">
<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'\">
<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">
<meta name=\"color-scheme\" content=\"light dark\">
<title>{title}</title>
<style nonce=\"{nonce}\">
{STYLE}</style>
{BODY}<script type=\"application/json\" id=\"data\">{data}</script>
{runs}<script nonce=\"{nonce}\">
'use strict';
(() => {{
{script}}})();
</script>
</html>
",
        title = escaped(title),
        runs = runs.collect::<String>(),
        script = SCRIPT.concat(),
    )
}

/// JSON in which no element can begin or end.
fn inert(json: &str) -> String {
    json.replace('<', "\\u003c").replace('>', "\\u003e")
}

pub fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    proptest! {
        #[test]
        fn what_a_program_says_opens_and_closes_nothing(words: String) {
            let quiet = document("", &json!(""), &[]);
            let loud = document(&words, &json!(format!("{words}</script><b>")), &[]);
            for mark in ['<', '>'] {
                prop_assert_eq!(loud.matches(mark).count(), quiet.matches(mark).count());
            }
        }

        #[test]
        fn data_stay_what_they_are(words: String) {
            let read: String = serde_json::from_str(&inert(&json!(words).to_string())).unwrap();
            prop_assert_eq!(read, words);
        }
    }

    #[test]
    fn nothing_is_fetched_from_anywhere() {
        let page = document("", &json!({}), &[]);
        for word in ["http://", "https://", "src=", "@import", "url("] {
            assert!(!page.contains(word), "{word}");
        }
    }
}
