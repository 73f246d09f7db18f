//! From a core to what a hunt is to look for.

use super::report::{FrameReport, Report, ThreadReport};
use bohr_explore::likeness::{Ending, Likeness, SeenPlace};
use bohr_explore::{Spot, is_library};

/// The failure that left the core: where the thread was that failed, or where those
/// were that waited for each other. `None` if the program's own code is nowhere.
pub fn of(report: &Report) -> Option<Likeness> {
    let program = report.program.as_ref();
    let (ending, numbers) = match (&report.fault, report.deadlocks.first()) {
        // Somebody was tired of waiting.
        (_, Some(circle)) => (Ending::Hang, circle.clone()),
        (Some(fault), None) => (
            Ending::Signal(fault.signal),
            vec![report.threads.first()?.number],
        ),
        (None, None) => return None,
    };
    let threads = report.threads.iter();
    let (mut places, mut callers) = (Vec::new(), Vec::new());
    for thread in threads.filter(|thread| numbers.contains(&thread.number)) {
        let mut own = own_places(thread, program);
        places.push(own.next()?);
        callers.extend(own.filter(|_| ending != Ending::Hang));
    }
    Some(Likeness {
        ending,
        places,
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

fn spot(frame: &FrameReport) -> Spot {
    let line = frame.call.file.as_ref().map(|file| match frame.call.line {
        Some(line) => format!("{file}:{line}"),
        None => file.clone(),
    });
    Spot {
        function: frame.call.function.clone(),
        line,
    }
}
