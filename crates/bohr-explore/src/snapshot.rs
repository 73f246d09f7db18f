//! A core of a run that was stopped where a watched thread came to its end of the
//! way, with one thread.

use crate::core_file::{Standing, ThreadStatus};
use crate::error::ExploreError;
use crate::replay::watch_stopped;
use crate::server::Voice;
use crate::subject::Subject;
use bohr_event::control::{HELD_SYMBOL, HeldRegisters, Job, Watch};
use bohr_schedule::Plan;
use object::{Object, ObjectSymbol};
use rustix::process::Pid;
use std::fs;
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Where the kernel's order of registers has those that DWARF numbers.
const KERNEL_ORDER: [usize; 17] = [10, 12, 11, 5, 13, 14, 4, 19, 9, 8, 7, 6, 3, 2, 1, 0, 16];

/// Runs a plan until the watched thread is at the end of its way, and tells what
/// was in memory then, as the bytes of a core; `None` if it does not come there.
///
/// # Errors
/// If the program cannot be run.
pub fn snapshot(
    subject: &Subject,
    plan: &Plan,
    watch: Watch,
    go_on: &(dyn Fn() -> bool + Sync),
) -> Result<Option<Vec<u8>>, ExploreError> {
    let mut server = subject.serve(Voice::Muted, go_on)?;
    let job = Job {
        watch: Some(Watch {
            hold: true,
            ..watch
        }),
        rewind: false,
        ..subject.job(plan)
    };
    let (template, ended) = (server.process(), AtomicBool::new(false));
    let runtime = &subject.target.runtime;
    let mut taken = None;
    std::thread::scope(|scope| {
        let watching = scope.spawn(|| {
            let mut core = None;
            watch_stopped(template, &ended, |process| core = core_of(process, runtime));
            core
        });
        // A run that is killed in the end has no report.
        let run = server.run(job, go_on, |_| ControlFlow::Continue(()));
        ended.store(true, Ordering::Relaxed);
        taken = watching
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        run
    })
    .or_else(|error| match taken {
        Some(_) => Ok(()),
        None => Err(error),
    })?;
    Ok(taken)
}

fn core_of(process: Pid, runtime: &Path) -> Option<Vec<u8>> {
    let standing = Standing::of(process)?;
    let held = held_registers(&standing, runtime)?;
    let mut registers = [0; 27];
    for (position, value) in KERNEL_ORDER.into_iter().zip(held) {
        registers[position] = value;
    }
    let thread = ThreadStatus {
        number: 1,
        signal: 0,
        registers,
    };
    Some(standing.core(&[thread], None))
}

/// What the runtime has kept of the registers.
fn held_registers(standing: &Standing, runtime: &Path) -> Option<HeldRegisters> {
    let path = runtime.canonicalize().ok()?;
    let bytes = fs::read(&path).ok()?;
    let file = object::File::parse(&*bytes).ok()?;
    let symbol = file
        .dynamic_symbols()
        .find(|symbol| symbol.name() == Ok(HELD_SYMBOL))?
        .address();
    let mut mappings = standing.mappings().iter();
    let own = mappings.find(|one| Path::new(&one.path) == path && one.offset == 0);
    let base = own?.start;
    let mut words = [0; 17 * 8];
    (standing.memory().read_exact_at(&mut words, base + symbol)).ok()?;
    let mut registers = [0; 17];
    for (register, word) in registers.iter_mut().zip(words.as_chunks::<8>().0) {
        *register = u64::from_le_bytes(*word);
    }
    Some(registers)
}
