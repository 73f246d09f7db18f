//! A program at a glance, for a terminal.

macro_rules! line {
    ($out:expr, $($text:tt)*) => { line($out, format_args!($($text)*)) };
}

mod gate;

use super::facts::*;
use std::fmt::Write;

/// Functions that are listed when not all are asked for.
const SHOWN_FUNCTIONS: usize = 10;

/// Parts that are listed.
const SHOWN_PARTS: usize = 8;

/// The overview, and every site and loop where they are asked for.
pub fn show(facts: &ProgramFacts, sites: bool, loops: bool, gates: bool) -> String {
    let mut out = String::new();
    code(&mut out, facts);
    sharing(&mut out, facts);
    loop_totals(&mut out, facts);
    gate::totals(&mut out, facts);
    left_out(&mut out, &facts.profile);
    if gates {
        gate::list(&mut out, facts);
    }
    for function in &facts.functions {
        details(&mut out, function, sites, loops);
    }
    if !(sites || loops || gates) {
        busiest(&mut out, facts);
    }
    out
}

fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("writing to a string");
    out.push('\n');
}

fn code(out: &mut String, facts: &ProgramFacts) {
    let totals = &facts.totals;
    let languages: Vec<String> = facts
        .languages
        .iter()
        .map(|(language, one)| format!("{language} {}", one.functions))
        .collect();
    line!(out, "program       {}", &facts.identity[..16]);
    line!(
        out,
        "functions     {} ({}), {} outside",
        totals.functions,
        languages.join(", "),
        totals.declared_functions
    );
    line!(out, "blocks        {}", totals.blocks);
    line!(out, "instructions  {}", totals.instructions);
    if totals.indirect_calls > 0 {
        line!(
            out,
            "calls through pointers  {}, {} of them to any function that fits",
            totals.indirect_calls,
            totals.unresolved_calls
        );
    }
    let nesting: Vec<String> = facts
        .nesting
        .iter()
        .map(|(class, count)| format!("{class} {}", share(*count, facts.nesting.values().sum())))
        .collect();
    line!(
        out,
        "blocks by what decides about them  {}",
        nesting.join(", ")
    );
}

fn sharing(out: &mut String, facts: &ProgramFacts) {
    let all = facts.totals.sites;
    let kinds: Vec<String> = facts
        .totals
        .sites_by_kind
        .iter()
        .map(|(kind, count)| format!("{kind} {count}"))
        .collect();
    line!(out, "\nsites         {all}: {}", kinds.join(", "));
    line!(
        out,
        "  {:>8}  {:>5}  may be shared",
        facts.sharing.shared,
        share(facts.sharing.shared, all)
    );
    if facts.sharing.synchronises > 0 {
        let count = facts.sharing.synchronises;
        line!(out, "  {count:>8}  {:>5}  synchronise", share(count, all));
    }
    for (reason, count) in &facts.sharing.private {
        line!(
            out,
            "  {count:>8}  {:>5}  private: {reason}",
            share(*count, all)
        );
    }
    line!(
        out,
        "  {} of {} functions may run outside the main thread",
        facts.sharing.functions_in_threads,
        facts.totals.functions
    );
}

fn loop_totals(out: &mut String, facts: &ProgramFacts) {
    let loops = &facts.loops;
    if loops.loops == 0 {
        return line!(out, "\nloops         none");
    }
    line!(
        out,
        "\nloops         {}, at most {} deep",
        loops.loops,
        loops.deepest
    );
    if loops.irreducible_regions > 0 {
        line!(
            out,
            "  {:>8}  cycles with several entries, which are no loops",
            loops.irreducible_regions
        );
    }
    line!(out, "  {:>8}  repetitive code blocks", loops.repetitive);
    for (reason, count) in &loops.not_repetitive {
        line!(out, "  {count:>8}  not: {reason}");
    }
    line!(out, "  {:>8}  can leave out an iteration", loops.skippable);
    for (reason, count) in &loops.not_skippable {
        line!(out, "  {count:>8}  cannot: {reason}");
    }
}

