//! The explanation for code hosts, which show it at its lines: SARIF 2.1.0
//! (OASIS, 2020). Every finding is a result at the first line that it names; the
//! other lines are related locations.

use crate::finding::{Finding, FindingKind};
use crate::story::{Story, ToldLockCycle, ToldRace};
use crate::told::Told;
use serde_json::{Value, json};

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// Every rule with its name and what it says; that of what is told beside the bug is of
/// no finding.
const RULES: [(Option<FindingKind>, &str, &str); 12] = [
    (
        Some(FindingKind::Deadlock),
        "deadlock",
        "Threads wait for each other.",
    ),
    (
        Some(FindingKind::Lifetime),
        "lifetime",
        "Memory is used after its end.",
    ),
    (
        Some(FindingKind::MissedNotification),
        "missed-notification",
        "A thread is woken before it waits.",
    ),
    (
        Some(FindingKind::WrongWakeup),
        "wrong-wakeup",
        "A signal wakes one thread while another one should have gone on.",
    ),
    (
        Some(FindingKind::StolenWakeup),
        "stolen-wakeup",
        "A thread goes on after a wait without looking whether it may.",
    ),
    (
        Some(FindingKind::SpuriousWake),
        "spurious-wake",
        "A wait ends without a signal.",
    ),
    (
        Some(FindingKind::TimeOut),
        "time-out",
        "The time of a wait is over.",
    ),
    (
        Some(FindingKind::Atomicity),
        "atomicity",
        "Another thread comes in between what should be one step.",
    ),
    (
        Some(FindingKind::Order),
        "order",
        "Two steps happen in the wrong order.",
    ),
    (
        Some(FindingKind::StoreBuffer),
        "store-buffer",
        "A store waits in its buffer while another thread reads what it replaces.",
    ),
    (
        Some(FindingKind::DataRace),
        "data-race",
        "Nothing orders two conflicting accesses.",
    ),
    (
        None,
        "lock-order",
        "Locks are taken in opposite orders, which can deadlock.",
    ),
];

impl Story {
    /// One log with one run of the tool; `version` is bohr's.
    #[must_use]
    pub fn as_sarif(&self, version: &str) -> Value {
        let rules = RULES.iter().map(|(_, name, text)| {
            json!({ "id": name, "name": name, "shortDescription": { "text": text } })
        });
        let results = self.findings.iter().map(|finding| self.result(finding));
        let results = results.chain(self.races_beside().map(|race| self.race(race)));
        let results = results.chain(self.lock_cycles.iter().map(|cycle| self.warning(cycle)));
        json!({
            "$schema": SCHEMA,
            "version": "2.1.0",
            "runs": [{
                "tool": {
                    "driver": {
                        "name": "bohr",
                        "version": version,
                        "rules": rules.collect::<Vec<_>>(),
                    },
                },
                "results": results.collect::<Vec<_>>(),
            }],
        })
    }

    fn result(&self, finding: &Finding) -> Value {
        let words: Vec<&str> = finding.sentence.split_whitespace().collect();
        let text = format!("{}: it fails when {}", self.bug.kind, words.join(" "));
        let mut result = result(Some(finding.kind), "error", &text, finding.moments.iter());
        result["partialFingerprints"] = json!({ "bohrSignature/v1": self.bug.signature });
        result
    }

    /// The races, unless they are what the bug is.
    fn races_beside(&self) -> impl Iterator<Item = &ToldRace> {
        let is_race = |finding: &Finding| finding.kind == FindingKind::DataRace;
        let told = self.findings.iter().any(is_race);
        self.races.iter().filter(move |_| !told)
    }

    fn race(&self, race: &ToldRace) -> Value {
        let [first, second] = [&race.first, &race.second];
        let text = format!(
            "nothing orders {}, which {}, and {}, which {}",
            first.who(),
            first.act(),
            second.who(),
            second.act()
        );
        let kind = Some(FindingKind::DataRace);
        result(kind, "warning", &text, [first, second].into_iter())
    }

    /// What is not what the bug is about.
    fn warning(&self, cycle: &ToldLockCycle) -> Value {
        let text = format!("this can deadlock: {}", cycle.sentence());
        result(None, "warning", &text, cycle.moments())
    }
}

/// A result by the rule of a kind, at the lines of these moments.
fn result<'a>(
    kind: Option<FindingKind>,
    level: &str,
    text: &str,
    moments: impl Iterator<Item = &'a Told>,
) -> Value {
    let index = RULES.iter().position(|rule| rule.0 == kind);
    let index = index.unwrap_or(0);
    let mut locations = moments.filter_map(location);
    let first: Vec<Value> = locations.next().into_iter().collect();
    let others = (1u64..).zip(locations).map(|(id, mut location)| {
        location["id"] = json!(id);
        location
    });
    json!({
        "ruleId": RULES[index].1,
        "ruleIndex": index,
        "level": level,
        "message": { "text": text },
        "locations": first,
        "relatedLocations": others.collect::<Vec<_>>(),
    })
}

