//! Collects the facts about a whole program.

use super::facts::*;
use super::name;
use bohr_event::abi::{STORE_GATE, SiteInfo};
use bohr_program::graph::{Loop, LoopNumber, Nesting};
use bohr_program::{
    Body, FunctionFlow, FunctionNumber, GateSearch, Gates, Irregularity, Language, LeavesOut,
    LocationNumber, Operation, Program, Refusal, Repetition, Sharing, SiteNumber, Verdict,
    is_skippable_store, repetitions,
};
use cranelift_entity::PrimaryMap;
use std::collections::BTreeMap;

/// What is known about the loops of a function.
pub type Repetitions = PrimaryMap<LoopNumber, Repetition>;

/// The version of the form of [`ProgramFacts`].
const VERSION: u32 = 1;

/// Everything about a program. `report` is the profile's report, as JSON.
pub fn gather(program: &Program, sharing: &Sharing, report: &[u8]) -> ProgramFacts {
    let layouts = program.layouts();
    let mut facts = ProgramFacts {
        version: VERSION,
        identity: program
            .identity
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect(),
        languages: BTreeMap::new(),
        totals: totals(program, sharing),
        sharing: sharing_facts(program, sharing),
        loops: LoopTotals::default(),
        nesting: BTreeMap::new(),
        gates: Vec::new(),
        ungated: Vec::new(),
        functions: Vec::new(),
        profile: serde_json::from_slice(report).unwrap_or_default(),
    };
    let is_noticed = |site| !matches!(sharing.verdict(site), Verdict::Private(_));
    let mut search = GateSearch::new(program, &is_noticed);
    let mut flows = Vec::new();
    for (number, _, body) in program.bodies() {
        let language = facts
            .languages
            .entry(language(program.language(number)))
            .or_default();
        language.functions += 1;
        language.instructions += body.instructions.len();
        let flow = FunctionFlow::new(program, number).expect("it has a body");
        for &block in flow.graph.reverse_postorder() {
            *facts
                .nesting
                .entry(class(flow.nestings.of(block)))
                .or_default() += 1;
        }
        let repetitions = repetitions(program, &layouts, number, &flow);
        count_loops(&mut facts.loops, &flow, repetitions.values());
        search.function(number, &flow, &repetitions);
        flows.push((number, flow, repetitions));
    }
    let gates = search.finish();
    facts.gates = gate_facts(program, &gates);
    facts.ungated = ungated_facts(program, &gates);
    facts.loops.gated = facts
        .gates
        .iter()
        .filter(|one| one.in_loop.is_some())
        .count();
    let known = Known {
        program,
        sharing,
        gates: &gates,
        first_gate: 0,
    };
    let functions = flows
        .iter()
        .map(|(number, flow, repetitions)| function_facts(&known, *number, flow, repetitions));
    facts.functions = functions.collect();
    facts
}

/// A program and what its analyses say.
#[derive(Clone, Copy)]
pub struct Known<'a> {
    pub program: &'a Program,
    pub sharing: &'a Sharing,
    pub gates: &'a Gates,
    /// What has to be added to the numbers of these gates.
    pub first_gate: u32,
}

fn gate_facts(program: &Program, gates: &Gates) -> Vec<GateFacts> {
    let facts = gates.gates.iter().map(|(number, gate)| {
        let (kind, in_loop) = match &gate.leaves_out {
            LeavesOut::Body(_) => ("body", None),
            LeavesOut::Iteration { number, .. } => ("iteration", Some(number.to_string())),
            LeavesOut::Block { .. } => ("block", None),
        };
        GateFacts {
            number: number.as_u32(),
            kind,
            id: gate.id(program),
            function: function_name(program, gate.function),
            in_loop,
            forgets: gate.forgets(program),
            place: places(program, gate.location(program)).into_iter().last(),
        }
    });
    facts.collect()
}

fn ungated_facts(program: &Program, gates: &Gates) -> Vec<UngatedFacts> {
    let facts = gates.shut.iter().map(|shut| UngatedFacts {
        function: function_name(program, shut.function),
        reason: shut.reason.to_string(),
    });
    facts.collect()
}

fn function_name(program: &Program, function: FunctionNumber) -> String {
    name::readable(&program.texts[program.functions[function].name])
}

