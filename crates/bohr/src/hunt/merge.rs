//! `bohr hunt --merge`: one result out of those of several shards.

use crate::outcome::Outcome;
use crate::shell_word::as_word;
use bohr_event::{Diagnosis, Fault};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Why results cannot be joined.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// A file cannot be read.
    #[error("the file `{path}` cannot be read")]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// As the system says.
        source: std::io::Error,
    },
    /// A file holds something else.
    #[error("`{path}` is not what `bohr hunt --json` prints: {reason}")]
    NotAResult {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Two files tell of the same runs.
    #[error(
        "`{first}` and `{second}` tell of the same runs: both are shard {shard} from seed {seed}"
    )]
    Twice {
        /// One of them.
        first: PathBuf,
        /// The other.
        second: PathBuf,
        /// Which shard.
        shard: Value,
        /// Its hunt's first seed.
        seed: Value,
    },
}

impl Diagnosis for MergeError {
    fn fault(&self) -> Fault {
        Fault::Input
    }

    fn help(&self) -> Option<String> {
        Some("bohr hunt --shard 1/2 --json -- PROGRAM > one.json".to_string())
    }
}

pub fn run(files: &[PathBuf], as_json: bool) -> Outcome {
    let results = files
        .iter()
        .map(read)
        .collect::<Result<Vec<Value>, MergeError>>()?;
    refuse_twins(files, &results)?;
    let joined = join(&results);
    match as_json {
        true => println!("{joined}"),
        false => tell(&joined),
    }
    Ok(match joined["found"] == json!(true) {
        true => ExitCode::from(1),
        false => ExitCode::SUCCESS,
    })
}

fn read(path: &PathBuf) -> Result<Value, MergeError> {
    let text = std::fs::read_to_string(path).map_err(|source| MergeError::Unreadable {
        path: path.clone(),
        source,
    })?;
    let wrong = |reason: String| MergeError::NotAResult {
        path: path.clone(),
        reason,
    };
    let value: Value = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    for (field, fits) in [
        ("found", Value::is_boolean as fn(&Value) -> bool),
        ("runs", Value::is_u64),
        ("seconds", Value::is_number),
        ("runs_per_second", Value::is_number),
        ("bugs", Value::is_array),
    ] {
        if !value.get(field).is_some_and(fits) {
            return Err(wrong(format!(
                "the field `{field}` is missing or of another type"
            )));
        }
    }
    Ok(value)
}

/// Equal shards have made the same runs, which must not be counted twice.
fn refuse_twins(files: &[PathBuf], results: &[Value]) -> Result<(), MergeError> {
    let mut seen: Vec<(&PathBuf, &Value)> = Vec::new();
    for (file, result) in files.iter().zip(results) {
        let twin = seen.iter().find(|(_, other)| {
            let same = ["shard", "first_seed"];
            !result["shard"].is_null() && same.iter().all(|field| other[field] == result[field])
        });
        if let Some((first, _)) = twin {
            return Err(MergeError::Twice {
                first: (*first).clone(),
                second: file.clone(),
                shard: result["shard"].clone(),
                seed: result["first_seed"].clone(),
            });
        }
        seen.push((file, result));
    }
    Ok(())
}

/// Runs add up, times overlap, and of equal bugs the first file is kept. The
/// fields of the found bug are those of the first shard that found one.
fn join(results: &[Value]) -> Value {
    let sum = |field: &str| -> f64 { results.iter().filter_map(|one| one[field].as_f64()).sum() };
    let found = results.iter().find(|one| one["found"] == json!(true));
    let mut joined = found
        .or(results.first())
        .cloned()
        .unwrap_or_else(|| json!({}));
    let mut bugs: Vec<Value> = Vec::new();
    for bug in results
        .iter()
        .flat_map(|one| one["bugs"].as_array().into_iter().flatten())
    {
        if bugs
            .iter()
            .all(|known| known["signature"] != bug["signature"])
        {
            bugs.push(bug.clone());
        }
    }
    let longest = results
        .iter()
        .filter_map(|one| one["seconds"].as_f64())
        .fold(0.0, f64::max);
    joined["found"] = json!(found.is_some());
    joined["runs"] = json!(
        results
            .iter()
            .filter_map(|one| one["runs"].as_u64())
            .sum::<u64>()
    );
    joined["seconds"] = json!(longest);
    joined["runs_per_second"] = json!(sum("runs_per_second"));
    joined["shards"] = json!(results.len());
    joined["bugs"] = json!(bugs);
    // Schedules and pairs of different shards may be the same ones.
    for field in [
        "distinct_schedules",
        "conflicting_pairs",
        "complete",
        "shard",
        "first_seed",
    ] {
        if let Some(object) = joined.as_object_mut() {
            object.remove(field);
        }
    }
    joined
}

fn tell(joined: &Value) {
    let bugs = joined["bugs"].as_array().map_or(&[][..], Vec::as_slice);
    println!(
        "{} shards, {} runs, {} bugs",
        joined["shards"],
        joined["runs"],
        bugs.len()
    );
    for bug in bugs {
        let text = |field: &str| bug[field].as_str().unwrap_or("?").to_string();
        println!(
            "  {} {}: bohr replay {}",
            text("kind"),
            text("signature"),
            as_word(Path::new(&text("bug_file")))
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_add_up_and_equal_bugs_are_one() {
        let result = |runs: u64, bugs: Value| {
            let found = !bugs.as_array().unwrap().is_empty();
            json!({"found": found, "runs": runs, "seconds": runs as f64, "runs_per_second": 1.0,
                   "seed": runs, "bugs": bugs})
        };
        let bug = |signature: &str, file: &str| json!({"kind": "deadlock", "signature": signature, "bug_file": file});
        let joined = join(&[
            result(10, json!([])),
            result(30, json!([bug("a", "1.bohr")])),
            result(20, json!([bug("a", "2.bohr"), bug("b", "3.bohr")])),
        ]);
        assert_eq!(joined["runs"], json!(60));
        assert_eq!(joined["seconds"], json!(30.0));
        assert_eq!(
            joined["seed"],
            json!(30),
            "of the first shard that found something"
        );
        assert_eq!(
            joined["bugs"],
            json!([bug("a", "1.bohr"), bug("b", "3.bohr")])
        );
        assert_eq!(join(&[result(1, json!([]))])["found"], json!(false));
    }
}
