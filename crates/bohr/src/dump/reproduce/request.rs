//! What somebody wants to have reproduced, how, and why that cannot be done.

use bohr_event::{Diagnosis, Fault, MemoryModel};
use clap::ValueEnum;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// By what the search is guided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Guide {
    /// Accesses nearest in time to the aligned point first.
    Temporal,
    /// Those first from which the fewest dependences lead to the aligned point.
    Dependence,
    /// Nothing: every preemption in the order of the run.
    None,
}

/// By what the good run is aligned with the failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Align {
    /// The failure's index: calls, iterations and branches.
    Index,
    /// The number of blocks that the thread had begun, in programs that were built with
    /// --production=count. To compare.
    Count,
}

/// Where a thread may be preempted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Points {
    /// Where threads begin, before locks are taken, after they are given back, and
    /// before atomic accesses.
    Synchronisation,
    /// Before all other memory accesses, too.
    Accesses,
}

/// How to reproduce a failure.
pub struct Request<'a> {
    /// The core.
    pub core: &'a Path,
    /// The program, built for production.
    pub program: &'a Path,
    /// Its arguments.
    pub arguments: &'a [OsString],
    /// What it reads as its standard input.
    pub input: Option<&'a Path>,
    /// By what the search is guided.
    pub guide: Guide,
    /// By what the good run is aligned.
    pub align: Align,
    /// Where threads may be preempted.
    pub points: Points,
    /// Most preemptions of a run.
    pub preemptions: u32,
    /// When stores become visible.
    pub model: MemoryModel,
    /// How long to search.
    pub time: Duration,
    /// The checkpoint that runs begin at.
    pub from: Option<&'a Path>,
    /// Where the bug goes, or the checkpoint.
    pub output: &'a Path,
}

/// Why a failure cannot be looked for.
#[derive(Debug, thiserror::Error)]
pub enum Irreproducible {
    /// The program was not built for production.
    #[error("{} was not built for production: its core does not tell blocks and iterations", .0.display())]
    NotForProduction(PathBuf),
    /// Nothing tells lines and variables.
    #[error("{} has no debug information, and there is no separate file with it", .0.display())]
    Stripped(PathBuf),
    /// The core does not have the program.
    #[error("the core's program is not {}", .0.display())]
    NoProgram(PathBuf),
    /// No frame of the failing thread is the program's.
    #[error("the thread that failed was nowhere in the program's own code")]
    Nowhere,
    /// Nobody has counted blocks.
    #[error("{} does not count the blocks that its threads begin", .0.display())]
    Uncounted(PathBuf),
}

impl Diagnosis for Irreproducible {
    fn fault(&self) -> Fault {
        Fault::Input
    }

    fn help(&self) -> Option<String> {
        Some(match self {
            Irreproducible::NotForProduction(_) => {
                "build it with `bohr cc --production` and get a core of that; until then: bohr \
                 hunt --like CORE -- PROGRAM"
                    .into()
            }
            Irreproducible::Stripped(_) => {
                "put its debug file beside it, under the name that --add-gnu-debuglink gave it, or \
                 by build id under /usr/lib/debug/.build-id; or build with -g"
                    .into()
            }
            Irreproducible::NoProgram(_) => "give the build that left the core: --program".into(),
            Irreproducible::Nowhere => "bohr hunt --like CORE -- PROGRAM".into(),
            Irreproducible::Uncounted(_) => {
                "build it with `bohr cc --production=count` and get a core of that, or leave \
                 --align out: the index of the failure is the better guide"
                    .into()
            }
        })
    }
}
