//! Whole threads (LEAN, Algorithm 1): level by level of the tree in which they
//! create each other, a parent with all that it creates.

use super::{Length, Reducer, Stage, Work};
use bohr_event::ThreadPath;

pub(super) fn fewer<R: Reducer>(work: &mut Work<'_, R>, stage: &mut Stage) -> Result<(), R::Error> {
    let mut level = 1;
    loop {
        let threads = work.reducer.threads();
        let here: Vec<ThreadPath> = threads
            .iter()
            .filter(|path| path.depth() == level)
            .cloned()
            .collect();
        if here.is_empty() && !threads.iter().any(|path| path.depth() > level) {
            return Ok(());
        }
        let before = work.cut.clone();
        work.search(stage, here.len(), Length::Longer, &|kept| {
            let mut omissions = before.without.clone();
            let gone = (0..here.len()).filter(|position| kept.binary_search(position).is_err());
            omissions
                .threads
                .extend(gone.map(|position| here[position].clone()));
            omissions.threads.sort();
            before.leaving_out(omissions)
        })?;
        level += 1;
    }
}
