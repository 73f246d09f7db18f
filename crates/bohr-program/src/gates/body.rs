//! Bodies of threads, and which of them can be left out.
//!
//! A removed thread runs the shell that its library put around it, but not the
//! user's body: without the shell, `join` panics in Rust and `get` waits for
//! ever in C++. Bodies are
//!
//! - functions that a call hands to `pthread_create`, `thrd_create` and their
//!   like, and, if some call hands over a pointer, every function with such a
//!   signature whose address is taken;
//! - `std::thread::_State_impl<…>::_M_run` of libstdc++, except where it runs a
//!   task of `std::async`: there the task itself, which sets the result;
//! - `__rust_begin_short_backtrace` of Rust, which is never inlined. The shell
//!   uses it once itself, before the body, which only debug information tells.
//!
//! Leaving out a body is to return at once, so its result needs a neutral value
//! ([`super::neutral`]). What a Rust closure would have dropped at its end is
//! not dropped ([`super::Gate::forgets`]): the code that would do so is part of
//! the closure, and how the closure is passed is only known to rustc.

use super::neutral;
use crate::attribute::FunctionFlags;
use crate::constant::ConstantValue;
use crate::external;
use crate::ids::FunctionNumber;
use crate::instruction::Value;
use crate::program::Program;
use crate::types::Type;
use std::collections::BTreeSet;
use std::fmt;

/// What the linkage name of a Rust thread's body has in it.
const RUST_BODY: &str = "__rust_begin_short_backtrace";

/// What a body returns when it is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Neutral {
    /// Nothing.
    Nothing,
    /// Null, or zero.
    Zero,
    /// The result object of a task of libstdc++, which the function gets by its
    /// second argument and hands over by its first, with so many bytes of its
    /// value set to zero.
    Task {
        /// How many.
        bytes: u8,
    },
}

/// Why a thread's body has no gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shut {
    /// It does not return, so nothing expects a result.
    NoReturn,
    /// It is assembly.
    Assembly,
    /// It returns a value of this type, for which there is no neutral one.
    Value(String),
    /// It returns a value, and nothing tells its type.
    UnknownValue,
    /// Whoever waits for the task needs a result of a class.
    TaskOfClass,
    /// A library runs it that is known for waiting for such a result.
    OtherLibrary,
}

impl fmt::Display for Shut {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Shut::NoReturn => out.write_str("it never returns"),
            Shut::Assembly => out.write_str("it is assembly"),
            Shut::Value(of) => write!(
                out,
                "it returns a value of type {of}, which has no neutral one"
            ),
            Shut::UnknownValue => out
                .write_str("it returns a value whose type only full debug information would tell"),
            Shut::TaskOfClass => out.write_str(
                "a task of std::async whose result is not a number, a pointer or nothing",
            ),
            Shut::OtherLibrary => {
                out.write_str("a task of libc++'s std::async: whoever waits for it needs a result")
            }
        }
    }
}

/// What a program hands to functions that start threads.
pub(super) struct Started {
    routines: BTreeSet<FunctionNumber>,
    /// Whether some routine is only known when the program runs.
    through_pointer: bool,
}

impl Started {
    /// Looks at every call that starts a thread.
    pub(super) fn by(program: &Program) -> Started {
        let mut started = Started {
            routines: BTreeSet::new(),
            through_pointer: false,
        };
        for (_, _, body) in program.bodies() {
            for number in body.instructions.keys() {
                let Some(call) = body.call_at(number) else {
                    continue;
                };
                let callee = body.named_callee(program, number);
                let routine = callee
                    .filter(|callee| program.functions[*callee].body.is_none())
                    .and_then(|callee| {
                        external::find(&program.texts[program.functions[callee].name])
                    })
                    .and_then(external::External::thread)
                    .and_then(|(routine, _)| body.arguments(call).get(usize::from(routine.0)));
                if let Some(&routine) = routine {
                    match named(program, routine) {
                        Some(function) => {
                            started.routines.insert(function);
                        }
                        None => started.through_pointer = true,
                    }
                }
            }
        }
        started
    }

    /// Whether a function is a thread's body; if it is, whether it can be left out.
    pub(super) fn judge(
        &self,
        program: &Program,
        function: FunctionNumber,
    ) -> Option<Result<Neutral, Shut>> {
        let name = &program.texts[program.functions[function].name];
        let kind = self.kind(program, function, name)?;
        let flags = program.attributes[program.functions[function].attributes].flags;
        if flags.contains(FunctionFlags::NAKED) {
            return Some(Err(Shut::Assembly));
        }
        if flags.contains(FunctionFlags::NO_RETURN) && kind == Kind::Rust {
            return Some(Err(Shut::NoReturn));
        }
        Some(match kind {
            Kind::Routine => neutral::of_routine(program, function),
            Kind::Rust => neutral::of_rust(program, function),
            Kind::Task => neutral::of_task(name),
            Kind::OtherTask => Err(Shut::OtherLibrary),
        })
    }

    fn kind(&self, program: &Program, function: FunctionNumber, name: &str) -> Option<Kind> {
        let is_run = name.ends_with("6_M_runEv");
        if name.contains(RUST_BODY) {
            (!neutral::is_rust_shell(program, function)).then_some(Kind::Rust)
        } else if name.contains("12_Task_setterI") && name.contains("9_M_invokeERKSt9_Any_data") {
            Some(Kind::Task)
        } else if is_run && name.starts_with("_ZNSt6thread11_State_impl") {
            (!name.contains("17_Async_state_impl")).then_some(Kind::Routine)
        } else if !self.is_routine(program, function) {
            None
        } else if name.contains("__async_assoc_state") {
            Some(Kind::OtherTask)
        } else {
            // The shell that Rust's library puts around a body is a routine too.
            let is_shell = name.contains("3std") && name.contains("thread_start");
            (!is_shell).then_some(Kind::Routine)
        }
    }

    fn is_routine(&self, program: &Program, function: FunctionNumber) -> bool {
        let facts = &program.functions[function];
        self.routines.contains(&function)
            || self.through_pointer && facts.address_taken && has_signature(program, function)
    }
}

/// Whether a function is the body of a Rust thread whose closure holds something.
pub(super) fn is_given(program: &Program, function: FunctionNumber) -> bool {
    let facts = &program.functions[function];
    let signature = &program.types[facts.signature];
    program.texts[facts.name].contains(RUST_BODY)
        && matches!(signature, Type::Function { parameters, .. } if !parameters.is_empty())
        && !neutral::is_rust_function(program, function)
}

/// What kind of thing around it runs a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Takes a pointer, and gives a pointer, a number or nothing.
    Routine,
    Rust,
    Task,
    OtherTask,
}

/// Whether a function takes a pointer and returns a pointer or a number.
fn has_signature(program: &Program, function: FunctionNumber) -> bool {
    let Type::Function {
        result, parameters, ..
    } = &program.types[program.functions[function].signature]
    else {
        return false;
    };
    matches!(parameters[..], [only] if matches!(program.types[only], Type::Pointer(_)))
        && !matches!(program.types[*result], Type::Void)
}

fn named(program: &Program, value: Value) -> Option<FunctionNumber> {
    let mut constant = value.constant()?;
    loop {
        match program.constants[constant].value {
            ConstantValue::Function(function) => return Some(function),
            ConstantValue::Alias(alias) if !program.aliases[alias].indirect => {
                constant = program.aliases[alias].target;
            }
            _ => return None,
        }
    }
}
