//! What keeps others out of a window: which advice fits depends on whether it lies between
//! two lines, between two accesses of one line, or between two passes through it.

use crate::told::Told;
use bohr_explain::{Moment, Window};

/// Whether a window lies between two times that the same access is made, rather than
/// between two accesses.
pub(crate) fn comes_again(window: &Window) -> bool {
    let [opens, _, closes] = window.accesses();
    let place = |moment: Option<&Moment>| moment.map(|moment| moment.operation.place);
    place(opens) == place(closes)
}

/// What keeps others out; `again` if it is the same access twice that they come between.
pub(crate) fn one_step(
    opens: Option<&Told>,
    intrusion: Option<&Told>,
    closes: Option<&Told>,
    again: bool,
) -> String {
    let also = intrusion.map_or(String::new(), |intrusion| {
        format!(" that {} needs, too", intrusion.place())
    });
    match (opens, closes) {
        (Some(opens), Some(closes)) if opens.place() == closes.place() && again => format!(
            "let nobody come between two passes through {}: hold one lock over both{also}",
            opens.place()
        ),
        (Some(opens), Some(closes)) if opens.place() == closes.place() => {
            let place = opens.place();
            let also = intrusion.filter(|intrusion| intrusion.place() != place);
            let also = also.map_or(String::new(), |intrusion| {
                format!(" that {} needs, too", intrusion.place())
            });
            let atomic = match opens.object == closes.object {
                true => ", or use one atomic operation",
                false => "",
            };
            format!("make {place} one step: hold a lock over all of it{also}{atomic}")
        }
        (Some(opens), Some(closes)) => format!(
            "make one step of {} to {}: hold one lock over both{also}",
            opens.place(),
            closes.place()
        ),
        (_, Some(closes)) => format!("let the others begin only after {}", closes.place()),
        (Some(opens), None) => format!("hold a lock{also} from {} on", opens.place()),
        (None, None) => "let the others begin later".to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(object: &str, line: &str) -> Told {
        Told {
            object: object.to_string(),
            line: Some(line.to_string()),
            ..Told::default()
        }
    }

    #[test]
    fn what_is_to_be_one_step_is_told_by_what_it_is() {
        let [read, written] = [told("count", "a.c:7"), told("count", "a.c:7")];
        let one = |closes: &Told, intrusion: &Told, again| {
            one_step(Some(&read), Some(intrusion), Some(closes), again)
        };
        assert_eq!(
            one(&written, &written, false),
            "make a.c:7 one step: hold a lock over all of it, or use one atomic operation"
        );
        assert_eq!(
            one(&told("other", "a.c:7"), &told("count", "a.c:9"), false),
            "make a.c:7 one step: hold a lock over all of it that a.c:9 needs, too"
        );
        assert_eq!(
            one(&read, &told("count", "a.c:9"), true),
            "let nobody come between two passes through a.c:7: hold one lock over both that \
             a.c:9 needs, too"
        );
    }
}
