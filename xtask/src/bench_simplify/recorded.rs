//! SimTrace's Table 1 through the command: recorded runs of the exhibits that
//! mirror its rows, at the sizes of those rows, and `bohr simplify` on their
//! traces.

use super::{MOST_MEGABYTES, MOST_SECONDS};
use crate::museum::{build_bohr, chosen};
use crate::paper_size::{self, Recorded};
use bohr_museum::Papers;

/// The paper's figures stand after ours, in brackets.
pub fn run(papers: &Papers, names: &[String]) -> Result<Vec<String>, String> {
    let bohr = build_bohr()?;
    println!(
        "recorded runs, ours (the paper's); targets: reduction at least the paper's, {MOST_SECONDS} s of a processor and {MOST_MEGABYTES} MB for the whole command\n"
    );
    println!(
        "{:15} {:>9} {:>19} {:>17} {:>15} {:>8} {:>13} {:>16} {:>5} {:>4}  run",
        "exhibit",
        "threads",
        "events",
        "switches",
        "after",
        "bound",
        "reduction %",
        "seconds",
        "cpu s",
        "MB"
    );
    let mut missed = Vec::new();
    for exhibit in chosen(names)? {
        let Some(row) = paper_size::row(papers, &exhibit) else {
            continue;
        };
        let name = &exhibit.manifest.name;
        match paper_size::simplified(&bohr, &exhibit, row) {
            Ok(recorded) => missed.extend(tell(name, &recorded)),
            Err(error) => missed.push(format!("{name}: {error}")),
        }
    }
    Ok(missed)
}

fn tell(name: &str, recorded: &Recorded) -> Option<String> {
    let row = &recorded.row;
    let number = |field: &str| recorded.number(field);
    let theirs_after = row.switches * (1.0 - row.reduction / 100.0);
    println!(
        "{name:15} {:>9} {:>19} {:>17} {:>15} {:>8} {:>13} {:>16} {:>5.2} {:>4.0}  {}{}",
        format!("{} ({})", number("threads"), row.threads),
        format!("{} ({})", number("events"), row.events),
        format!("{} ({})", number("switches_before"), row.switches),
        format!("{} ({theirs_after:.0})", number("switches_static")),
        number("fewest_static"),
        format!("{:.1} ({:.1})", recorded.reduction(), row.reduction),
        format!("{:.3} ({})", number("seconds_static"), row.seconds),
        recorded.processor_seconds,
        recorded.megabytes,
        asked(recorded),
        if recorded.twin {
            ", without the bug"
        } else {
            ""
        },
    );
    if let Some(why) = &recorded.why {
        println!("{:15} {why}", "");
    }
    if recorded.reduction() < row.reduction {
        let (ours, theirs) = (recorded.reduction(), row.reduction);
        return Some(format!("{name}: {ours:.1} % instead of {theirs:.1} %"));
    }
    let (seconds, megabytes) = (recorded.processor_seconds, recorded.megabytes);
    let costly = seconds > MOST_SECONDS || megabytes > MOST_MEGABYTES as f64;
    costly.then(|| format!("{name}: {seconds:.2} s, {megabytes:.0} MB"))
}

/// What the program and the scheduler were asked for.
fn asked(recorded: &Recorded) -> String {
    let words: Vec<String> = recorded.arguments.iter().map(u64::to_string).collect();
    format!(
        "slices:{} seed {}, {}",
        recorded.slice,
        recorded.seed,
        words.join(" ")
    )
}
