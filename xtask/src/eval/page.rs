//! Tables for reading: Markdown, and one page that needs nothing else.

use super::Settings;
use super::measure::Measured;
use super::tables::Table;
use std::fmt::Write;

/// Stages that have no figures yet, told where somebody may look for them.
const MISSING: &str = "Not measured yet: what each component of reduction contributes, and execution reduction (LEAN, Tables 3 and 5), breakpoints (BTrigger, \
Tables 1 and 2), recording and solving (CLAP), core dumps.";

/// How to get these results again.
pub fn command(settings: &Settings) -> String {
    let only = match settings.only.is_empty() {
        true => String::new(),
        false => format!(" --only {}", settings.only.join(" ")),
    };
    format!("cargo xtask eval --{}{only}", settings.name)
}

fn heading(settings: &Settings) -> String {
    format!(
        "Measured by `{}` on {}. Seeds: trial n begins at n times 2^32.",
        command(settings),
        bohr_museum::machine_facts()
    )
}

pub fn markdown(settings: &Settings, tables: &[Table]) -> String {
    let mut text = format!("# Evaluation\n\n{}\n", heading(settings));
    for table in tables.iter().filter(|table| !table.rows.is_empty()) {
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        text.push_str(&format!("\n## {}\n\n", table.title));
        text.push_str(&line(&table.columns));
        text.push_str(&line(&vec!["---".to_string(); table.columns.len()]));
        table.rows.iter().for_each(|row| text.push_str(&line(row)));
        table
            .notes
            .iter()
            .for_each(|note| text.push_str(&format!("\n{note}\n")));
    }
    text.push_str(&format!("\n{MISSING}\n"));
    text
}

pub fn html(settings: &Settings, tables: &[Table], results: &[Measured]) -> String {
    let mut text = String::from(HEAD);
    let mut push = |words: String| text.push_str(&words);
    push(format!(
        "<h1>Evaluation</h1><p>{}</p>",
        escaped(&heading(settings))
    ));
    push(plot(settings, results));
    for table in tables.iter().filter(|table| !table.rows.is_empty()) {
        let row = |tag: &str, cells: &[String]| {
            let cells = cells
                .iter()
                .map(|cell| format!("<{tag}>{}</{tag}>", escaped(cell)));
            format!("<tr>{}</tr>\n", cells.collect::<String>())
        };
        push(format!("<h2>{}</h2><table>", escaped(&table.title)));
        push(row("th", &table.columns));
        table.rows.iter().for_each(|cells| push(row("td", cells)));
        push("</table>".to_string());
        table
            .notes
            .iter()
            .for_each(|note| push(format!("<p>{}</p>", escaped(note))));
    }
    push(format!("<p>{MISSING}</p></html>\n"));
    text
}

const HEAD: &str =
    "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>bohr: evaluation</title>
<style>
:root { color-scheme: light dark; font-family: system-ui, sans-serif; }
body { max-width: 75rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 0.9rem; }
th, td { padding: 0.2rem 0.6rem; border-bottom: 1px solid #8886; text-align: left; }
text { fill: currentColor; font-size: 11px; }
</style>
";

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;")
}

/// One colour per strategy.
const COLOURS: [&str; 8] = [
    "#4269d0", "#efb118", "#ff725c", "#6cc5b0", "#3ca951", "#ff8ab7", "#a463f2", "#97bbf5",
];

/// Median schedules to the bug: a row per exhibit, a dot per strategy, powers
/// of ten from left to right.
fn plot(settings: &Settings, results: &[Measured]) -> String {
    let (left, decade, row) = (160.0, 130.0, 18.0);
    let x = |runs: f64| left + decade * runs.max(1.0).log10();
    let height = row * (results.len() as f64 + 3.0);
    let mut svg = format!(
        "<svg viewBox=\"0 0 {} {height}\" role=\"img\" aria-label=\"schedules to the first bug\">",
        left + decade * 6.0
    );
    let mut push = |words: std::fmt::Arguments<'_>| {
        // Writing to a string cannot fail.
        let _ = svg.write_fmt(words);
    };
    for power in 0..6 {
        let at = left + decade * f64::from(power);
        push(format_args!(
            "<line x1=\"{at}\" x2=\"{at}\" y1=\"{row}\" y2=\"{height}\" stroke=\"#8884\"/>\
             <text x=\"{at}\" y=\"12\" text-anchor=\"middle\">10^{power}</text>"
        ));
    }
    for (position, measured) in results.iter().enumerate() {
        let y = row * (position as f64 + 1.8);
        push(format_args!(
            "<text x=\"0\" y=\"{}\">{}</text>",
            y + 4.0,
            escaped(&measured.name)
        ));
        for (hunts, colour) in measured.hunts.iter().zip(COLOURS) {
            if let Some(median) = hunts.runs_summary().quartiles[1] {
                push(format_args!(
                    "<circle cx=\"{}\" cy=\"{y}\" r=\"5\" fill=\"{colour}\"><title>{}: {median}</title></circle>",
                    x(median),
                    escaped(hunts.strategy)
                ));
            }
        }
    }
    for (position, (strategy, colour)) in settings.strategies.iter().zip(COLOURS).enumerate() {
        let (at, y) = (left + 90.0 * position as f64, height - 6.0);
        push(format_args!(
            "<circle cx=\"{at}\" cy=\"{}\" r=\"5\" fill=\"{colour}\"/><text x=\"{}\" y=\"{y}\">{strategy}</text>",
            y - 4.0,
            at + 9.0
        ));
    }
    push(format_args!("</svg>"));
    svg
}

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

    #[test]
    fn results_can_be_read_and_rerun() {
        let settings = Settings::quick();
        let text = markdown(&settings, &[table()]);
        assert!(text.contains("| exhibit | runs |\n| --- | --- |\n| <account> | 3 |"));
        assert!(text.contains("cargo xtask eval --quick --only account"));
        let page = html(&settings, &[table()], &[Measured::default()]);
        assert!(page.contains("&lt;account&gt;") && page.contains("Ours &amp; theirs"));
    }
}
