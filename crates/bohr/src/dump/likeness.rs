//! From a core to what a hunt is to look for.

use super::Unlike;
use super::report::{FrameReport, Report, ThreadReport};
use bohr_explore::likeness::{Ending, Likeness, SeenPlace};
use bohr_explore::{Spot, is_library};

/// The failure that left the core: where the thread was that failed, or where those
/// were that cannot go on.
///
/// # Errors
/// If the core tells of none, or the program's own code is nowhere.
pub fn of(report: &Report) -> Result<Likeness, Unlike> {
    let program = report.program.as_ref();
    let stuck = report.stuck();
    let own = |number: i32| {
        let mut threads = report.threads.iter();
        let thread = threads.find(|thread| thread.number == number)?;
        let mut places = own_places(thread, program);
        Some((places.next()?, places.collect()))
    };
    if !stuck.is_empty() {
        // Threads of libraries stand where no author can tell.
        let places: Vec<SeenPlace> = stuck.iter().filter_map(|&one| Some(own(one)?.0)).collect();
        let ending = Ending::Hang;
        return match places.is_empty() {
            true => Err(Unlike::Nothing),
            false => Ok(Likeness {
                ending,
                places,
                callers: Vec::new(),
            }),
        };
    }
    let fault = report.fault.as_ref().ok_or(Unlike::Nothing)?;
    if report.failed_is_missing {
        return Err(Unlike::FailedIsMissing);
    }
    let failed = report.threads.first().and_then(|failed| own(failed.number));
    let (place, callers) = failed.ok_or(Unlike::Nothing)?;
    Ok(Likeness {
        ending: Ending::Signal(fault.signal),
        places: vec![place],
        callers,
    })
}

/// The places in what the program's author wrote, innermost first.
fn own_places<'r>(
    thread: &'r ThreadReport,
    program: Option<&'r String>,
) -> impl Iterator<Item = SeenPlace> + 'r {
    let own = move |frame: &&FrameReport| frame.object.as_ref() == program;
    let spots = thread.frames.iter().filter(own).map(spot);
    let spots = spots.filter(|spot| spot.line.is_some() && !is_library(spot));
    spots.filter_map(|spot| {
        Some(SeenPlace {
            function: spot.function?,
            line: spot.line,
        })
    })
}

/// A frame as everything else in bohr tells places.
pub fn spot(frame: &FrameReport) -> Spot {
    let line = frame.call.file.as_ref().map(|file| match frame.call.line {
        Some(line) => format!("{file}:{line}"),
        None => file.clone(),
    });
    Spot {
        function: frame.call.function.clone(),
        line,
    }
}