/// The line of a moment; `None` if it has none.
fn location(told: &Told) -> Option<Value> {
    let (file, line) = told.line.as_deref()?.rsplit_once(':')?;
    let line: u64 = line.parse().ok().filter(|line| *line > 0)?;
    Some(json!({
        "physicalLocation": {
            "artifactLocation": { "uri": uri(file) },
            "region": { "startLine": line },
        },
        "message": { "text": format!("{} {}", told.who(), told.deed()) },
    }))
}

/// A path as a reference of RFC 3986: what is not allowed in one is escaped.
fn uri(path: &str) -> String {
    let scheme = if path.starts_with('/') { "file://" } else { "" };
    let escaped = path.bytes().map(|byte| match byte {
        b'/' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        _ if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    });
    format!("{scheme}{}", escaped.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::Columns;
    use crate::story::{Bug, ToldTaking};

    fn told(line: &str) -> Told {
        Told {
            thread: "0:1".to_string(),
            kind: "reads".to_string(),
            object: "balance".to_string(),
            takes_object: true,
            line: Some(line.to_string()),
            ..Told::default()
        }
    }

    fn story(lines: &[&str]) -> Story {
        Story {
            bug: Bug {
                signature: "0123456789abcdef".to_string(),
                kind: "assertion".to_string(),
                description: String::new(),
            },
            findings: vec![Finding {
                kind: FindingKind::Atomicity,
                variable: None,
                sentence: "one,\n    after another".to_string(),
                moments: lines.iter().map(|line| told(line)).collect(),
                remedy: String::new(),
            }],
            windows: Vec::new(),
            orders: Vec::new(),
            races: Vec::new(),
            lock_cycles: Vec::new(),
            unexamined: 0,
            columns: Columns::default(),
            events: 0,
            switches: 0,
        }
    }

    /// What the schema requires, of what is written here: sections 3.13, 3.14,
    /// 3.18, 3.19, 3.27 and 3.28 of the standard.
    #[test]
    fn a_log_has_what_the_schema_requires() {
        let log = story(&["a b.c:3", "/x/c.c:4", "nowhere"]).as_sarif("1.2.3");
        assert_eq!(log["version"], "2.1.0");
        let run = &log["runs"][0];
        assert_eq!(run["tool"]["driver"]["name"], "bohr");
        let [result] = &run["results"].as_array().unwrap()[..] else {
            panic!("one result: {log}")
        };
        let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
        let index = result["ruleIndex"].as_u64().unwrap() as usize;
        assert_eq!(rules[index]["id"], result["ruleId"]);
        assert!(
            rules
                .iter()
                .all(|rule| rule["shortDescription"]["text"].is_string())
        );
        assert_eq!(
            result["message"]["text"],
            "assertion: it fails when one, after another"
        );
        let place = &result["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], "a%20b.c");
        assert_eq!(place["region"]["startLine"], 3);
        let related = result["relatedLocations"].as_array().unwrap();
        assert_eq!(related.len(), 1, "a place without a line has no location");
        assert_eq!(related[0]["id"], 1);
        let place = &related[0]["physicalLocation"]["artifactLocation"];
        assert_eq!(place["uri"], "file:///x/c.c");
    }

    #[test]
    fn every_kind_of_finding_has_its_rule() {
        for (kind, name, _) in RULES {
            let written = kind.map(|kind| serde_json::to_value(kind).unwrap());
            assert_eq!(written.unwrap_or("lock-order".into()), *name);
        }
    }

    #[test]
    fn lock_orders_are_warnings_at_all_their_lines() {
        let mut story = story(&["a.c:1"]);
        let taking = |held: &str, taken: &str| ToldTaking {
            holds: told(held),
            takes: told(taken),
        };
        story.lock_cycles = vec![ToldLockCycle {
            threads: vec![taking("a.c:3", "a.c:4"), taking("b.c:5", "b.c:6")],
            count: 1,
        }];
        let log = story.as_sarif("1.2.3");
        let result = &log["runs"][0]["results"][1];
        assert_eq!(result["ruleId"], "lock-order");
        assert_eq!(result["level"], "warning");
        let region = |location: &Value| location["physicalLocation"]["region"]["startLine"].clone();
        let related = result["relatedLocations"].as_array().unwrap().iter();
        let mut lines = vec![region(&result["locations"][0])];
        lines.extend(related.map(region));
        assert_eq!(lines, [4, 3, 6, 5]);
        let text = result["message"]["text"].as_str().unwrap();
        assert!(
            text.contains("0:1 takes balance at a.c:4 and has balance since a.c:3"),
            "{text}"
        );
    }
}
