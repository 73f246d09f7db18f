//! Whether `bohr explain` names what the manifest says is to blame: the variable
//! and both places.

use crate::{Error, Exhibit};
use serde::Deserialize;
use std::path::Path;
use std::process::Command;

/// What `bohr explain --json` prints, as far as it is compared.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Explanation {
    /// What it takes to fail, a sentence each.
    pub verdict: Vec<String>,
    /// The same as data.
    pub findings: Vec<Finding>,
}

/// One thing that it takes to fail.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Finding {
    /// The variable or lock that it is about.
    #[serde(default)]
    pub variable: Option<String>,
    /// What the sentence names, in its order.
    pub moments: Vec<Moment>,
}

/// Something that a thread did.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Moment {
    /// To what.
    pub object: String,
    /// Its line and those of the calls around it that the compiler put inline,
    /// or that were on the stack.
    pub lines: Vec<String>,
}

/// Explains a bug file.
///
/// # Errors
/// If bohr cannot be started or prints no explanation.
pub fn explain(bohr: &Path, bug_file: &Path, seconds: u32) -> Result<Explanation, Error> {
    let mut command = Command::new(bohr);
    command
        .args(["explain", "--json", "--time", &format!("{seconds}s")])
        .arg(bug_file);
    let output = command.output().map_err(|cause| Error::Start {
        program: command.get_program().to_string_lossy().into_owned(),
        cause,
    })?;
    serde_json::from_slice(&output.stdout).map_err(|_| Error::Hunt {
        program: bug_file.display().to_string(),
        words: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

/// What of the manifest's culprit an explanation leaves unnamed: markers, or
/// the variable. Nothing if all is named.
#[must_use]
pub fn unnamed(exhibit: &Exhibit, explanation: &Explanation) -> Vec<String> {
    let culprit = &exhibit.manifest.culprit;
    let named = |marker: &String| names_site(exhibit, explanation, marker);
    let sites = culprit.sites.iter();
    let sites = sites.filter(|site| !site.0.iter().any(named));
    let mut unnamed: Vec<String> = sites.map(|site| site.0.join(" or ")).collect();
    if !names_variable(explanation, &culprit.variable) {
        unnamed.push(culprit.variable.clone());
    }
    unnamed
}

fn names_site(exhibit: &Exhibit, explanation: &Explanation, marker: &str) -> bool {
    let Ok(line) = exhibit.source.line_of(marker) else {
        return false;
    };
    let place = format!("{}:{line}", exhibit.manifest.language.source());
    let moments = explanation
        .findings
        .iter()
        .flat_map(|finding| &finding.moments);
    let mut lines = moments.flat_map(|moment| &moment.lines);
    lines.any(|known| *known == place || known.ends_with(&format!("/{place}")))
}

/// Whether anything named has the variable's own name (the last part of what
/// the manifest writes) among its words.
fn names_variable(explanation: &Explanation, variable: &str) -> bool {
    let own = words(variable).last().unwrap_or(variable);
    let moments = explanation
        .findings
        .iter()
        .flat_map(|finding| &finding.moments);
    let objects = moments.map(|moment| &moment.object);
    let variables = explanation
        .findings
        .iter()
        .filter_map(|finding| finding.variable.as_ref());
    objects
        .chain(variables)
        .any(|object| words(object).any(|word| word == own))
}

fn words(text: &str) -> impl DoubleEndedIterator<Item = &str> {
    text.split(|letter: char| !letter.is_alphanumeric() && letter != '_')
        .filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::named;

    fn explanation(exhibit: &Exhibit, markers: &[&str], object: &str) -> Explanation {
        let source = exhibit.manifest.language.source();
        let moment = |marker: &&str| Moment {
            object: object.to_string(),
            lines: vec![
                "/usr/include/atomic:12".to_string(),
                format!(
                    "museum/here/{source}:{}",
                    exhibit.source.line_of(marker).unwrap()
                ),
            ],
        };
        Explanation {
            findings: vec![Finding {
                variable: None,
                moments: markers.iter().map(moment).collect(),
            }],
            ..Explanation::default()
        }
    }

    #[test]
    fn both_places_and_the_variable_have_to_be_named() {
        let account = named("account").unwrap();
        let [one, other] = ["balance-read", "balance-written"];
        let judge = |markers: &[&str], object: &str| {
            unnamed(&account, &explanation(&account, markers, object))
        };
        assert!(judge(&[one, other], "account.balance").is_empty());
        assert!(judge(&[other, one], "this->balance").is_empty());
        assert_eq!(judge(&[one], "account.balance"), [other]);
        assert_eq!(judge(&[one, other], "unbalanced"), ["account.balance"]);
        assert_eq!(unnamed(&account, &Explanation::default()).len(), 3);
    }
}