/// What has no hooks, as the profile's report tells.
fn left_out(out: &mut String, report: &serde_json::Value) {
    let list = |name: &str| report[name].as_array().cloned().unwrap_or_default();
    let parts = list("uninstrumented");
    let assembly = list("inline_assembly");
    if parts.is_empty() && assembly.is_empty() {
        return line!(out, "\nleft as it is nothing: every part has its hooks");
    }
    line!(
        out,
        "\nleft as it is {} parts, {} functions with inline assembly",
        parts.len(),
        assembly.len()
    );
    let word = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    for part in parts.iter().take(SHOWN_PARTS) {
        line!(out, "  {}: {}", word(&part["part"]), word(&part["reason"]));
    }
    if parts.len() > SHOWN_PARTS {
        line!(
            out,
            "  and {} more; --json lists them",
            parts.len() - SHOWN_PARTS
        );
    }
    for one in assembly.iter().take(SHOWN_PARTS) {
        line!(
            out,
            "  {}: inline assembly, {} times",
            word(&one["function"]),
            one["count"]
        );
    }
    if assembly.len() > SHOWN_PARTS {
        line!(
            out,
            "  and {} more; --json lists them",
            assembly.len() - SHOWN_PARTS
        );
    }
}

fn busiest(out: &mut String, facts: &ProgramFacts) {
    let shared = |function: &FunctionFacts| {
        function
            .sites
            .iter()
            .filter(|site| site.sharing == "shared")
            .count()
    };
    let mut functions: Vec<&FunctionFacts> = facts
        .functions
        .iter()
        .filter(|function| shared(function) > 0)
        .collect();
    functions.sort_by_key(|function| std::cmp::Reverse(shared(function)));
    if functions.is_empty() {
        return;
    }
    line!(out, "\nfunctions with the most shared sites");
    for function in functions.iter().take(SHOWN_FUNCTIONS) {
        let place = function
            .file
            .as_ref()
            .map(|file| format!("  {file}:{}", function.line));
        line!(
            out,
            "  {:>8}  {}{}",
            shared(function),
            function.name,
            place.unwrap_or_default()
        );
    }
    line!(
        out,
        "\n--sites, --loops and --gates list all of them, --function NAME shows one function"
    );
}

fn details(out: &mut String, function: &FunctionFacts, sites: bool, loops: bool) {
    let listed = sites && !function.sites.is_empty() || loops && !function.loops.is_empty();
    if !listed {
        return;
    }
    line!(out, "\n{}", function.name);
    if sites {
        function.sites.iter().for_each(|one| site(out, one, "  "));
    }
    if loops {
        function.loops.iter().for_each(|one| a_loop(out, one));
    }
}

/// One site, with the calls that it was inlined through.
pub fn site(out: &mut String, site: &SiteFacts, indent: &str) {
    let size = site.size.map_or("?".to_owned(), |size| size.to_string());
    let order = if site.order == "plain" {
        String::new()
    } else {
        format!(" {}", site.order)
    };
    let what = format!("{}{order} {size}", site.kind);
    let reason = site.reason.as_ref().map(|reason| format!(": {reason}"));
    let gate = site.gate.map(|gate| format!(", gate {gate}"));
    line!(
        out,
        "{indent}{:<22} {:<24} {}{}{}",
        place(site.places.first()),
        what,
        site.sharing,
        reason.unwrap_or_default(),
        gate.unwrap_or_default()
    );
    for outer in site.places.iter().skip(1) {
        line!(
            out,
            "{indent}  inlined at {} in {}",
            place(Some(outer)),
            outer.function
        );
    }
}

/// One loop.
pub fn a_loop(out: &mut String, one: &LoopFacts) {
    let indent = "  ".repeat(one.depth as usize);
    line!(
        out,
        "{indent}{} at {}: header {}, {} blocks, depth {}",
        one.number,
        place(one.place.as_ref()),
        one.header,
        one.blocks,
        one.depth
    );
    match (&one.counter, &one.not_repetitive) {
        (Some(counter), _) => line!(out, "{indent}  repetitive: {counter}"),
        (None, why) => line!(
            out,
            "{indent}  not repetitive: {}",
            why.as_deref().unwrap_or_default()
        ),
    }
    match (&one.gate, &one.not_gated) {
        (Some(gate), _) => line!(out, "{indent}  gate {gate}: can leave out an iteration"),
        (None, why) => line!(
            out,
            "{indent}  no gate: {}",
            why.as_deref().unwrap_or_default()
        ),
    }
}

/// `file:line:column`, of the file only its name.
pub fn place(place: Option<&PlaceFacts>) -> String {
    match place {
        Some(place) => {
            let file = place.file.rsplit('/').next().unwrap_or_default();
            format!("{file}:{}:{}", place.line, place.column)
        }
        None => "?".to_owned(),
    }
}

fn share(count: usize, all: usize) -> String {
    match all {
        0 => "-".to_owned(),
        _ => format!("{:.0}%", 100.0 * count as f64 / all as f64),
    }
}
