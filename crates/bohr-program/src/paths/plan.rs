//! Which functions and calls write what.

use super::{Choice, width};
use crate::attribute::FunctionFlags;
use crate::constant::{ConstantExpression, ConstantValue};
use crate::external::{self, External, Facts};
use crate::function::{Body, Call, Function};
use crate::ids::{ConstantNumber, FunctionNumber};
use crate::program::Program;
use cranelift_entity::{EntitySet, SecondaryMap};
use std::collections::BTreeSet;

/// Functions behind which another process may go on, which writes elsewhere: it
/// has to look where.
const SPLITS: [&str; 5] = ["fork", "_Fork", "__fork", "forkpty", "daemon"];

/// What a call can lead to, as far as the log is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Calling {
    /// Code outside that neither calls back nor unwinds, or assembly.
    Quiet,
    /// This function of the program.
    Named(FunctionNumber),
    /// Any functions of the program that announce themselves, or none; then a
    /// return, an exception that lands somewhere, or the end.
    Open,
    /// Like an open call, but it may return more than once: its returns land.
    Twice,
}

/// The plan of a whole program.
#[derive(Clone, Debug)]
pub struct Paths {
    announces: EntitySet<FunctionNumber>,
    /// Those of them that have a function in front of them which does.
    apart: EntitySet<FunctionNumber>,
    logs: EntitySet<FunctionNumber>,
    function_bits: u32,
}

impl Paths {
    /// The plan of a program.
    #[must_use]
    pub fn of(program: &Program) -> Paths {
        let mut announces = EntitySet::new();
        for (number, function) in program.functions.iter() {
            if is_logged(program, function) && (function.address_taken || function.exported) {
                announces.insert(number);
            }
        }
        for alias in program.aliases.values() {
            if let Some(function) = named(program, alias.target) {
                announces.insert(function);
            }
        }
        let inside = program.constants.values().filter_map(|constant| {
            // What holds the address of a block refers to the function itself.
            let ConstantValue::Block(function, _) = constant.value else {
                return None;
            };
            Some(function)
        });
        let inside: BTreeSet<FunctionNumber> = inside.collect();
        let mut apart = EntitySet::new();
        for (number, _, _) in program.bodies() {
            if announces.contains(number) && !inside.contains(&number) {
                apart.insert(number);
            }
        }
        let mut paths = Paths {
            announces,
            apart,
            logs: EntitySet::new(),
            function_bits: width(program.bodies().count()),
        };
        paths.find_logging(program);
        paths
    }

    /// What every caller of a function that writes does, writes as well.
    fn find_logging(&mut self, program: &Program) {
        let mut callers: SecondaryMap<FunctionNumber, Vec<FunctionNumber>> = SecondaryMap::new();
        let mut found = Vec::new();
        for (number, function, body) in program.bodies() {
            let mut writes = self.announces_itself(number) || has_choice(program, body);
            for call in body.calls.values() {
                match self.calling(program, call) {
                    Calling::Quiet => {}
                    Calling::Named(callee) => callers[callee].push(number),
                    Calling::Open | Calling::Twice => writes = true,
                }
            }
            if writes && is_logged(program, function) {
                found.push(number);
            }
        }
        while let Some(function) = found.pop() {
            if self.logs.insert(function) {
                found.extend(&callers[function]);
            }
        }
    }

    /// What a call can lead to.
    #[must_use]
    pub fn calling(&self, program: &Program, call: &Call) -> Calling {
        let promised = program.promises(call);
        if promised.contains(FunctionFlags::RETURNS_TWICE) {
            return Calling::Twice;
        }
        let callee = call.callee.constant();
        match callee.map(|constant| &program.constants[constant].value) {
            Some(ConstantValue::Assembly(_)) => Calling::Quiet,
            Some(ConstantValue::Function(function)) => {
                let facts = &program.functions[*function];
                let name = &program.texts[facts.name];
                if is_logged(program, facts) {
                    Calling::Named(*function)
                } else if facts.body.is_none() && is_quiet(name, promised) {
                    Calling::Quiet
                } else {
                    Calling::Open
                }
            }
            _ => Calling::Open,
        }
    }

    /// Whether a call can write anything, so that whoever makes it has to look
    /// again afterwards.
    #[must_use]
    pub fn writes(&self, calling: Calling) -> bool {
        match calling {
            Calling::Quiet => false,
            Calling::Named(callee) => self.logs(callee),
            Calling::Open | Calling::Twice => true,
        }
    }

    /// Whether a function is announced when others than named calls enter it.
    #[must_use]
    pub fn announces(&self, function: FunctionNumber) -> bool {
        self.announces.contains(function)
    }

    /// Whether the announcement is a function of its own, in front of this one, which
    /// calls by name pass by.
    #[must_use]
    pub fn is_apart(&self, function: FunctionNumber) -> bool {
        self.apart.contains(function)
    }

    /// Whether a function announces itself, whoever enters it.
    #[must_use]
    pub fn announces_itself(&self, function: FunctionNumber) -> bool {
        self.announces(function) && !self.is_apart(function)
    }

    /// Whether a function writes anything, itself or by what it calls.
    #[must_use]
    pub fn logs(&self, function: FunctionNumber) -> bool {
        self.logs.contains(function)
    }

    /// The width of a function's number.
    #[must_use]
    pub fn function_bits(&self) -> u32 {
        self.function_bits
    }
}

fn has_choice(program: &Program, body: &Body) -> bool {
    body.blocks
        .keys()
        .any(|block| Choice::of(program, body, block).bits() > 0)
}

/// Whether a function has code that can write: assembly in a function without a
/// prologue cannot.
fn is_logged(program: &Program, function: &Function) -> bool {
    let flags = program.attributes[function.attributes].flags;
    function.body.is_some() && !flags.contains(FunctionFlags::NAKED)
}

/// Whether a declared function surely neither calls back nor unwinds.
fn is_quiet(name: &str, promised: FunctionFlags) -> bool {
    let loud = Facts::UNWINDS | Facts::LOADS_CODE | Facts::NO_RETURN;
    let by_table = |known: &External| !known.calls_back() && !known.facts.intersects(loud);
    let promise = FunctionFlags::NO_CALLBACK | FunctionFlags::NO_UNWIND;
    if SPLITS.contains(&name) {
        return false;
    }
    name.starts_with("llvm.")
        || external::find(name).map_or_else(|| promised.contains(promise), by_table)
}

/// The function that a constant is, or points into.
fn named(program: &Program, constant: ConstantNumber) -> Option<FunctionNumber> {
    match &program.constants[constant].value {
        ConstantValue::Function(function) => Some(*function),
        ConstantValue::Expression(ConstantExpression::ElementPointer { base, .. }) => {
            named(program, *base)
        }
        _ => None,
    }
}
