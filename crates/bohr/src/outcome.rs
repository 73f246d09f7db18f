//! How a command ends: an exit code, or an error that says whose fault it is
//! and what to try next.

use crate::control::interruption;
use bohr_event::Diagnosis;
use bohr_explore::ExploreError;
use std::error::Error;
use std::process::ExitCode;
use std::sync::atomic::Ordering;

/// What every command returns.
pub type Outcome = Result<ExitCode, Failure>;

/// Any crate's error.
#[derive(Debug)]
pub struct Failure(Box<dyn Diagnosis + Send>);

impl Failure {
    /// The error, if it is of this type.
    pub fn of<E: Error + 'static>(&self) -> Option<&E> {
        let error: &(dyn Error + 'static) = self.0.as_ref();
        error.downcast_ref()
    }

    /// Whether somebody, or the clock, asked for the end.
    pub fn is_interruption(&self) -> bool {
        self.of().is_some_and(ExploreError::is_interruption)
    }
}

impl<E: Diagnosis + Send + 'static> From<E> for Failure {
    fn from(error: E) -> Failure {
        Failure(Box::new(error))
    }
}

/// The one exit code of every command that could not do its work. Scripts need
/// to tell "found a bug" (1) from "did not look" (2); whose fault it was is for
/// people, and stands in the message.
const COULD_NOT: u8 = 2;

/// The exit code of a command that was interrupted before it had a result, as shells
/// give it for Ctrl-C.
pub const EXIT_INTERRUPTED: u8 = 130;

/// Reports a failure on standard error and gives the process's exit code.
pub fn finish(outcome: Outcome) -> ExitCode {
    match outcome {
        Ok(code) => code,
        Err(failure) => {
            eprintln!("{}", describe(failure.0.as_ref()));
            let interrupted = interruption().load(Ordering::Relaxed);
            ExitCode::from(match interrupted && failure.is_interruption() {
                true => EXIT_INTERRUPTED,
                false => COULD_NOT,
            })
        }
    }
}

fn describe(error: &dyn Diagnosis) -> String {
    let mut text = format!("bohr: {}: {error}", error.fault());
    let mut cause: Option<&dyn Error> = error.source();
    while let Some(error) = cause {
        text.push_str(&format!("\n  because: {error}"));
        cause = error.source();
    }
    if let Some(help) = error.help() {
        text.push_str(&format!("\n  help: {help}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use bohr_event::Fault;
    use std::fmt;

    #[derive(Debug)]
    struct Inner;
    #[derive(Debug)]
    struct Outer(Inner);

    impl fmt::Display for Inner {
        fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
            out.write_str("no space left")
        }
    }
    impl fmt::Display for Outer {
        fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
            out.write_str("cannot write the bundle")
        }
    }
    impl Error for Inner {}
    impl Error for Outer {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(&self.0)
        }
    }
    impl Diagnosis for Outer {
        fn fault(&self) -> Fault {
            Fault::Input
        }
        fn help(&self) -> Option<String> {
            Some("make room".into())
        }
    }

    #[test]
    fn a_failure_names_cause_and_next_step() {
        assert_eq!(
            describe(&Outer(Inner)),
            "bohr: error: cannot write the bundle\n  because: no space left\n  help: make room"
        );
    }
}
