//! Loose bounds that only a collapse misses: what a stage came to for one exhibit,
//! and for all of them together.

use super::measure::Measured;
use super::part::Part;

/// A stage is judged as a whole from so many exhibits on: of fewer, all may be among
/// those of which nothing can be left out.
const ENOUGH: usize = 5;
/// Breakpoints are made for fewer, since that takes its time.
const ENOUGH_BROKEN: usize = 2;

/// The share of all events that may be left, the share of all switches, and the
/// share of exhibits that breakpoints bring about at least every other time.
const MOST_EVENTS: f64 = 0.9;
const MOST_SWITCHES: f64 = 0.5;
const LEAST_BROUGHT_ABOUT: f64 = 0.5;

/// What is wrong with what a part has just measured, if anything. What the manifest says
/// of minima is about runs at the default size.
pub fn complaint(part: Part, measured: &Measured, default_size: bool) -> Option<String> {
    let wrong = grown_or_unverified(part, measured);
    wrong.or_else(|| below_minimum(part, measured).filter(|_| default_size))
}

/// A result below the known minimum is no success: the manifest is wrong.
fn below_minimum(part: Part, measured: &Measured) -> Option<String> {
    let (left, least, what) = match part {
        Part::Reduce => (measured.threads_left()?, measured.fewest_threads, "threads"),
        Part::Simplify => (
            measured.simplified("preemptive_after")?,
            measured.fewest_preemptions,
            "preemptions",
        ),
        _ => return None,
    };
    (left < least as f64).then(|| {
        format!(
            "comes down to {left} {what}, but its manifest says that {least} is the minimum: correct museum/{}/exhibit.toml",
            measured.name
        )
    })
}

fn grown_or_unverified(part: Part, measured: &Measured) -> Option<String> {
    let (report, pairs) = match part {
        Part::Reduce => (
            &measured.reduced,
            &[("threads_before", "threads_after")][..],
        ),
        Part::Simplify => (
            &measured.simplified,
            &[
                ("switches_before", "switches_static"),
                ("switches_before", "switches_dynamic"),
                ("preemptive_before", "preemptive_after"),
            ][..],
        ),
        _ => return None,
    };
    let report = report.as_ref()?;
    if report["verified"] != serde_json::json!(true) {
        return Some("its result was not reproduced".to_string());
    }
    let grown = pairs.iter().find_map(|(before, after)| {
        let (before, after) = (before, report[after].as_f64()?);
        let before = report[before].as_f64().filter(|before| after > *before)?;
        Some((before, after))
    });
    grown.map(|(before, after)| format!("{before} became {after}, which is more"))
}

/// What is wrong with all of them together.
pub fn complaints(results: &[Measured]) -> Vec<String> {
    let share = |enough: usize, pairs: Vec<(f64, f64)>| {
        let (before, after) = pairs.iter().fold((0.0, 0.0), |(before, after), pair| {
            (before + pair.0, after + pair.1)
        });
        (pairs.len() >= enough).then(|| after / f64::max(before, 1.0))
    };
    let sizes = |before: &str, after: &str, figure: fn(&Measured, &str) -> Option<f64>| {
        let pairs = results
            .iter()
            .filter_map(|it| Some((figure(it, before)?, figure(it, after)?)));
        share(ENOUGH, pairs.collect())
    };
    let probabilities = results.iter().filter_map(|it| it.broken("probability"));
    let certain = probabilities.map(|share| (1.0, f64::from(share >= 0.5)));
    let mut complaints = Vec::new();
    if let Some(left) = sizes("events_before", "events_after", Measured::reduced)
        && left > MOST_EVENTS
    {
        complaints.push(format!(
            "reductions leave {:.0} % of all events",
            100.0 * left
        ));
    }
    if let Some(left) = sizes("switches_before", "switches_dynamic", Measured::simplified)
        && left > MOST_SWITCHES
    {
        complaints.push(format!(
            "simplification leaves {:.0} % of all switches",
            100.0 * left
        ));
    }
    if let Some(brought) = share(ENOUGH_BROKEN, certain.collect())
        && brought < LEAST_BROUGHT_ABOUT
    {
        complaints.push(format!(
            "breakpoints bring about {:.0} % of the exhibits every other time or more often",
            100.0 * brought
        ));
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn measured(events: u64, switches: u64, probability: f64) -> Measured {
        Measured {
            reduced: Some(json!({
                "verified": true, "threads_before": 5, "threads_after": 3, "threads_serial": 0,
                "events_before": 100, "events_after": events,
            })),
            simplified: Some(json!({
                "verified": true, "switches_before": 40, "switches_static": 20,
                "switches_dynamic": switches, "preemptive_before": 30, "preemptive_after": 1,
            })),
            broken: Some(json!({ "probability": probability })),
            ..Measured::default()
        }
    }

    #[test]
    fn what_is_as_it_should_be_is_not_complained_of() {
        let good = measured(30, 4, 1.0);
        for part in [Part::Reduce, Part::Simplify, Part::Break] {
            assert_eq!(complaint(part, &good, true), None);
        }
        assert!(complaints(&vec![good; ENOUGH]).is_empty());
    }

    #[test]
    fn one_exhibit_may_not_grow_nor_go_unverified() {
        let mut grown = measured(30, 41, 1.0);
        let told = complaint(Part::Simplify, &grown, false).unwrap();
        assert!(told.contains("40 became 41"), "{told}");
        assert_eq!(complaint(Part::Reduce, &grown, false), None);
        grown.reduced.as_mut().unwrap()["verified"] = json!(false);
        assert!(complaint(Part::Reduce, &grown, false).is_some());
    }

    /// Of a run at the smallest size, minima of the default one say nothing.
    #[test]
    fn a_manifest_whose_minimum_is_undercut_is_wrong() {
        let mut measured = measured(30, 4, 1.0);
        measured.fewest_preemptions = 2;
        measured.fewest_threads = 5;
        for part in [Part::Reduce, Part::Simplify] {
            let told = complaint(part, &measured, true).unwrap();
            assert!(told.contains("exhibit.toml"), "{told}");
            assert_eq!(complaint(part, &measured, false), None);
        }
        // Threads that run in one piece are threads.
        measured.reduced.as_mut().unwrap()["threads_serial"] = json!(2);
        assert_eq!(complaint(Part::Reduce, &measured, true), None);
    }

    #[test]
    fn all_together_may_not_collapse() {
        let bad = measured(95, 30, 0.1);
        assert_eq!(complaints(&vec![bad.clone(); ENOUGH]).len(), 3);
        assert_eq!(complaints(&vec![bad.clone(); ENOUGH - 1]).len(), 1);
        assert!(complaints(&[bad]).is_empty(), "too few to tell");
    }
}
