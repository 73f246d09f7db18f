//! What a thread's body can return without having run.
//!
//! In C, null and zero are values like others. In Rust, zero is a value of
//! numbers, `bool`, `char` and raw pointers, but a `Box` or a `NonZero` of zero
//! would be undefined behaviour, and linkage names do not tell types; the debug
//! information does, in the name `__rust_begin_short_backtrace<Body, Result>`.
//! A task of libstdc++ sets its result in an object that its future owns.

use super::body::{Neutral, Shut};
use crate::attribute::ParameterFlags;
use crate::ids::{FunctionNumber, TypeNumber};
use crate::program::Program;
use crate::types::Type;

/// Of a function that a thread starts with.
pub(super) fn of_routine(program: &Program, function: FunctionNumber) -> Result<Neutral, Shut> {
    match result_type(program, function) {
        Some(Type::Void) => Ok(Neutral::Nothing),
        Some(Type::Pointer(_) | Type::Integer(_)) => Ok(Neutral::Zero),
        _ => Err(Shut::UnknownValue),
    }
}

/// Of a Rust closure, as the function around it returns it.
pub(super) fn of_rust(program: &Program, function: FunctionNumber) -> Result<Neutral, Shut> {
    let of = source_type(program, function);
    let shut = || match &of {
        Some(of) => Shut::Value(of.clone()),
        None => Shut::UnknownValue,
    };
    if writes_result(program, function) {
        return Err(shut());
    }
    match result_type(program, function) {
        Some(Type::Void) => Ok(Neutral::Nothing),
        Some(Type::Pointer(_) | Type::Integer(_) | Type::Float(_))
            if of.as_deref().is_some_and(has_zero) =>
        {
            Ok(Neutral::Zero)
        }
        _ => Err(shut()),
    }
}

/// Of a task of libstdc++, by the name of what runs it: the result type stands
/// behind `_Result<`.
///
/// ```text
/// …12_Task_setterIS0_INS1_7_ResultIiEES3_E…     int
/// ```
pub(super) fn of_task(name: &str) -> Result<Neutral, Shut> {
    let of = name.split_once("7_ResultI").map_or("", |(_, rest)| rest);
    let bytes = match of.as_bytes() {
        [b'P', ..] => 8,
        [builtin, b'E', ..] => match builtin {
            b'v' => 0,
            b'b' | b'c' | b'a' | b'h' => 1,
            b's' | b't' => 2,
            b'i' | b'j' | b'f' | b'w' => 4,
            b'l' | b'm' | b'x' | b'y' | b'd' => 8,
            b'n' | b'o' | b'e' | b'g' => 16,
            _ => return Err(Shut::TaskOfClass),
        },
        _ => return Err(Shut::TaskOfClass),
    };
    Ok(Neutral::Task { bytes })
}

fn result_type(program: &Program, function: FunctionNumber) -> Option<&Type> {
    match &program.types[program.functions[function].signature] {
        Type::Function { result, .. } => Some(&program.types[*result as TypeNumber]),
        _ => None,
    }
}

/// Whether the caller provides the room for the result. Optimisation may drop
/// the attribute that says so, but not that nobody reads it after unwinding.
fn writes_result(program: &Program, function: FunctionNumber) -> bool {
    let attributes = &program.attributes[program.functions[function].attributes];
    attributes.parameters.iter().any(|parameter| {
        parameter.struct_return.is_some()
            || parameter.flags.contains(ParameterFlags::DEAD_ON_UNWIND)
    })
}

/// The types in `name<Body, Result>` of a function's own code.
fn source_types(program: &Program, function: FunctionNumber) -> Option<&str> {
    let body = program.functions[function].body.as_ref()?;
    let location = body
        .instructions
        .values()
        .find_map(|one| one.location.expand())?;
    let mut location = &program.locations[location];
    while let Some(outer) = location.inlined_at.expand() {
        location = &program.locations[outer];
    }
    let name = &program.texts[program.scopes[location.scope].name];
    name.strip_prefix("__rust_begin_short_backtrace<")?
        .strip_suffix('>')
}

/// The result's type, as the debug information names it.
fn source_type(program: &Program, function: FunctionNumber) -> Option<String> {
    Some(last_of_list(source_types(program, function)?).to_owned())
}

/// Whether what looks like a body is known to be a part of Rust's own shell.
pub(super) fn is_rust_shell(program: &Program, function: FunctionNumber) -> bool {
    source_types(program, function).is_some_and(|types| types.starts_with("std::thread::"))
}

/// Whether a body is known to be a function, which holds nothing.
pub(super) fn is_rust_function(program: &Program, function: FunctionNumber) -> bool {
    source_types(program, function).is_some_and(|types| types.starts_with("fn("))
}

/// The last of types that commas separate, whatever their own brackets hold.
fn last_of_list(types: &str) -> &str {
    let mut depth = 0_i32;
    let before = |character: char| {
        match character {
            '>' | ')' | ']' | '}' => depth += 1,
            '<' | '(' | '[' | '{' => depth -= 1,
            _ => {}
        }
        character == ',' && depth == 0
    };
    let mut before = before;
    let comma = types.char_indices().rev().find(|(_, one)| before(*one));
    comma.map_or(types, |(at, _)| &types[at + 1..]).trim()
}

/// Whether all bits zero are a value of a Rust type that owns nothing.
fn has_zero(of: &str) -> bool {
    const PLAIN: &[&str] = &[
        "()", "bool", "char", "f32", "f64", "i8", "i16", "i32", "i64", "i128", "isize", "u8",
        "u16", "u32", "u64", "u128", "usize",
    ];
    PLAIN.contains(&of) || of.starts_with("*const ") || of.starts_with("*mut ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_result_is_the_last_type() {
        for (types, last) in [
            ("a::main::{closure_env#1}, ()", "()"),
            ("fn(u8) -> i32, i32", "i32"),
            ("a::{closure_env#0}<u8, i8>, (u8, i8)", "(u8, i8)"),
            (
                "F, core::option::Option<alloc::boxed::Box<[u8], A>>",
                "core::option::Option<alloc::boxed::Box<[u8], A>>",
            ),
            ("u8", "u8"),
        ] {
            assert_eq!(last_of_list(types), last);
        }
    }

    #[test]
    fn only_plain_types_have_a_zero() {
        assert!(has_zero("usize") && has_zero("*const u8"));
        for of in [
            "alloc::boxed::Box<i32>",
            "core::num::NonZero<u32>",
            "&str",
            "!",
            "Kind",
        ] {
            assert!(!has_zero(of), "{of}");
        }
    }

    #[test]
    fn tasks_tell_their_result() {
        let task = |of: &str| {
            of_task(&format!(
                "_ZNSt17_Function_handlerIFvEN12_Task_setterIS0_INS1_7_ResultI{of}EES3_E"
            ))
        };
        assert_eq!(task("v"), Ok(Neutral::Task { bytes: 0 }));
        assert_eq!(task("d"), Ok(Neutral::Task { bytes: 8 }));
        assert_eq!(task("PKc"), Ok(Neutral::Task { bytes: 8 }));
        for of in ["Ri", "NSt7__cxx1112basic_stringE", "ii"] {
            assert_eq!(task(of), Err(Shut::TaskOfClass), "{of}");
        }
        assert_eq!(of_task("elsewhere"), Err(Shut::TaskOfClass));
    }
}