fn totals(program: &Program, sharing: &Sharing) -> Totals {
    let mut totals = Totals {
        functions: program.bodies().count(),
        instructions: program.instruction_count(),
        sites: program.sites.len(),
        ..Totals::default()
    };
    totals.declared_functions = program.functions.len() - totals.functions;
    for site in program.sites.values() {
        *totals
            .sites_by_kind
            .entry(site.kind().to_string())
            .or_default() += 1;
    }
    for (number, _, body) in program.bodies() {
        totals.blocks += body.blocks.len();
        for (call, instruction) in body.instructions.iter() {
            let calls = instruction
                .operation
                .call()
                .map(|call| body.calls[call].callee);
            if calls.is_some_and(|callee| callee.constant().is_none()) {
                let known = sharing.callees(number, call);
                totals.indirect_calls += 1;
                totals.unresolved_calls += usize::from(known.is_none_or(|known| known.unknown));
            }
        }
    }
    totals
}

fn sharing_facts(program: &Program, sharing: &Sharing) -> SharingFacts {
    let mut facts = SharingFacts::default();
    for (_, verdict) in sharing.iter() {
        match verdict {
            Verdict::Shared => facts.shared += 1,
            Verdict::Synchronises => facts.synchronises += 1,
            Verdict::Private(reason) => *facts.private.entry(reason.to_string()).or_default() += 1,
        }
    }
    let in_threads = program
        .bodies()
        .filter(|(number, ..)| sharing.runs_in_thread(*number));
    facts.functions_in_threads = in_threads.count();
    facts
}

fn count_loops<'a>(
    totals: &mut LoopTotals,
    flow: &FunctionFlow,
    repetitions: impl Iterator<Item = &'a Repetition>,
) {
    totals.irreducible_regions += flow.irreducible.len();
    for (_, shape) in flow.loops.iter() {
        totals.loops += 1;
        totals.deepest = totals.deepest.max(shape.depth);
    }
    for repetition in repetitions {
        match &repetition.counter {
            Ok(_) => totals.repetitive += 1,
            Err(why) => *totals.not_repetitive.entry(irregularity(why)).or_default() += 1,
        }
        match &repetition.shortcut {
            Ok(_) => totals.skippable += 1,
            Err(why) => *totals.not_skippable.entry(refusal(why)).or_default() += 1,
        }
    }
}

/// Everything about one function.
pub fn function_facts(
    known: &Known<'_>,
    number: FunctionNumber,
    flow: &FunctionFlow,
    repetitions: &Repetitions,
) -> FunctionFacts {
    let Known {
        program, sharing, ..
    } = *known;
    let facts = &program.functions[number];
    let body = facts.body.as_ref().expect("it has a body");
    let linkage_name = program.texts[facts.name].to_owned();
    let file = facts.file.expand().map(|file| &program.files[file]);
    FunctionFacts {
        id: facts.id.to_string(),
        name: name::readable(&linkage_name),
        linkage_name,
        language: language(program.language(number)),
        file: file.map(|file| program.texts[file.path].to_owned()),
        line: facts.line,
        blocks: body.blocks.len(),
        instructions: body.instructions.len(),
        runs_in_threads: sharing.runs_in_thread(number),
        sites: program
            .sites_of(number)
            .map(|site| site_facts(program, sharing, body, SiteNumber::from_u32(site as u32)))
            .collect(),
        loops: flow
            .loops
            .iter()
            .map(|(which, shape)| {
                let gate = known.gates.of_loop(number, which);
                LoopFacts {
                    gate: gate
                        .and_then(|gate| gate.as_ref().ok())
                        .map(|gate| known.first_gate + gate.as_u32()),
                    not_gated: gate
                        .and_then(|gate| gate.as_ref().err())
                        .map(ToString::to_string),
                    ..loop_facts(program, body, which, shape, &repetitions[which])
                }
            })
            .collect(),
    }
}

fn site_facts(program: &Program, sharing: &Sharing, body: &Body, number: SiteNumber) -> SiteFacts {
    let site = &program.sites[number];
    let size = site.info().size();
    let (word, reason) = match sharing.verdict(number) {
        Verdict::Shared => ("shared", None),
        Verdict::Synchronises => ("synchronises", None),
        Verdict::Private(reason) => ("private", Some(reason.to_string())),
    };
    SiteFacts {
        id: program.site_id(number).to_string(),
        kind: site.kind().to_string(),
        order: format!("{:?}", site.order()).to_lowercase(),
        size: (size != SiteInfo::DYNAMIC_SIZE).then_some(size),
        block: body.block_of(site.instruction).to_string(),
        sharing: word,
        reason,
        gate: is_skippable_store(program, &|site| sharing.needs_hook(site), number)
            .then_some(STORE_GATE | number.as_u32()),
        places: places(program, program.instruction_of(site).location.expand()),
    }
}

