//! Reports of ThreadSanitizer, as its run-time library prints them: which lines of
//! the program meet in a data race, or take locks in a circle. Text in, places out.

use crate::expression::{Expression, Place, Side};
use crate::places::is_library;

/// One warning of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// Whether it is about locks that are taken in a circle, rather than accesses
    /// that nothing orders.
    pub is_inversion: bool,
    /// Where the threads are, the innermost line of the program's own each.
    pub places: Vec<Place>,
}

impl Warning {
    /// Breakpoints at which the threads meet: in either order for accesses.
    #[must_use]
    pub fn expressions(&self) -> Vec<Expression> {
        let sides: Vec<Side> = self.places.iter().cloned().map(Side::at).collect();
        let mut turned = sides.clone();
        turned.reverse();
        let mut all = vec![Expression::new(sides, !self.is_inversion)];
        let other = Expression::new(turned, !self.is_inversion);
        if !self.is_inversion && !all.contains(&other) {
            all.push(other);
        }
        all
    }
}

/// The warnings of a report that name at least two places, in its order, each
/// once; `None` if it is no report of ThreadSanitizer.
#[must_use]
pub fn warnings(report: &str) -> Option<Vec<Warning>> {
    const HEADING: &str = "WARNING: ThreadSanitizer: ";
    let mut parts = report.split(HEADING);
    parts.next()?;
    let mut all: Vec<Warning> = Vec::new();
    let mut any = false;
    for part in parts {
        any = true;
        let text = part
            .split("SUMMARY: ThreadSanitizer")
            .next()
            .unwrap_or(part);
        let is_inversion = text.starts_with("lock-order-inversion");
        let places: Vec<Place> = stacks(text, is_inversion)
            .filter_map(|stack| stack.iter().find_map(|frame| place(frame)))
            .collect();
        let warning = Warning {
            is_inversion,
            places,
        };
        if warning.places.len() >= 2 && !all.contains(&warning) {
            all.push(warning);
        }
    }
    any.then_some(all)
}

/// The stacks of a warning that matter: of the two accesses, or of every lock that
/// is taken while another is held. A stack is a heading and frames behind it.
fn stacks(text: &str, is_inversion: bool) -> impl Iterator<Item = Vec<&str>> {
    let matters = move |heading: &str| match is_inversion {
        true => heading.contains("acquired here while holding"),
        false => heading.contains(" of size ") && heading.contains(" by "),
    };
    let mut stacks: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in text.lines().map(str::trim) {
        match (line.starts_with('#'), stacks.last_mut()) {
            (true, Some((_, frames))) => frames.push(line),
            _ if !line.is_empty() => stacks.push((line, Vec::new())),
            _ => {}
        }
    }
    stacks
        .into_iter()
        .filter(move |(heading, _)| matters(heading))
        .map(|(_, frames)| frames)
}

/// The line that a frame is about, if it is the program's own: `#0 function
/// FILE:LINE:COLUMN (…)`.
fn place(frame: &str) -> Option<Place> {
    let frame = frame.split(" (").next()?;
    let spot = frame.split_whitespace().last()?;
    let mut parts = spot.split(':');
    let file = parts.next()?;
    let line = parts.next()?.parse().ok()?;
    (!is_library(file) && !file.contains("compiler-rt")).then(|| Place::Line {
        file: file.to_string(),
        line,
        site: 1,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = "\
==================
WARNING: ThreadSanitizer: data race (pid=7)
  Write of size 4 at 0x55 by thread T2:
    #0 count /src/race.c:14:16 (race+0xcd) (BuildId: 1f)
    #1 start (race+0x1)

  Previous read of size 4 at 0x55 by thread T1:
    #0 memcpy <null> (race+0x2)
    #1 look /src/race.c:9:3 (race+0xcd) (BuildId: 1f)

  Location is global 'counter' of size 4 at 0x55 (race+0x15)

  Thread T2 (tid=9, running) created by main thread at:
    #0 pthread_create <null> (race+0x3)
    #1 main /src/race.c:21:5 (race+0xcd)

SUMMARY: ThreadSanitizer: data race /src/race.c:14:16 in count
==================
";

    #[test]
    fn a_race_has_two_lines_and_two_orders() {
        let found = warnings(REPORT).unwrap();
        let texts: Vec<String> = found[0]
            .expressions()
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(
            texts,
            [
                "/src/race.c:14 -> /src/race.c:9 if same-object",
                "/src/race.c:9 -> /src/race.c:14 if same-object"
            ]
        );
    }

    #[test]
    fn a_report_without_a_warning_is_none() {
        assert_eq!(warnings("all is well\n"), None);
        let twice = format!("{REPORT}{REPORT}");
        assert_eq!(warnings(&twice).unwrap().len(), 1);
    }
}
