//! A smaller input for the same failure: arguments, standard input or a file, by
//! delta debugging under the oracle that threads and iterations are left out by.
//! Every candidate is a start of the program, so one is tried at a time.

use super::criterion::Criterion;
use super::error::ReduceError;
use super::examiner::{Base, Examiner, Question};
use crate::outcome::Failure;
use bohr_event::ThreadPath;
use bohr_explore::bug_file::{Bug, Invocation};
use bohr_explore::{ExploreError, Subject, Trials};
use bohr_reduce::minimise;
use bohr_reduce::reduction::{Cut, Length};
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
    /// Bytes of input.
    pub before: u64,
    pub after: u64,
}

/// Makes the input of a bug as small as it can. A file is left as it is: its
/// smaller copy lies at `copy`, and the program is started with that.
pub fn shrink(
    bug: &Bug,
    subject: &Subject,
    source: &Source,
    copy: &Path,
    go_on: &(dyn Fn() -> bool + Sync),
) -> Result<Shrunk, Failure> {
    let whole = parts(&subject.invocation, source)?;
    let (base, criterion) = beginning(bug, subject)?;
    let mut shrinking = Shrinking {
        bug,
        subject,
        source,
        copy,
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
    Ok(Shrunk {
        before,
        after,
        bug: match after < before {
            true => shrinking.finish()?,
            false => bug.clone(),
        },
    })
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
                let path = path.clone();
                return Err(ReduceError::NotNamed { path }.into());
            }
            let read = std::fs::read(path);
            let read = read.map_err(|source| ExploreError::File {
                path: path.clone(),
                source,
            })?;
            lines(&read)
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
    bug: &'s Bug,
    subject: &'s Subject,
    source: &'s Source,
    copy: &'s Path,
    /// The failing run with the parts that are left.
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
        let Ok(trials) = Trials::start(&subject, self.bug, &|| true) else {
            return Ok(false);
        };
        let question = Question {
            cut: Cut::default(),
            base: &self.best,
            criterion: &self.criterion,
            chances: CHANCES,
            length: Length::Longer,
            surely: true,
        };
        let found = Examiner::new(trials, self.bug).examine(&question)?;
        Ok(found.map(|run| self.best = run).is_some())
    }

    /// The program with a smaller input.
    fn with(&self, parts: &[Vec<u8>]) -> Result<Subject, Failure> {
        let mut subject = self.subject.clone();
        let invocation = &mut subject.invocation;
        match self.source {
            Source::Arguments => invocation.arguments = parts.to_vec(),
            Source::Stdin => invocation.input = parts.concat(),
            Source::File(path) => {
                write(self.copy, &parts.concat())?;
                let (old, new) = (path.as_os_str(), self.copy.as_os_str().as_bytes());
                let named = invocation.arguments.iter_mut();
                named
                    .filter(|one| **one == old.as_bytes())
                    .for_each(|one| *one = new.to_vec());
            }
        }
        Ok(subject)
    }

    /// The bug with the smallest input that shows it.
    fn finish(self) -> Result<Bug, Failure> {
        let subject = self.with(&self.parts)?;
        let trials = Trials::start(&subject, self.bug, &|| true)?;
        let run = &self.best.run;
        let lives = |path: &&ThreadPath| !path.steps().is_empty();
        Ok(Bug {
            invocation: Invocation {
                environment: self.bug.invocation.environment.clone(),
                ..subject.invocation.clone()
            },
            schedule: trials.atlas().outward(&run.schedule),
            events: run.steps.len() as u64,
            thread_count: 1 + run.threads.iter().filter(lives).count() as u32,
            reduced: None,
            provisional: None,
            simplified: None,
            ..self.bug.clone()
        })
    }
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), ExploreError> {
    std::fs::write(path, bytes).map_err(|source| ExploreError::File {
        path: path.to_path_buf(),
        source,
    })
}
