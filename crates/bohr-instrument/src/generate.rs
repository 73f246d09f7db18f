//! Code generation: the rest of the optimiser and machine code, piece by piece,
//! on as many processors as there are.

use crate::diagnostics::Diagnostics;
use crate::level::{self, Level};
use crate::merge::target_machine;
use crate::partition::{Cut, Partition, PieceId};
use crate::split::Split;
use crate::{emit, optimise};
use inkwell::context::Context;
use inkwell::module::Module;
use inkwell::targets::{RelocMode, TargetMachine};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Why there is no code; always our bug.
#[derive(Debug, thiserror::Error)]
#[error("{step}: {message}")]
pub struct GenerateError {
    /// What was done.
    pub step: &'static str,
    /// What LLVM said.
    pub message: String,
}

fn at(step: &'static str) -> impl Fn(String) -> GenerateError {
    move |message| GenerateError { step, message }
}

/// Compiles a module whose hooks are in to one object per piece, and takes the
/// module: it is not what it was.
///
/// # Errors
/// With LLVM's words.
pub fn objects(
    module: Module<'_>,
    relocation: RelocMode,
    cut: Cut,
    diagnostics: &Diagnostics<'_>,
) -> Result<Vec<Vec<u8>>, GenerateError> {
    let machine = target_machine(relocation, Level::Default).map_err(at("finding the machine"))?;
    optimise::prepare(&module, &machine).map_err(at("optimising"))?;
    let partition = Partition::of(&module, cut);
    if let [level] = partition.levels[..] {
        let machine = target_machine(relocation, level).map_err(at("finding the machine"))?;
        return Ok(vec![finish(&module, level, &machine, diagnostics)?]);
    }
    let split = Split::of(&module, &partition);
    drop(module);
    in_parallel(partition.levels.len(), |number| {
        let piece = PieceId(number as u32);
        compile_piece(&split, piece, partition.levels[number], relocation)
    })
}

/// Compiles a module that stands alone, at the highest level of its functions.
///
/// # Errors
/// With LLVM's words.
pub fn object(
    module: &Module<'_>,
    relocation: RelocMode,
    diagnostics: &Diagnostics<'_>,
) -> Result<Vec<u8>, GenerateError> {
    let defined = module
        .get_functions()
        .filter(|function| function.get_first_basic_block().is_some());
    let level = defined.map(level::of).max().unwrap_or(Level::Default);
    let machine = target_machine(relocation, level).map_err(at("finding the machine"))?;
    optimise::prepare(module, &machine).map_err(at("optimising"))?;
    finish(module, level, &machine, diagnostics)
}

fn compile_piece(
    split: &Split,
    piece: PieceId,
    level: Level,
    relocation: RelocMode,
) -> Result<Vec<u8>, GenerateError> {
    let context = Context::create();
    let diagnostics = Diagnostics::collect(&context);
    let machine = target_machine(relocation, level).map_err(at("finding the machine"))?;
    let module = split
        .piece(&context, piece, &diagnostics)
        .map_err(at("taking the program apart"))?;
    module
        .verify()
        .map_err(|message| at("taking the program apart")(message.to_string()))?;
    finish(&module, level, &machine, &diagnostics)
}

fn finish(
    module: &Module<'_>,
    level: Level,
    machine: &TargetMachine,
    diagnostics: &Diagnostics<'_>,
) -> Result<Vec<u8>, GenerateError> {
    optimise::optimise(module, machine, level).map_err(at("optimising"))?;
    emit::object(module, machine, diagnostics).map_err(at("code generation"))
}

/// Does numbered pieces of work in threads, the last ones first: those of higher
/// levels take longest. The results are in order.
fn in_parallel<T: Send, E: Send>(
    count: usize,
    work: impl Fn(usize) -> Result<T, E> + Sync,
) -> Result<Vec<T>, E> {
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<Result<T, E>>>> = (0..count).map(|_| Mutex::new(None)).collect();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads.min(count) {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(number) = count.checked_sub(number + 1) else {
                        break;
                    };
                    let result = work(number);
                    *results[number]
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner) = Some(result);
                }
            });
        }
    });
    let taken = results.into_iter().map(|slot| {
        let result = slot.into_inner().unwrap_or_else(PoisonError::into_inner);
        result.expect("every number was worked on")
    });
    taken.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_order_and_the_first_failure_counts() {
        let squares = in_parallel(20, |number| Ok::<usize, ()>(number * number));
        assert_eq!(squares, Ok((0..20).map(|number| number * number).collect()));
        let odd = |number: usize| {
            if number.is_multiple_of(2) {
                Ok(())
            } else {
                Err(number)
            }
        };
        assert_eq!(in_parallel(20, odd), Err(1));
    }
}
