//! The half of LLVM's pipeline that comes after the bitcode was taken out.
//!
//! A thin fat object holds the module after simplification (inlining, scalar
//! replacement, redundancy elimination) and before vectorisation, unrolling and
//! the passes that tidy up after them. This is that second half, at the level
//! that the user chose, without the clean-ups of whole modules. What the user
//! left unoptimised stays as it is.

use crate::constructors;
use crate::level::Level;
use inkwell::module::Module;
use inkwell::passes::PassBuilderOptions;
use inkwell::targets::TargetMachine;

/// Inlining concerns only the questions that gates ask.
const FIRST: &str = "always-inline,rpo-function-attrs";

const FUNCTION: &[&str] = &[
    "drop-unnecessary-assumes",
    "float2int",
    "lower-constant-intrinsics",
    "loop(loop-rotate<header-duplication;no-prepare-for-lto>,loop-deletion)",
    "loop-distribute",
    "inject-tli-mappings",
    "loop-vectorize<no-interleave-forced-only;no-vectorize-forced-only;>",
    "drop-unnecessary-assumes",
    "infer-alignment",
    "loop-load-elim",
    "instcombine<max-iterations=1;no-verify-fixpoint>",
    "simplifycfg<bonus-inst-threshold=1;forward-switch-cond;switch-range-to-icmp;\
     switch-to-arithmetic;switch-to-lookup;no-keep-loops;hoist-common-insts;\
     sink-common-insts;speculate-blocks;simplify-cond-branch>",
    "slp-vectorizer",
    "vector-combine",
    "instcombine<max-iterations=1;no-verify-fixpoint>",
    "loop-unroll<O2>",
    "sroa<preserve-cfg>",
    "infer-alignment",
    "instcombine<max-iterations=1;no-verify-fixpoint>",
    "loop-mssa(licm<allowspeculation>)",
    "alignment-from-assumptions",
    "loop-sink",
    "instsimplify",
    "div-rem-pairs",
    "tailcallelim",
    "simplifycfg<bonus-inst-threshold=1;switch-range-to-icmp;switch-to-arithmetic;keep-loops;\
     hoist-loads-stores-with-cond-faulting;speculate-blocks;simplify-cond-branch;\
     speculate-unpredictables>",
];

const LAST: &str = "globaldce,constmerge,cg-profile,rel-lookup-table-converter";

/// What every function needs before modules are taken apart: the questions that
/// gates ask become part of their functions, and constructors become data.
///
/// # Errors
/// With LLVM's words if a pass refuses, which would be our bug.
pub fn prepare(module: &Module<'_>, machine: &TargetMachine) -> Result<(), String> {
    constructors::place(module);
    run(module, machine, FIRST, false)
}

/// Runs the pipeline of a level over a module that was prepared.
///
/// # Errors
/// With LLVM's words if a pass refuses, which would be our bug.
pub fn optimise(module: &Module<'_>, machine: &TargetMachine, level: Level) -> Result<(), String> {
    if level == Level::None {
        return Ok(());
    }
    let functions: Vec<String> = FUNCTION
        .iter()
        .filter_map(|pass| at_level(pass, level))
        .collect();
    let functions = functions.join(",");
    let passes = format!("recompute-globalsaa,function<eager-inv>({functions}),{LAST}");
    run(module, machine, &passes, level > Level::Less)
}

/// A pass of `-O2` as another level has it: `-O1` makes vectors only where the
/// source asks for them.
fn at_level(pass: &str, level: Level) -> Option<String> {
    match level {
        Level::None | Level::Less if pass == "slp-vectorizer" => None,
        Level::None | Level::Less => Some(
            pass.replace("no-interleave-forced-only", "interleave-forced-only")
                .replace("no-vectorize-forced-only", "vectorize-forced-only")
                .replace("<O2>", "<O1>"),
        ),
        Level::Default => Some(pass.to_string()),
        Level::Aggressive => Some(pass.replace("<O2>", "<O3>")),
    }
}

fn run(
    module: &Module<'_>,
    machine: &TargetMachine,
    passes: &str,
    vectors: bool,
) -> Result<(), String> {
    let options = PassBuilderOptions::create();
    options.set_loop_vectorization(vectors);
    options.set_loop_slp_vectorization(vectors);
    options.set_loop_interleaving(vectors);
    options.set_loop_unrolling(true);
    module
        .run_passes(passes, machine, options)
        .map_err(|message| message.to_string())
}
