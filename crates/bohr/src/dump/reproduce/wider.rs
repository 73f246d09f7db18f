//! What would look further where a search was in vain.

use super::{Points, Request};
use bohr_event::MemoryModel;
use std::time::Duration;

/// Most preemptions of a run that can be asked for.
pub const MOST_PREEMPTIONS: u32 = 4;

/// How much longer a search may take that has come to the end of its time.
const LONGER: u32 = 10;

/// The options that widen a search which took so long, the most likely ones first.
pub fn options(request: &Request<'_>, took: Duration) -> Vec<String> {
    let time = (request.time * LONGER).as_secs().max(1);
    let more = request.preemptions + 1;
    // A checkpoint has the rules that it was taken under.
    let strict = request.model == MemoryModel::SequentiallyConsistent && request.from.is_none();
    let all = [
        (took >= request.time, format!("--time {time}s")),
        (
            request.points == Points::Synchronisation,
            "--preempt accesses".into(),
        ),
        (more <= MOST_PREEMPTIONS, format!("--preemptions {more}")),
        (strict, "--model tso".into()),
    ];
    let helpful = all.into_iter().filter(|(helps, _)| *helps);
    helpful.map(|(_, option)| option).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{Align, Guide};
    use super::*;
    use std::path::Path;

    #[test]
    fn what_was_asked_for_already_is_not_told() {
        let nowhere = Path::new("");
        let mut request = Request {
            core: nowhere,
            program: nowhere,
            arguments: &[],
            input: None,
            guide: Guide::Temporal,
            align: Align::Index,
            points: Points::Synchronisation,
            preemptions: 2,
            model: MemoryModel::SequentiallyConsistent,
            time: Duration::from_secs(60),
            from: None,
            output: nowhere,
        };
        let quick = Duration::from_secs(1);
        let told = options(&request, quick);
        assert_eq!(
            told,
            ["--preempt accesses", "--preemptions 3", "--model tso"]
        );
        let told = options(&request, request.time);
        assert_eq!(told[0], "--time 600s");
        request.points = Points::Accesses;
        request.preemptions = MOST_PREEMPTIONS;
        request.from = Some(nowhere);
        assert!(options(&request, quick).is_empty());
    }
}
