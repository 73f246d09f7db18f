//! What a run leaves out: `--without-thread` and `--without-iteration`, and what
//! came of them.

use bohr_event::control::{Detail, GateReference, Omissions, OmittedPasses};
use bohr_event::{Diagnosis, Fault, ThreadPath};
use bohr_explore::Subject;
use bohr_explore::bug_file::ControlMode;
use std::str::FromStr;

/// Parts of an execution that do not happen.
#[derive(clap::Args)]
pub struct OmissionArgs {
    /// Leave out the body of a thread (0:2 is the second that main creates).
    #[arg(long, value_name = "THREAD")]
    without_thread: Vec<ThreadPath>,
    /// Leave out iterations of a loop, passes through a marked block or stores: the
    /// number of the gate as `bohr inspect --gates` (of stores, `--sites`) lists it, the thread, and which passes
    /// of the thread, counted from 0; `9-` means all from 9 on. Example:
    /// 3@0:2=0,4-7,9-
    #[arg(long, value_name = "GATE@THREAD=NUMBERS")]
    without_iteration: Vec<PassesArgument>,
}

/// `GATE@THREAD=NUMBERS`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct PassesArgument {
    gate: u32,
    thread: ThreadPath,
    numbers: Vec<u64>,
    beyond: Option<u64>,
}

/// At most so many numbers in one argument: ranges are written out.
const MOST_NUMBERS: usize = 1 << 20;

impl FromStr for PassesArgument {
    type Err = String;

    fn from_str(text: &str) -> Result<PassesArgument, String> {
        let form = "expected GATE@THREAD=NUMBERS, such as 3@0:2=0,4-7";
        let (gate, rest) = text.split_once('@').ok_or(form)?;
        let (thread, numbers) = rest.split_once('=').ok_or(form)?;
        let (mut listed, mut beyond) = (Vec::new(), None);
        for part in numbers.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let number = |word: &str| word.trim().parse::<u64>().map_err(|_| form.to_owned());
            if last.is_empty() && !first.is_empty() {
                let first = number(first)?;
                beyond = Some(beyond.map_or(first, |other: u64| other.min(first)));
                continue;
            }
            let (first, last) = (number(first)?, number(last)?);
            if last.saturating_sub(first) >= (MOST_NUMBERS - listed.len()) as u64 {
                return Err(format!("more than {MOST_NUMBERS} numbers"));
            }
            listed.extend(first..=last);
        }
        listed.sort_unstable();
        listed.dedup();
        Ok(PassesArgument {
            gate: gate.trim().parse().map_err(|_| form)?,
            thread: thread.parse().map_err(|error| format!("{error}"))?,
            numbers: listed,
            beyond,
        })
    }
}

/// Why nothing can be left out.
#[derive(Debug, thiserror::Error)]
pub enum OmissionError {
    #[error("only programs that were built with bohr have gates to leave something out")]
    NoGates,
    #[error("the main thread cannot be left out")]
    MainThread,
}

impl Diagnosis for OmissionError {
    fn fault(&self) -> Fault {
        Fault::Input
    }

    fn help(&self) -> Option<String> {
        Some(match self {
            OmissionError::NoGates => {
                "build it with `bohr cc`, `bohr c++` or `bohr cargo`".to_owned()
            }
            OmissionError::MainThread => {
                "--without-thread 0:1 leaves out the first thread that it creates".to_owned()
            }
        })
    }
}

impl OmissionArgs {
    /// Whether anything is to be left out.
    pub fn is_any(&self) -> bool {
        !self.without_thread.is_empty() || !self.without_iteration.is_empty()
    }

    /// What a job leaves out.
    pub fn omissions(&self, subject: &Subject) -> Result<Omissions, OmissionError> {
        if self.without_thread.is_empty() && self.without_iteration.is_empty() {
            return Ok(Omissions::default());
        }
        let ControlMode::Accesses {
            bundle: program, ..
        } = subject.target.identity.mode
        else {
            return Err(OmissionError::NoGates);
        };
        if self.without_thread.contains(&ThreadPath::MAIN) {
            return Err(OmissionError::MainThread);
        }
        let iterations = self.without_iteration.iter().map(|one| OmittedPasses {
            gate: GateReference {
                program,
                number: one.gate,
            },
            thread: one.thread.clone(),
            numbers: one.numbers.clone(),
            beyond: one.beyond,
            children: 0,
        });
        Ok(Omissions {
            threads: self.without_thread.clone(),
            iterations: iterations.collect(),
            count: false,
        })
    }

    /// What came of it, one line each.
    pub fn describe(&self, detail: &Detail) -> Vec<String> {
        let path = |thread: bohr_event::ThreadIndex| detail.threads.get(thread.0 as usize);
        let threads = self.without_thread.iter().map(|wanted| {
            match detail
                .left_out
                .iter()
                .any(|&thread| path(thread) == Some(wanted))
            {
                true => format!("thread {wanted} ran without its body"),
                false if detail.threads.contains(wanted) => {
                    format!("thread {wanted} could not be left out: its body has no gate")
                }
                false => format!("there was no thread {wanted}"),
            }
        });
        let iterations = self.without_iteration.iter().map(|wanted| {
            let passes = detail.passes.iter().find(|one| {
                one.gate.number == wanted.gate && path(one.thread) == Some(&wanted.thread)
            });
            let (count, left_out) = passes.map_or((0, 0), |one| (one.count, one.left_out));
            let (thread, gate) = (&wanted.thread, wanted.gate);
            format!("thread {thread} came by gate {gate} {count} times, {left_out} left out")
        });
        threads.chain(iterations).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_are_listed_once_and_in_order() {
        let passes: PassesArgument = "3@0:2=7,0,5-8".parse().unwrap();
        assert_eq!(
            (passes.gate, passes.thread.to_string()),
            (3, "0:2".to_owned())
        );
        assert_eq!(passes.numbers, [0, 5, 6, 7, 8]);
        assert_eq!(passes.beyond, None);
        let passes: PassesArgument = "3@0:2=1,12-,20-".parse().unwrap();
        assert_eq!((passes.numbers, passes.beyond), (vec![1], Some(12)));
        for wrong in [
            "3",
            "3@0:2",
            "3@0:0=1",
            "x@0=1",
            "3@0=",
            "3@0=1-x",
            "3@0=0-99999999999",
        ] {
            assert!(wrong.parse::<PassesArgument>().is_err(), "{wrong}");
        }
    }
}
