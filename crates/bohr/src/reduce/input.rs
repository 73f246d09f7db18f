//! A smaller input for the same failure: arguments, standard input or a file, by
//! delta debugging under the oracle that threads and iterations are left out by.
//! Every candidate is a start of the program, so one is tried at a time.

mod copies;

use super::criterion::Criterion;
use super::examiner::Examiner;
use super::question::{Base, Question};
use crate::outcome::Failure;
use bohr_event::{Schedule, ThreadPath};
use bohr_explore::bug_file::{self, Bug, Invocation};
use bohr_explore::{ExploreError, Subject, Trials, write_whole};
use bohr_reduce::minimise;
use bohr_reduce::reduction::{Cut, Length};
use copies::{Copies, is_copy, not_named, read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Other schedules that are tried for a candidate.
const CHANCES: u64 = 16;

/// Inputs of at most so many bytes are shrunk byte by byte at last.
const FEW_BYTES: usize = 2048;

/// Which input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The arguments of the program, one by one.
    Arguments,
    /// Its standard input.
    Stdin,
    /// A file that an argument names.
    File(PathBuf),
}

impl FromStr for Source {
    type Err = std::convert::Infallible;

    fn from_str(word: &str) -> Result<Source, Self::Err> {
        Ok(match word {
            "arguments" => Source::Arguments,
            "stdin" => Source::Stdin,
            file => Source::File(PathBuf::from(file)),
        })
    }
}

/// What came of it.
pub struct Shrunk {
    /// The same failure with the smaller input.
    pub bug: Bug,
    /// Bytes of input before and after.
    pub before: u64,
    pub after: u64,
    /// Where it lies, if it is a file and smaller.
    pub file: Option<PathBuf>,
}

/// Makes the input of a bug as small as it can. Each smaller one is written to
/// `output` at once. A file is left as it is: its smaller copy lies beside that, and
/// the program is started with it.
pub fn shrink(
    bug: &Bug,
    subject: &Subject,
    source: &Source,
    output: &Path,
    go_on: &(dyn Fn() -> bool + Sync),
) -> Result<Shrunk, Failure> {
    let whole = parts(&subject.invocation, source)?;
    let (base, criterion) = beginning(bug, subject)?;
    let mut shrinking = Shrinking {
        subject,
        source,
        output,
        copies: match source {
            Source::File(path) => Some(Copies::beside(output, path)),
            _ => None,
        },
        bug: bug.clone(),
        best: base,
        criterion,
        parts: whole.clone(),
        go_on,
    };
    shrinking.minimise()?;
    let bytes: usize = shrinking.parts.iter().map(Vec::len).sum();
    if *source != Source::Arguments && bytes <= FEW_BYTES {
        let bytes = shrinking.parts.concat().into_iter();
        shrinking.parts = bytes.map(|byte| vec![byte]).collect();
        shrinking.minimise()?;
    }
    let size = |parts: &[Vec<u8>]| parts.iter().map(Vec::len).sum::<usize>() as u64;
    let (before, after) = (size(&whole), size(&shrinking.parts));
    let (bug, file) = shrinking.finish()?;
    Ok(Shrunk {
        bug,
        before,
        after,
        file,
    })
}

/// Whether a bug could have become the other one by a smaller input, written to
/// `output`.
pub fn is_shrunk(smaller: &Invocation, bug: &Invocation, output: &Path) -> bool {
    let (few, all) = (&smaller.arguments, &bug.arguments);
    let is_copied = |(few, all): (&Vec<u8>, &Vec<u8>)| {
        few == all || is_copy(std::ffi::OsStr::from_bytes(few), output)
    };
    let by_file = few.len() == all.len() && few.iter().zip(all).all(is_copied);
    let by_arguments = is_part(few, all) && smaller.input == bug.input;
    let by_stdin = few == all && is_part(&smaller.input, &bug.input);
    smaller != bug
        && smaller.environment == bug.environment
        && (by_arguments || by_stdin || by_file && smaller.input == bug.input)
}

/// Whether a list is another one without some of its elements.
fn is_part<T: PartialEq>(few: &[T], all: &[T]) -> bool {
    let mut all = all.iter();
    few.iter().all(|one| all.any(|other| other == one))
}

/// The input, in the parts that can go.
fn parts(invocation: &Invocation, source: &Source) -> Result<Vec<Vec<u8>>, Failure> {
    let lines = |bytes: &[u8]| -> Vec<Vec<u8>> {
        let lines = bytes.split_inclusive(|byte| *byte == b'\n');
        lines.map(<[u8]>::to_vec).collect()
    };
    Ok(match source {
        Source::Arguments => invocation.arguments.clone(),
        Source::Stdin => lines(&invocation.input),
        Source::File(path) => {
            let name = path.as_os_str().as_bytes();
            if !invocation.arguments.iter().any(|one| one == name) {
                return Err(not_named(path));
            }
            lines(&read(path)?)
        }
    })
}

/// The failing run as it is, and what good runs have to come by.
fn beginning(bug: &Bug, subject: &Subject) -> Result<(Base, Criterion), Failure> {
    let trials = Trials::start(subject, bug, &|| true)?;
    let mut examiner = Examiner::new(trials, bug);
    let schedule = examiner.trials.atlas().inward(&bug.schedule);
    let base = examiner.base(&Cut::default(), schedule)?;
    let base = base.ok_or(ExploreError::NotReproduced)?;
    let criterion = examiner.criterion(&base, &bug.signature)?;
    Ok((base, criterion))
}