fn loop_facts(
    program: &Program,
    body: &Body,
    number: LoopNumber,
    shape: &Loop,
    repetition: &Repetition,
) -> LoopFacts {
    let words = |blocks: &[bohr_program::BlockNumber]| {
        blocks.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let location = body.location_of_block(shape.header);
    LoopFacts {
        number: number.to_string(),
        place: places(program, location).into_iter().last(),
        header: shape.header.to_string(),
        latches: words(&shape.latches),
        exits: shape.exits.iter().map(ToString::to_string).collect(),
        blocks: shape.blocks.len(),
        depth: shape.depth,
        parent: shape.parent.map(|parent| parent.to_string()),
        repetitive: repetition.counter.is_ok(),
        not_repetitive: repetition.counter.as_ref().err().map(ToString::to_string),
        counter: repetition
            .counter
            .as_ref()
            .ok()
            .map(|counter| counter_text(program, body, counter)),
        skippable: repetition.shortcut.is_ok(),
        not_skippable: repetition.shortcut.as_ref().err().map(ToString::to_string),
        gate: None,
        not_gated: None,
    }
}

/// What keeps a loop going, as a condition.
fn counter_text(program: &Program, body: &Body, counter: &bohr_program::Counter) -> String {
    use bohr_program::{InductionStep, Place};
    let (Place::Phi(place) | Place::Slot(place)) = counter.variable.place;
    let step = match counter.variable.step {
        InductionStep::Constant(step) => format!("{step:+}"),
        InductionStep::Invariant(value, times) => {
            format!("{times:+} * {}", program.show_value(value))
        }
    };
    let start = counter.variable.start.map_or(String::new(), |start| {
        format!(" from {}", program.show_value(start))
    });
    let word = if counter.while_true { "while" } else { "until" };
    let next = if counter.after_change {
        " after the step"
    } else {
        ""
    };
    let fixed = if counter.bound_is_fixed {
        ""
    } else {
        ", which may change"
    };
    debug_assert!(matches!(
        body.instructions[counter.comparison].operation,
        Operation::CompareIntegers { .. }
    ));
    format!(
        "{place}{start} by {step}, {word} {} {}{next}{fixed}",
        counter.predicate.name(),
        program.show_value(counter.bound)
    )
}

/// A place and the places that it was inlined at, innermost first.
pub fn places(program: &Program, location: Option<LocationNumber>) -> Vec<PlaceFacts> {
    let mut places = Vec::new();
    let mut next = location;
    while let Some(number) = next {
        let location = &program.locations[number];
        let scope = &program.scopes[location.scope];
        let file = scope.file.expand().map(|file| &program.files[file]);
        places.push(PlaceFacts {
            function: name::readable(&program.texts[scope.name]),
            file: file.map_or(String::new(), |file| program.texts[file.path].to_owned()),
            line: location.line,
            column: location.column,
        });
        next = location.inlined_at.expand();
    }
    places
}

fn language(language: Language) -> &'static str {
    match language {
        Language::C => "C",
        Language::Cpp => "C++",
        Language::Rust => "Rust",
        Language::Other => "other",
    }
}

/// The name of a class of control dependence.
pub fn class(nesting: &Nesting) -> &'static str {
    match nesting {
        Nesting::Body => "body",
        Nesting::One(_) => "one",
        Nesting::Aggregated { .. } => "aggregated",
        Nesting::NotAggregatable { .. } => "not-aggregatable",
        Nesting::Loop { .. } => "loop",
    }
}

fn irregularity(why: &Irregularity) -> &'static str {
    match why {
        Irregularity::Endless => "has no end",
        Irregularity::Breaks(_) => "ends at more than one place",
        Irregularity::NoComparison(_) => "its end is not decided by comparing numbers",
        Irregularity::NoCounter(_) => "nothing compared changes once per iteration by one step",
    }
}

fn refusal(why: &Refusal) -> &'static str {
    match why {
        Refusal::Endless => "has no end",
        Refusal::Breaks(_) => "ends at more than one place",
        Refusal::DecidedInTheMiddle(_) => "its end is decided in the middle of the iteration",
        Refusal::ConditionNeeds(_) => "its condition needs what the iteration computes",
        Refusal::NothingAdvances => "nothing its condition depends on advances by itself",
        Refusal::UsedAfter(_) => "code after it uses what the iteration computes",
        Refusal::EnteredByAddress => "it is entered by a jump to a computed address",
        Refusal::BeginsWithCatch => "its iterations begin with the catching of an exception",
    }
}
