//! Images of runs: a run that has come as far as somebody wants stops, with its
//! memory as it is, and another process, perhaps on another day, goes on from there.
//!
//! In a run all threads are fibers of one thread of the system, so a run *is* its
//! memory and what the kernel knows of that one thread. Nearly all addresses are the
//! same in every process ([`crate::addresses`], and no address is random), so memory
//! goes back to where it was. The run writes down what the kernel knows of it, and
//! where its memory has content, and stops; the explorer reads the rest from outside.
//!
//! To restore it, a clone of a fresh template makes its memory that of the run
//! ([`restore`]), on a stack that belongs to neither, and continues the fiber that had
//! stopped. That one stands as an outpost, and runs are cloned from it.

mod behind;
mod kernel;
mod maps;
mod restore;

pub use behind::behind;
pub use restore::begin_from;

use crate::{
    carrier::CarrierOnly,
    control, elsewhere,
    engine::ENGINE,
    hold, obstacles,
    outpost::{self, Candidate},
    output,
    pagemap::{PageMap, PageRegion, REGIONS},
    pool::POOL,
    server::Server,
    system,
    task::Task,
    verdict,
};
use alloc::{format, string::String};
use bohr_event::{
    ThreadIndex, abi,
    control::{Backend, ForkPoint, IMAGE_MAGIC, Job, MOST_STRETCHES, NOTE_WORDS, Omissions},
};
use bohr_fiber::{Body, Fiber, StackRegion};
use core::cell::Cell;

/// The stack of whoever is not in the image.
const STACK: usize = 256 << 10;

struct Wanted {
    /// After how many events; never, for the largest number.
    at: Cell<u64>,
    /// What the run was made by, for runs that go on as it did.
    own: Cell<Option<(&'static Job, u64)>>,
}

#[unsafe(link_section = "bohr_hot")]
static WANTED: CarrierOnly<Wanted> = CarrierOnly::new(Wanted {
    at: Cell::new(u64::MAX),
    own: Cell::new(None),
});

/// In a fresh run.
pub fn begin(job: &'static Job, seed: u64) {
    if let Some(at) = job.image_at {
        WANTED.at.set(at);
        WANTED.own.set(Some((job, seed)));
    }
}

/// Whether what the run does is to be watched, since its image will be taken.
#[inline]
pub fn is_hoped_for() -> bool {
    WANTED.at.get() != u64::MAX
}

/// How many events may pass before somebody has to look.
#[inline]
pub fn distance(events: u64) -> u64 {
    WANTED.at.get().saturating_sub(events)
}

/// The running thread announces its next event.
#[inline]
pub fn come_by(events: u64) {
    if events >= WANTED.at.get() {
        stop(events);
    }
}

/// Whether a run of this task goes on as the one did whose image it begins from.
pub fn goes_on(task: &Task, seed: u64) -> bool {
    let own = WANTED.own.get();
    own.is_some_and(|(job, before)| before == seed && job.plan == task.job.plan)
}

#[cold]
fn stop(events: u64) {
    WANTED.at.set(u64::MAX);
    if let Some(reason) = obstacle() {
        verdict::unsupported(&format!(
            "no image can be taken after {events} events: {reason}"
        ));
    }
    elsewhere::with_room(|| match stand_still(events) {
        Ok(()) => serve(),
        Err(reason) => verdict::unsupported(&reason),
    });
}

fn obstacle() -> Option<String> {
    if control::is_shared() {
        return Some("the program makes threads that nobody controls".into());
    }
    obstacles::find().map(|obstacle| format!("{obstacle}"))
}

/// Writes down what is needed and stops. Returns in a process that was made from the
/// image.
fn stand_still(events: u64) -> Result<(), String> {
    let told = |error: i32| format!("no memory for an image: error {error}");
    let own = ENGINE.current().fiber();
    let length = (NOTE_WORDS + 2 * MOST_STRETCHES) * size_of::<u64>();
    let note = system::map_at(abi::IMAGE_NOTE as usize, length, false).map_err(told)?;
    let block = control_block();
    kernel::note();
    let count = list(note + NOTE_WORDS * size_of::<u64>())?;
    let words = [IMAGE_MAGIC, count as u64, events, block];
    // SAFETY: fresh memory, long enough.
    unsafe { (note as *mut [u64; NOTE_WORDS]).write(words) };
    own.switch_to(aside(hold_still)?);
    Ok(())
}

/// A fiber that is not part of the image.
fn aside(run: extern "C-unwind" fn(usize)) -> Result<&'static Fiber, String> {
    let stack = StackRegion::map_at(abi::IMAGE_STACK as usize, STACK);
    let body = Body {
        run,
        finish,
        argument: 0,
    };
    let fiber = stack.and_then(|stack| Fiber::aside(stack, body));
    let fiber = fiber.map_err(|error| format!("{error}"))?;
    // It lies at the lower end of its own stack.
    let place = abi::IMAGE_STACK as *mut Fiber;
    // SAFETY: fresh memory; the fiber does not use so much of its stack.
    unsafe {
        place.write(fiber);
        Ok(&*place)
    }
}

