//! A function keeps its id whatever the build directory, the link order and the
//! copy that prevails.

mod support;

use bohr_event::FunctionId;
use bohr_instrument::ids::function_id;
use bohr_instrument::inkwell::context::Context;
use bohr_instrument::lower::lower;
use bohr_instrument::merge::{Part, merge};
use bohr_instrument::sites::ModuleSites;
use bohr_program::Gates;
use std::collections::BTreeMap;
use support::{Compiled, compile};

const MAIN: &str = "int a(void); int b(void); int main(void) { return a() + b(); }";
const A: &str = "static int step(int x) { return x + 1; } int (*p)(int) = step;
    inline __attribute__((weak)) int shared(int x) { return x * 3; } int a(void) { return p(1) + shared(2); }";
const B: &str = "static int step(int x) { for (int i = 0; i < 9; i++) x += i; return x * 2; } int (*q)(int) = step;
    inline __attribute__((weak)) int shared(int x) { return x * 3; } int b(void) { return q(1) + shared(2); }";

/// Names in the merged module with their ids; a clash of statics renames one.
fn ids(parts: &[&Compiled]) -> BTreeMap<String, FunctionId> {
    let context = Context::create();
    let parts: Vec<Part<'_>> = parts.iter().map(|part| part.part()).collect();
    let merged = merge(&context, &parts, &|name| name == "main").expect("merges");
    assert!(merged.excluded.is_empty(), "{:?}", merged.excluded);
    merged
        .module
        .get_functions()
        .filter_map(|function| {
            Some((
                function.get_name().to_string_lossy().into_owned(),
                function_id(function)?,
            ))
        })
        .collect()
}

fn distinct(ids: &BTreeMap<String, FunctionId>) -> Vec<FunctionId> {
    let mut values: Vec<FunctionId> = ids.values().copied().collect();
    values.sort();
    values.dedup();
    values
}

/// Every site and every gate by what names it for ever, with what it is. The
/// order of numbers follows ids, so it is part of the answer.
fn sites_and_gates(parts: &[&Compiled]) -> Vec<String> {
    let context = Context::create();
    let parts: Vec<Part<'_>> = parts.iter().map(|part| part.part()).collect();
    let merged = merge(&context, &parts, &|name| name == "main").expect("merges");
    let sites = ModuleSites::of(&merged.module);
    let program = lower(&merged.module, &sites, [0; 32])
        .expect("lowers")
        .program;
    let sites = program.sites.iter().map(|(number, site)| {
        let kind = site.kind();
        format!(
            "{number} {} {kind} {}",
            program.site_id(number),
            site.packed
        )
    });
    let gates = Gates::noticing(&program, &|_| true);
    let gates = gates.gates.iter();
    let gates = gates.map(|(number, gate)| format!("{number} {}", gate.id(&program)));
    sites.chain(gates).collect()
}

fn compile_all(prefix: &str, flags: &[&str]) -> (tempfile::TempDir, Vec<Compiled>) {
    let directory = tempfile::tempdir().expect("directory");
    let sources = [("main.c", MAIN), ("one/part.c", A), ("two/part.c", B)];
    let parts = sources
        .iter()
        .map(|(name, source)| compile(directory.path(), &format!("{prefix}{name}"), source, flags))
        .collect();
    (directory, parts)
}

#[test]
fn equal_in_every_directory_and_link_order() {
    let (_first, here) = compile_all("", &["-O1", "-g"]);
    let (_second, there) = compile_all("moved/deeper/", &["-O1", "-g"]);
    let expected = distinct(&ids(&here.iter().collect::<Vec<_>>()));
    // main, a, b, shared, and the two functions called `step`.
    assert_eq!(expected.len(), 6);
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
        for parts in [&here, &there] {
            let parts: Vec<&Compiled> = order.iter().map(|&at| &parts[at]).collect();
            assert_eq!(distinct(&ids(&parts)), expected, "{order:?}");
        }
    }
}

#[test]
fn sites_and_gates_too() {
    let (_first, here) = compile_all("", &["-O0", "-g"]);
    let (_second, there) = compile_all("moved/deeper/", &["-O0", "-g"]);
    let expected = sites_and_gates(&here.iter().collect::<Vec<_>>());
    assert!(expected.len() > 15, "{expected:#?}");
    assert!(
        expected.iter().any(|one| one.contains("/loop0")),
        "{expected:#?}"
    );
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
        for parts in [&here, &there] {
            let parts: Vec<&Compiled> = order.iter().map(|&at| &parts[at]).collect();
            assert_eq!(sites_and_gates(&parts), expected, "{order:?}");
        }
    }
}

#[test]
fn a_static_is_told_from_its_namesake_by_what_it_does() {
    let (_kept, parts) = compile_all("", &["-O1"]);
    let steps = |order: [usize; 3]| {
        let context = Context::create();
        let parts: Vec<Part<'_>> = order.iter().map(|&at| parts[at].part()).collect();
        let merged = merge(&context, &parts, &|name| name == "main").expect("merges");
        let mut found: Vec<(bool, FunctionId)> = merged
            .module
            .get_functions()
            .filter(|function| function.get_name().to_string_lossy().starts_with("step"))
            .map(|function| {
                (
                    function.to_string().contains("add "),
                    function_id(function).expect("named"),
                )
            })
            .collect();
        found.sort();
        found
    };
    assert_eq!(steps([0, 1, 2]), steps([2, 1, 0]));
    assert_eq!(steps([0, 1, 2]).len(), 2);
}

#[test]
fn twins_without_any_difference_still_have_two_ids() {
    let directory = tempfile::tempdir().expect("directory");
    let twin = |entry: &str| {
        format!("static int step(int x) {{ return x + 1; }} int (*{entry})(int) = step;")
    };
    let parts = [
        compile(directory.path(), "one/part.c", &twin("p"), &["-O1"]),
        compile(directory.path(), "two/part.c", &twin("q"), &["-O1"]),
    ];
    let context = Context::create();
    let parts = [parts[0].part(), parts[1].part()];
    let merged = merge(&context, &parts, &|name| name == "p" || name == "q").expect("merges");
    let mut ids: Vec<_> = merged
        .module
        .get_functions()
        .filter_map(function_id)
        .collect();
    ids.dedup();
    assert_eq!(ids.len(), 2);
}

#[test]
fn rust_functions_do_not_depend_on_codegen_units() {
    let directory = tempfile::tempdir().expect("directory");
    let source = "pub mod m { #[inline(never)] pub fn f(x: u32) -> u32 { x ^ 7 } }
        #[unsafe(no_mangle)] pub fn entry(x: u32) -> u32 { m::f(x) }";
    let ids_with = |units: &str| {
        let part = compile(
            directory.path(),
            "unit.rs",
            source,
            &["-Copt-level=1", units],
        );
        let context = Context::create();
        let merged = merge(&context, &[part.part()], &|name| name == "entry").expect("merges");
        let mut ids: Vec<_> = merged
            .module
            .get_functions()
            .filter_map(function_id)
            .collect();
        ids.sort();
        ids
    };
    assert_eq!(ids_with("-Ccodegen-units=1"), ids_with("-Ccodegen-units=4"));
    assert_eq!(ids_with("-Ccodegen-units=1").len(), 2);
}
