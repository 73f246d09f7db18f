//! Results for reading: data, Markdown, and one page that needs nothing else.

use super::measure::Measured;
use super::plots;
use super::settings::Settings;
use super::source::Source;
use super::tables::Table;
use crate::plot::escaped;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What is measured by commands of its own, told where somebody may look for it.
const ELSEWHERE: &str = "Measured by themselves: recording and solving (CLAP) by `cargo xtask eval --only clap`, core dumps by `cargo xtask eval --only dump`.";

fn heading(settings: &Settings, source: &Source) -> String {
    format!(
        "{source}, measured by `{}` on {}; of one exhibit with `cargo xtask eval --{} --only NAME`. Seeds: trial n begins at n times 2^32.",
        settings.command(),
        bohr_museum::machine_facts(),
        settings.name
    )
}

/// Below each table and picture: on which machine, with which seeds, how again.
fn origin(settings: &Settings) -> String {
    format!(
        "{}; trial n from seed n times 2^32; again: `cargo xtask eval --{} --again --only EXHIBIT`",
        bohr_museum::machine_facts(),
        settings.name
    )
}

/// All results as data.
pub fn json(settings: &Settings, source: &Source, results: &[Measured]) -> Value {
    let trials = { settings.strategies.iter() }.map(|name| (*name, settings.trials_of(name)));
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    json!({
        "machine": bohr_museum::machine_facts(),
        "load": load.trim(),
        "bohr": source,
        "command": settings.command(),
        "trials": trials.collect::<BTreeMap<_, _>>(),
        "seeds": (0..settings.trials).map(Settings::seed).collect::<Vec<_>>(),
        "seconds": settings.seconds,
        "exhibits": results,
    })
}

pub fn markdown(settings: &Settings, source: &Source, tables: &[Table]) -> String {
    let heading = heading(settings, source);
    let sections = sections(tables, &origin(settings));
    format!("# Evaluation\n\n{heading}\n{sections}\n{ELSEWHERE}\n")
}

/// Tables that have rows, one under the other, each with where it comes from.
pub fn sections(tables: &[Table], origin: &str) -> String {
    let mut text = String::new();
    for table in tables.iter().filter(|table| !table.rows.is_empty()) {
        let line = |cells: &[String]| {
            let cells = cells.iter().map(|cell| cell.replace('|', "\\|"));
            format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
        };
        text.push_str(&format!("\n## {}\n\n", table.title));
        text.push_str(&line(&table.columns));
        text.push_str(&line(&vec!["---".to_string(); table.columns.len()]));
        table.rows.iter().for_each(|row| text.push_str(&line(row)));
        let notes = table.notes.iter().map(|note| format!("\n{note}\n"));
        text.extend(notes);
        text.push_str(&format!("\n{origin}\n"));
    }
    text
}

pub fn html(
    settings: &Settings,
    source: &Source,
    tables: &[Table],
    results: &[Measured],
) -> String {
    let tables: Vec<&Table> = { tables.iter() }.filter(|it| !it.rows.is_empty()).collect();
    let plots = plots::all(settings, results);
    let titles = { plots.iter() }.map(|plot| plot.title);
    let titles = titles.chain(tables.iter().map(|table| &table.title[..]));
    let mut text = String::from(HEAD);
    let heading = with_code(&escaped(&heading(settings, source)));
    text.push_str(&format!("<h1>Evaluation</h1><p>{heading}</p>"));
    text.push_str(&summary(results));
    text.push_str("<nav><ul>");
    for (number, title) in titles.enumerate() {
        let title = escaped(title);
        text.push_str(&format!("<li><a href=\"#s{number}\">{title}</a></li>"));
    }
    text.push_str("</ul></nav>");
    let origin = with_code(&escaped(&origin(settings)));
    let origin = format!("<p class=\"note\">{origin}</p>");
    for (number, plot) in plots.iter().enumerate() {
        text.push_str(&format!(
            "<section id=\"s{number}\"><h2>{}</h2><figure>{}<figcaption>{}</figcaption></figure>{origin}</section>",
            escaped(plot.title),
            plot.drawing,
            escaped(&plot.caption)
        ));
    }
    for (number, table) in tables.iter().enumerate() {
        text.push_str(&section(plots.len() + number, table, &origin));
    }
    text.push_str(&format!("<p>{}</p></html>\n", with_code(ELSEWHERE)));
    text
}

/// What stands between two backticks is code.
fn with_code(text: &str) -> String {
    let parts = text.split('`').enumerate();
    let parts = parts.map(|(number, part)| match number % 2 {
        1 => format!("<code>{part}</code>"),
        _ => part.to_string(),
    });
    parts.collect()
}

