//! The half of LLVM's pipeline that comes after the bitcode was taken out.
//!
//! A thin fat object holds the module after simplification (inlining, scalar
//! replacement, redundancy elimination) and before vectorisation, unrolling and
//! the passes that tidy up after them. This is that second half as `-O2` has
//! it, without the clean-ups of whole modules. Functions that the user left
//! unoptimised carry an attribute that makes every pass leave them alone.

use crate::constructors;
use inkwell::module::Module;
use inkwell::passes::PassBuilderOptions;
use inkwell::targets::TargetMachine;

/// Inlining concerns only the questions that gates ask.
const FIRST: &str = "always-inline,rpo-function-attrs,recompute-globalsaa";

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

/// Runs it over a module.
///
/// # Errors
/// With LLVM's words if a pass refuses, which would be our bug.
pub fn optimise(module: &Module<'_>, machine: &TargetMachine) -> Result<(), String> {
    constructors::place(module);
    let functions = FUNCTION.join(",");
    let options = PassBuilderOptions::create();
    options.set_loop_vectorization(true);
    options.set_loop_slp_vectorization(true);
    options.set_loop_interleaving(true);
    options.set_loop_unrolling(true);
    module
        .run_passes(
            &format!("{FIRST},function<eager-inv>({functions}),{LAST}"),
            machine,
            options,
        )
        .map_err(|message| message.to_string())
}