extern "C-unwind" fn hold_still(_: usize) {
    loop {
        hold::now();
    }
}

extern "C" fn finish(_: usize, _: bool) -> ! {
    system::exit(2)
}

/// The address of the main thread's control block.
fn control_block() -> u64 {
    ENGINE.thread(ThreadIndex::MAIN).handle.get()
}

/// Lists where memory has content of its own; how many stretches.
fn list(start: usize) -> Result<usize, String> {
    const TOO_OLD: &str = "an image needs a kernel that tells which pages a process has: Linux 6.7";
    let pages = open_page_map().ok_or(TOO_OLD)?;
    let entries = start as *mut [u64; 2];
    let (mut count, mut found) = (0, [PageRegion::NONE; REGIONS]);
    for own in maps::read().ok_or(TOO_OLD)? {
        if !own.is_private || !own.is_part() {
            continue;
        }
        let note = |region: core::ops::Range<usize>| {
            if count < MOST_STRETCHES {
                // SAFETY: there is room for so many.
                unsafe { (entries.add(count)).write([region.start as u64, region.end as u64]) };
                count += 1;
            }
        };
        let done = PageMap(pages).scan_own(&mut found, own.range.clone(), note);
        done.ok_or(TOO_OLD)?;
    }
    system::close(pages);
    match count < MOST_STRETCHES {
        true => Ok(count),
        false => Err("the memory is in too many pieces for an image".into()),
    }
}

fn open_page_map() -> Option<i32> {
    let path = c"/proc/self/pagemap".as_ptr() as usize;
    let flags = (libc::O_RDONLY | libc::O_CLOEXEC) as usize;
    let arguments = [libc::AT_FDCWD as usize, path, flags, 0, 0, 0];
    // SAFETY: opens a file for reading.
    let file = unsafe { system::try_call(libc::SYS_openat, arguments) };
    file.ok().map(|file| file as i32)
}

/// In a process that was made from the image: what the kernel has to know, and then
/// runs are cloned from here.
fn serve() {
    let begin = restore::begun();
    kernel::put_back();
    POOL.forbid_gaps();
    output::take_over(begin.outputs);
    let body = begin.job();
    restore::clean_up();
    let Some(job) = body else {
        system::say("bohr: no job for an image\n");
        system::exit(2);
    };
    ENGINE.begin_again();
    control::begin();
    output::redirect();
    let mut server = Server::new(begin.channel, begin.ledger, begin.depth);
    match refusal(&job).map_or_else(|| Task::new(job), Err) {
        Ok(task) => {
            let candidate = Candidate {
                task,
                channel: begin.channel,
                ledger: begin.ledger,
                depth: begin.depth,
                since: system::ticks(),
            };
            outpost::stand(&candidate, ForkPoint::Image);
        }
        Err(reason) => {
            server.refuse(reason);
            system::exit(0);
        }
    }
}

/// Why runs of this job cannot begin here.
fn refusal(job: &Job) -> Option<String> {
    let (own, _) = WANTED.own.get()?;
    let reason = if job.policy != own.policy {
        "the image was taken under other rules (--model, --spurious-wakes, --early-timeouts, \
         --allow-panics)"
    } else if job.backend != Backend::Fibers {
        "threads of the system cannot begin at an image"
    } else if job.without != Omissions::default() {
        "runs that leave something out begin where the program does"
    } else if !job.given.is_empty() {
        "what a recording gives is given from the program's start"
    } else {
        return None;
    };
    Some(reason.into())
}