/// What the whole comes to, above everything else.
fn summary(results: &[Measured]) -> String {
    let count = |holds: &dyn Fn(&Measured) -> bool| results.iter().filter(|it| holds(it)).count();
    let certain = |it: &Measured| it.broken("probability").is_some_and(|share| share >= 0.99);
    // Fewer is no success but a manifest that has to be corrected.
    let least =
        |it: &Measured| it.simplified("preemptive_after") == Some(it.fewest_preemptions as f64);
    let facts = [
        ("exhibits measured", results.len()),
        ("found", count(&Measured::is_found)),
        (
            "replayed every time",
            count(&|it| it.replays.is_some_and(|(shown, made)| shown == made)),
        ),
        ("at their fewest preemptions", count(&least)),
        ("certain with breakpoints", count(&certain)),
        ("twins silent", count(&|it| it.twin.is_some())),
        ("not what they say", count(&|it| !it.errors.is_empty())),
    ];
    let cell = |(words, number): (&str, usize)| {
        format!("<div><strong>{number}</strong><span>{words}</span></div>")
    };
    let cells: String = facts.into_iter().map(cell).collect();
    format!("<div class=\"facts\">{cells}</div>")
}

fn section(number: usize, table: &Table, origin: &str) -> String {
    let row = |tag: &str, cells: &[String]| {
        let cells = { cells.iter() }.map(|cell| format!("<{tag}>{}</{tag}>", escaped(cell)));
        format!("<tr>{}</tr>\n", cells.collect::<String>())
    };
    let rows: String = table.rows.iter().map(|cells| row("td", cells)).collect();
    let notes =
        { table.notes.iter() }.map(|note| format!("<p class=\"note\">{}</p>", escaped(note)));
    format!(
        "<section id=\"s{number}\"><h2>{}</h2><div class=\"wide\"><table><thead>{}</thead><tbody>{rows}</tbody></table></div>{}{origin}</section>",
        escaped(&table.title),
        row("th", &table.columns),
        notes.collect::<String>()
    )
}

const HEAD: &str =
    "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>bohr: evaluation</title>
<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">
<style>
:root { color-scheme: light dark; font-family: system-ui, sans-serif; line-height: 1.45; }
body { max-width: 75rem; margin: 2rem auto; padding: 0 1rem; }
h1 { margin-bottom: 0.2rem; }
h2 { font-size: 1.15rem; margin: 2.5rem 0 0.6rem; }
nav ul { columns: 2; padding-left: 1.2rem; font-size: 0.9rem; }
figure { margin: 0; }
figcaption, .note { color: #777; font-size: 0.85rem; margin: 0.4rem 0; }
.facts { display: flex; flex-wrap: wrap; gap: 1.6rem; margin: 1.4rem 0; }
.facts div { display: flex; flex-direction: column; }
.facts strong { font-size: 1.7rem; font-variant-numeric: tabular-nums; }
.facts span { color: #777; font-size: 0.85rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 0.85rem; }
th, td { padding: 0.25rem 0.7rem; border-bottom: 1px solid #8884; text-align: left; white-space: nowrap; }
th { font-weight: 600; white-space: normal; vertical-align: bottom; }
tbody tr:hover { background: #8881; }
svg { width: 100%; height: auto; }
svg text { fill: currentColor; font-size: 11px; }
.grid { stroke: #8884; }
</style>
";

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        Table {
            title: "Ours & theirs".to_string(),
            columns: vec!["exhibit".to_string(), "runs".to_string()],
            rows: vec![vec!["<account>".to_string(), "3".to_string()]],
            notes: vec!["A note.".to_string()],
        }
    }

    /// A twin that failed has left no hunts, and nothing that is below the known
    /// minimum is at it.
    #[test]
    fn the_summary_counts_what_is_as_it_should_be() {
        let of = |left: u64, silent: bool| Measured {
            fewest_preemptions: 1,
            simplified: Some(json!({ "preemptive_after": left })),
            twin: silent.then(Vec::new),
            ..Measured::default()
        };
        let text = summary(&[of(1, true), of(0, false), of(2, false)]);
        for words in ["at their fewest preemptions", "twins silent"] {
            let one = format!("<strong>1</strong><span>{words}</span>");
            assert!(text.contains(&one), "{text}");
        }
    }

    #[test]
    fn results_can_be_read_and_rerun() {
        let settings = Settings::quick();
        let source = Source::of(std::path::Path::new("/bin/true"));
        let text = markdown(&settings, &source, &[table()]);
        assert!(text.contains("| exhibit | runs |\n| --- | --- |\n| <account> | 3 |"));
        assert!(text.contains("cargo xtask eval --quick"));
        let page = html(&settings, &source, &[table()], &[Measured::default()]);
        assert!(page.contains("&lt;account&gt;") && page.contains("Ours &amp; theirs"));
        assert!(page.contains("<code>cargo xtask eval --quick</code>"));
        assert!(page.contains("href=\"#s0\"") && page.contains("id=\"s0\""));
        assert!(page.contains("<strong>1</strong><span>exhibits measured</span>"));
        let data = json(&settings, &source, &[]);
        assert_eq!(data["command"], "cargo xtask eval --quick");
        assert_eq!(data["trials"]["surw"], 3);
        assert_eq!(data["bohr"]["bytes"], source.bytes);
    }
}
