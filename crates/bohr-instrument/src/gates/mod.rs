//! Puts the gates of a program into its module. Which there are, and how what
//! they leave out is gone around, the model has decided (`bohr_program::Gates`);
//! here it becomes code. A gate asks only if the module's flag byte says so.

mod block;
mod body;
pub(crate) mod call;
mod iteration;
mod numbered;
pub(crate) mod phi;
pub(crate) mod question;

pub use numbered::{Numbered, NumberedFunction};
pub(crate) use phi::users_of;

use bohr_program::{Gates, LeavesOut, Program, SkippableCall};
use inkwell::context::Context;
use inkwell::module::Module;
use question::Questions;
use serde::Serialize;

/// A gate in a profile's report; its number is its position there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReportedGate {
    /// What it can leave out.
    pub kind: GateKind,
    /// Its name in every build: the function's id and which gate of it.
    pub id: String,
    /// Linkage name of the function.
    pub name: String,
    /// `file:line` of a loop or block, if the debug information tells.
    pub place: Option<String>,
}

/// What a gate can leave out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum GateKind {
    /// The body of a thread, at the entry of the function.
    Body,
    /// A pass through a block that its author has marked.
    Block,
    /// An iteration of a loop.
    Iteration,
    /// A call.
    Call,
}

/// A thread body in a profile's report that could not be given a gate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Ungated {
    /// Linkage name of the function.
    pub name: String,
    /// Why.
    pub reason: String,
}

/// Adds the code of all gates. `numbered` is the module as it was lowered.
///
/// # Errors
/// With LLVM's words, which would be our bug.
pub fn insert<'ctx>(
    context: &'ctx Context,
    module: &Module<'ctx>,
    mut numbered: Numbered,
    gates: &Gates,
    calls: &[SkippableCall],
) -> Result<(), String> {
    let questions = Questions::add_to(context, module)?;
    for (number, gate) in &gates.gates {
        let function = numbered.function(gate.function);
        let ask = questions.of(number);
        match &gate.leaves_out {
            LeavesOut::Body(neutral) => body::insert(context, function, *neutral, &ask),
            LeavesOut::Iteration {
                shape, shortcut, ..
            } => iteration::insert(context, function, shape, shortcut, &ask),
            // Last: it removes instructions that numbers stand for.
            LeavesOut::Block { .. } => {}
        }
    }
    for shut in &gates.shut {
        body::insert_shut(context, numbered.function(shut.function), &questions);
    }
    for (number, gate) in &gates.gates {
        if let LeavesOut::Block { marks } = &gate.leaves_out {
            for (function, mark) in marks {
                let mark = numbered.function(*function).instruction(*mark);
                block::insert(context, mark, &questions.of(number));
            }
        }
    }
    // They take blocks apart.
    for (number, one) in (0..).zip(calls) {
        let call = numbered.function(one.function).instruction(one.call);
        call::insert(context, call, &questions.of_call(number));
    }
    Ok(())
}

/// The gates of calls as a report tells of them.
#[must_use]
pub fn reported_calls(program: &Program, calls: &[SkippableCall]) -> Vec<ReportedGate> {
    let name = |function| &program.texts[program.functions[function].name];
    let reported = calls.iter().map(|one| {
        let body = program.functions[one.function].body.as_ref();
        let location = body.and_then(|body| body.instructions[one.call].location.expand());
        ReportedGate {
            kind: GateKind::Call,
            id: format!("{}/{}", program.functions[one.function].id, one.call),
            name: name(one.callee).to_owned(),
            place: location.map(|location| program.line(location)),
        }
    });
    reported.collect()
}

/// The gates as a report tells of them.
#[must_use]
pub fn reported(program: &Program, gates: &Gates) -> (Vec<ReportedGate>, Vec<Ungated>) {
    let name = |function| program.texts[program.functions[function].name].to_owned();
    let found = gates.gates.values().map(|gate| ReportedGate {
        kind: match gate.leaves_out {
            LeavesOut::Body(_) => GateKind::Body,
            LeavesOut::Iteration { .. } => GateKind::Iteration,
            LeavesOut::Block { .. } => GateKind::Block,
        },
        id: gate.id(program),
        name: name(gate.function),
        place: gate
            .location(program)
            .map(|location| program.line(location)),
    });
    let shut = gates.shut.iter().map(|shut| Ungated {
        name: name(shut.function),
        reason: shut.reason.to_string(),
    });
    (found.collect(), shut.collect())
}
