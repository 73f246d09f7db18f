//! What was found, in the form of the paper's Tables 1 and 2.

use super::artefacts::{Case, leave};
use super::laboratory::Compared;
use super::proof::Proof;
use super::tune::Step;
use super::verified::Verified;
use crate::control::breakpoints::Finder;
use crate::outcome::Failure;
use bohr_explain::Explanation;
use bohr_explore::native::Ending;
use bohr_trigger::Expression;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// All that is told at the end.
pub struct Report {
    /// Name of the program.
    pub program: String,
    /// Lines of its sources.
    pub lines: usize,
    /// Kind of the bug, in the paper's words.
    pub kind: &'static str,
    pub breakpoints: Vec<Expression>,
    pub steps: Vec<Step>,
    pub compared: Compared,
    pub patch: Option<PathBuf>,
    pub test: Option<PathBuf>,
    /// What the patch does.
    pub proof: Option<Proof>,
    /// Threads only had to meet.
    pub is_harmless: bool,
}

/// What the paper calls a bug that was explained like this.
pub fn kind(explanation: &Explanation) -> &'static str {
    match explanation {
        one if !one.circle.is_empty() => "deadlock",
        one if !one.unheard.is_empty() => "missed-notify",
        one if !one.unordered.is_empty() => "race",
        one if !one.windows.is_empty() => "atomicity",
        _ => "order",
    }
}

impl Report {
    /// Leaves patch and test of a verified set in a folder, and tells about it.
    pub fn conclude(
        case: &Case<'_>,
        finder: &Finder,
        kind: &'static str,
        is_harmless: bool,
        verified: Verified,
        steps: Vec<Step>,
        folder: &Path,
    ) -> Result<Report, Failure> {
        let good = verified.proof.as_ref().is_some_and(Proof::is_good);
        let draft = verified.draft.as_ref().filter(|_| good);
        let artefacts = draft.map(|draft| leave(draft, folder)).transpose()?;
        let (patch, test) = artefacts.map(|one| (one.patch, one.test)).unzip();
        let name = case.program.file_name().unwrap_or_default();
        Ok(Report {
            program: name.to_string_lossy().into_owned(),
            lines: finder.lines(case.program),
            kind,
            breakpoints: verified.set,
            steps,
            compared: verified.compared,
            patch,
            test,
            proof: verified.proof,
            is_harmless,
        })
    }

    fn error(&self) -> String {
        match &self.compared.with.ending {
            None => "none".to_string(),
            Some(Ending::Exited(0)) if self.is_harmless => "none".to_string(),
            Some(Ending::Exited(0)) => "wrong output".to_string(),
            Some(Ending::Exited(code)) => format!("exit code {code}"),
            Some(Ending::Signalled(6)) => "abort".to_string(),
            Some(Ending::Signalled(signal)) => format!("signal {signal}"),
            Some(Ending::Stalled(stall)) => {
                let text = stall.to_string();
                text.split(':').next().unwrap_or(&text).to_string()
            }
            Some(Ending::Endless) => "endless".to_string(),
        }
    }

    /// For people.
    pub fn as_text(&self) -> String {
        let mut text = String::new();
        for breakpoint in &self.breakpoints {
            text += &format!("  {breakpoint}\n");
        }
        let Compared {
            with: measured,
            without,
            plain,
            ..
        } = &self.compared;
        let (normal, with) = (without.median_time(), measured.median_time());
        text += &format!(
            "\n{:20} {:>7} {:>10} {:>10} {:>9}  {:14} {:12} {:>5}\n",
            "Benchmark", "LoC", "Normal (s)", "w/ ctr (s)", "Overhead", "Type", "Error", "Prob."
        );
        text += &format!(
            "{:20} {:>7} {normal:>10.4} {with:>10.4} {:>8.1}%  {:14} {:12} {:>5.2}\n",
            self.program,
            self.lines,
            (self.compared.overhead() - 1.0) * 100.0,
            self.kind,
            self.error(),
            measured.probability(),
        );
        let mean = measured.mean_time_to_error();
        text += &format!(
            "\n{:20} {:>7}  {:12} {:>10} {:>5}\n",
            "Benchmark", "LoC", "Error", "MTTE (s)", "#CBR"
        );
        text += &format!(
            "{:20} {:>7}  {:12} {:>10} {:>5}\n",
            self.program,
            self.lines,
            self.error(),
            mean.map_or("-".to_string(), |mean| format!("{mean:.4}")),
            self.breakpoints.len(),
        );
        text += &format!(
            "\nMedian times of whole runs, by turns: with the breakpoints, and of the same build\n\
             without them. As you built it, the program takes {:.4} s.\n",
            plain.median_time()
        );
        for (what, path) in [("patch", &self.patch), ("test", &self.test)] {
            if let Some(path) = path {
                text += &format!("{what} written to {}\n", path.display());
            }
        }
        if let Some(proof) = &self.proof {
            text += &format!("{}\n", proof.describe());
        }
        text
    }

    /// For programs.
    pub fn as_json(&self) -> Value {
        let Compared {
            with: measured,
            without,
            plain,
            ..
        } = &self.compared;
        json!({
            "program": self.program,
            "kind": self.kind,
            "breakpoints": self.breakpoints.iter().map(breakpoint).collect::<Vec<_>>(),
            "steps": self.steps.iter().map(Step::as_json).collect::<Vec<_>>(),
            "runs": measured.runs,
            "failures": measured.failures,
            "hits": measured.hits,
            "probability": measured.probability(),
            "mean_time_to_error": measured.mean_time_to_error(),
            "normal_seconds": without.median_time(),
            "plain_seconds": plain.median_time(),
            "seconds": measured.median_time(),
            "overhead": self.compared.overhead(),
            "error": self.error(),
            "patch_file": self.patch,
            "test_file": self.test,
            "patched": self.proof.as_ref().map(patched),
        })
    }
}

/// What became of the patch.
fn patched(proof: &Proof) -> Value {
    let (tried, runs, failures) = match proof {
        Proof::Reproduces { runs, failures } | Proof::DoesNot { runs, failures } => {
            (true, Some(*runs), Some(*failures))
        }
        Proof::TestPasses => (true, None, None),
        Proof::NoPatch(_) | Proof::Untried(_) => (false, None, None),
    };
    json!({
        "tried": tried,
        "runs": runs,
        "failures": failures,
        "told": proof.describe(),
    })
}

fn breakpoint(expression: &Expression) -> Value {
    let side = |side: &bohr_trigger::Side| {
        json!({
            "place": side.at.to_string(),
            "until": side.until.as_ref().map(ToString::to_string),
            "refinements": side.refinements.iter().map(ToString::to_string).collect::<Vec<_>>(),
        })
    };
    json!({
        "expression": expression.to_string(),
        "sides": expression.sides.iter().map(side).collect::<Vec<_>>(),
        "predicate": if expression.same_object { "same-object" } else { "true" },
        "at_most": expression.at_most,
        "pause": expression.pause.as_secs_f64(),
    })
}
