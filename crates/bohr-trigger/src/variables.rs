//! The variables that sites are about, as far as these are global: threads at different
//! ones are never at the same object.

use crate::error::PlaceError;
use crate::expression::Expression;
use bohr_event::EventKind;
use bohr_event::breakpoint::Breakpoint;
use bohr_program::{
    ConstantNumber, ConstantValue, GlobalNumber, Operand, Operation, Program, SiteNumber,
};
use cranelift_entity::EntityRef;
use std::collections::BTreeSet;

/// Refuses a breakpoint that asks for the same object where two sides are about
/// variables of which none is the same.
///
/// # Errors
/// If there are such sides.
pub fn find_never_same(
    program: &Program,
    expression: &Expression,
    breakpoint: &Breakpoint,
) -> Result<(), PlaceError> {
    if !breakpoint.same_object {
        return Ok(());
    }
    let sides = breakpoint.sides.iter();
    let about: Vec<Option<BTreeSet<GlobalNumber>>> =
        sides.map(|side| variables(program, &side.sites)).collect();
    for (number, one) in about.iter().enumerate() {
        for (further, other) in about.iter().enumerate().skip(number + 1) {
            let (Some(one), Some(other)) = (one, other) else {
                continue;
            };
            if one.is_disjoint(other) {
                return Err(PlaceError::NeverSame {
                    one: expression.sides[number].at.to_string(),
                    other: expression.sides[further].at.to_string(),
                    about: [names(program, one), names(program, other)],
                });
            }
        }
    }
    Ok(())
}

/// What all of these sites are about; `None` if that is not known of one of them.
fn variables(program: &Program, sites: &[u32]) -> Option<BTreeSet<GlobalNumber>> {
    sites.iter().map(|site| variable(program, *site)).collect()
}

fn variable(program: &Program, site: u32) -> Option<GlobalNumber> {
    let site = program.site(SiteNumber::new(site as usize))?;
    let body = program.functions[site.function].body.as_ref()?;
    let operation = &body.instructions[site.instruction].operation;
    let address = match operation {
        Operation::Load { address, .. }
        | Operation::Store { address, .. }
        | Operation::Update { address, .. }
        | Operation::CompareExchange { address, .. } => *address,
        _ => {
            use EventKind::{Acquire, AcquireShared, Broadcast, Release, ReleaseShared, Signal};
            let kinds = [
                Acquire,
                AcquireShared,
                Release,
                ReleaseShared,
                Signal,
                Broadcast,
            ];
            let call = body.call_at(site.instruction);
            let call = call.filter(|_| kinds.contains(&site.kind()))?;
            *body.values.get(call.arguments).first()?
        }
    };
    match address.operand() {
        Operand::Constant(constant) => global(program, constant),
        Operand::Instruction(_) | Operand::Argument(_) => None,
    }
}

/// The variable that an address is, or lies in.
fn global(program: &Program, constant: ConstantNumber) -> Option<GlobalNumber> {
    match &program.constants[constant].value {
        ConstantValue::Global(global) => Some(*global),
        other => global(program, *other.parts().first()?),
    }
}

fn names(program: &Program, globals: &BTreeSet<GlobalNumber>) -> String {
    let names = globals.iter().map(|global| {
        let name = &program.texts[program.globals[*global].name];
        format!("`{name}`")
    });
    names.collect::<Vec<_>>().join(", ")
}