struct Shrinking<'s> {
    subject: &'s Subject,
    source: &'s Source,
    output: &'s Path,
    /// Where the smaller file lies, if it is one.
    copies: Option<Copies>,
    /// The bug with the smallest input so far.
    bug: Bug,
    /// Its failing run.
    best: Base,
    criterion: Criterion,
    parts: Vec<Vec<u8>>,
    go_on: &'s (dyn Fn() -> bool + Sync),
}

impl Shrinking<'_> {
    fn minimise(&mut self) -> Result<(), Failure> {
        let parts = std::mem::take(&mut self.parts);
        let some = |kept: &[usize]| -> Vec<Vec<u8>> {
            kept.iter()
                .map(|&position| parts[position].clone())
                .collect()
        };
        let go_on = self.go_on;
        let kept = minimise(parts.len(), &|| go_on(), |row| {
            for test in 0..row.count() {
                if go_on() && self.still_fails(&some(&row.left(test)))? {
                    return Ok(Some(test));
                }
            }
            Ok::<_, Failure>(None)
        })?;
        self.parts = some(&kept);
        Ok(())
    }

    fn still_fails(&mut self, parts: &[Vec<u8>]) -> Result<bool, Failure> {
        let subject = self.with(parts)?;
        // A program that does not even start with this input has lost the failure.
        let Ok(trials) = Trials::start(&subject, &self.bug, &|| true) else {
            return Ok(false);
        };
        let question = Question {
            cut: Cut::default(),
            base: &self.best,
            criterion: &self.criterion,
            is_off_the_way: false,
            chances: CHANCES,
            length: Length::Longer,
            surely: true,
        };
        let mut examiner = Examiner::new(trials, &self.bug);
        let Some(run) = examiner.examine(&question)? else {
            return Ok(false);
        };
        let schedule = examiner.trials.atlas().outward(&run.run.schedule);
        drop(examiner);
        self.best = run;
        self.bug = self.bug_with(&subject.invocation, schedule);
        self.keep()?;
        Ok(true)
    }

    /// The program with a smaller input.
    fn with(&self, parts: &[Vec<u8>]) -> Result<Subject, Failure> {
        let mut subject = self.subject.clone();
        let invocation = &mut subject.invocation;
        match self.source {
            Source::Arguments => invocation.arguments = parts.to_vec(),
            Source::Stdin => invocation.input = parts.concat(),
            Source::File(path) => {
                let copies = self.copies.as_ref().ok_or_else(|| not_named(path))?;
                copies.write(&parts.concat())?;
                let new = copies.candidate().as_os_str().as_bytes();
                let named = invocation.arguments.iter_mut();
                named
                    .filter(|one| **one == path.as_os_str().as_bytes())
                    .for_each(|one| *one = new.to_vec());
            }
        }
        Ok(subject)
    }

    /// The bug as the best run shows it.
    fn bug_with(&self, invocation: &Invocation, schedule: Schedule) -> Bug {
        let run = &self.best.run;
        let lives = |path: &&ThreadPath| !path.steps().is_empty();
        Bug {
            invocation: Invocation {
                environment: self.bug.invocation.environment.clone(),
                ..invocation.clone()
            },
            schedule,
            events: run.steps.len() as u64,
            thread_count: 1 + run.threads.iter().filter(lives).count() as u32,
            reduced: None,
            provisional: None,
            simplified: None,
            ..self.bug.clone()
        }
    }

    /// Writes down the smallest so far: whatever happens next, it is there.
    fn keep(&mut self) -> Result<(), Failure> {
        write_whole(self.output, &bug_file::write(&self.bug)).map_err(|source| {
            let path = self.output.to_path_buf();
            ExploreError::File { path, source }
        })?;
        if let Some(copies) = &mut self.copies {
            copies.keep();
        }
        Ok(())
    }

    /// The bug with the smallest input that shows it, under the name that it keeps, and
    /// that name if it is a file.
    fn finish(mut self) -> Result<(Bug, Option<PathBuf>), Failure> {
        let is_elsewhere = Copies::is_under_other_name;
        if self.copies.as_ref().is_some_and(is_elsewhere) {
            let subject = self.with(&self.parts)?;
            self.bug = self.bug_with(&subject.invocation, self.bug.schedule.clone());
            self.keep()?;
        }
        let kept = self.copies.as_ref().and_then(Copies::kept);
        let file = kept.map(Path::to_path_buf);
        self.copies.iter().for_each(Copies::clean);
        Ok((self.bug, file))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_smaller_input_makes_it_the_same_bug() {
        let given = |arguments: &[&str], input: &str| Invocation {
            arguments: arguments
                .iter()
                .map(|one| one.as_bytes().to_vec())
                .collect(),
            input: input.as_bytes().to_vec(),
            ..Invocation::default()
        };
        let bug = given(&["-n", "chat", "9"], "one\ntwo\n");
        let is_its = |arguments: &[&str], input: &str| {
            is_shrunk(&given(arguments, input), &bug, Path::new("small.bohr"))
        };
        assert!(is_its(&["-n", "9"], "one\ntwo\n"));
        assert!(is_its(&["-n", "chat", "9"], "two\n"));
        assert!(is_its(&["-n", "small.input", "9"], "one\ntwo\n"));
        assert!(!is_its(&["-n", "other.input", "9"], "one\ntwo\n"));
        assert!(!is_its(&["9", "-n"], "one\ntwo\n"), "in another order");
        assert!(!is_its(&["-n", "chat", "9"], "three\n"));
        assert!(!is_its(&["-n", "chat", "9"], "one\ntwo\n"), "as it was");
    }
}
