//! Moments and windows in words.

use bohr_event::{EventKind, Operation};
use bohr_explain::{Moment, Window};
use bohr_explore::Names;
use bohr_explore::Spot;
use serde_json::{Value, json};

/// A moment, as people read it.
#[derive(Clone, Debug)]
pub struct Told {
    pub thread: String,
    pub doing: String,
    pub object: String,
    spot: Spot,
    /// The line, and the lines of the calls that were put inline around it.
    chain: Vec<String>,
}

impl Told {
    pub fn of(moment: &Moment, names: &mut Names<'_>) -> Told {
        let place = moment.operation.place;
        Told {
            thread: moment.thread.to_string(),
            doing: verb(moment.operation.kind).to_string(),
            object: names.object(&moment.operation),
            spot: names.spot(place),
            chain: names.chain(place),
        }
    }

    /// Where it was.
    pub fn line(&self) -> String {
        let line = self.spot.line.clone();
        line.unwrap_or_else(|| self.spot.to_string())
    }

    /// What happened, without who did it.
    pub fn act(&self) -> String {
        format!("{} {} at {}", self.doing, self.object, self.line())
    }

    pub fn as_json(&self) -> Value {
        json!({
            "thread": self.thread,
            "kind": self.doing,
            "object": self.object,
            "function": self.spot.function,
            "line": self.spot.line,
            "lines": self.chain,
        })
    }
}

/// A window, as people read it.
pub struct ToldWindow {
    thread: String,
    opens: Option<Told>,
    closes: Option<Told>,
    intrusion: Option<Told>,
    /// What was done before, in between and afterwards with the variable that
    /// it is about.
    culprit: Option<[Option<Told>; 3]>,
    width: u64,
}

impl ToldWindow {
    pub fn of(window: &Window, names: &mut Names<'_>) -> ToldWindow {
        let mut told = |moment: &Moment| Told::of(moment, names);
        ToldWindow {
            thread: window.thread.to_string(),
            opens: window.opens.as_ref().map(&mut told),
            closes: window.closes.as_ref().map(&mut told),
            intrusion: window.intrusion.as_ref().map(&mut told),
            culprit: window.culprit.as_ref().map(|culprit| {
                let between = Some(culprit.between.clone());
                [&culprit.before, &between, &culprit.after]
                    .map(|moment| moment.as_ref().map(&mut told))
            }),
            width: window.width,
        }
    }

    pub fn as_json(&self) -> Value {
        let told = |told: &Option<Told>| told.as_ref().map(Told::as_json);
        let culprit = self.culprit.as_ref().map(|[before, between, after]| {
            json!({
                "before": told(before),
                "between": told(between),
                "after": told(after),
            })
        });
        json!({
            "thread": self.thread,
            "opens": told(&self.opens),
            "closes": told(&self.closes),
            "intrusion": told(&self.intrusion),
            "culprit": culprit,
            "width": self.width,
        })
    }

    /// The variable that it is about, or else its edges.
    pub fn sentence(&self) -> String {
        let thread = &self.thread;
        match &self.culprit {
            Some([before, between, after]) => sentence(
                thread,
                before.as_ref().or(self.opens.as_ref()),
                after.as_ref().or(self.closes.as_ref()),
                between.as_ref(),
            ),
            None => sentence(
                thread,
                self.opens.as_ref(),
                self.closes.as_ref(),
                self.intrusion.as_ref(),
            ),
        }
    }
}

fn sentence(
    thread: &str,
    opens: Option<&Told>,
    closes: Option<&Told>,
    intrusion: Option<&Told>,
) -> String {
    let what = match intrusion {
        Some(intrusion) => format!("thread {} {}", intrusion.thread, intrusion.act()),
        None => "another thread runs".to_string(),
    };
    match (opens, closes) {
        (Some(opens), Some(closes)) => format!(
            "{what},\n    after thread {thread} {}\n    and before it {}",
            opens.act(),
            closes.act()
        ),
        (Some(opens), None) => format!("{what},\n    after thread {thread} {}", opens.act()),
        (None, Some(closes)) => format!("{what},\n    before thread {thread} {}", closes.act()),
        (None, None) => format!("{what} while thread {thread} is at work"),
    }
}

/// What a thread does at an event of this kind.
pub fn verb(kind: EventKind) -> &'static str {
    use EventKind::*;
    match kind {
        Start => "starts",
        Exit => "ends",
        Fork => "creates",
        Join => "joins",
        Read => "reads",
        Write => "writes",
        Update => "updates",
        Fence => "passes a fence at",
        Acquire => "locks",
        Release => "unlocks",
        AcquireShared => "locks for reading",
        ReleaseShared => "unlocks for reading",
        Wait => "wakes from",
        Signal => "signals",
        Broadcast => "broadcasts",
        Send => "sends to",
        Receive => "receives from",
        Alloc => "allocates",
        Free => "frees",
        Arrive => "arrives at",
        Depart => "leaves",
        Yield => "yields",
        Sleep => "sleeps",
        Handle => "handles a signal",
        External => "makes a system call",
    }
}

/// What an operation does, in a few words.
pub fn deed(operation: &Operation, names: &mut Names<'_>) -> String {
    use EventKind::*;
    match operation.kind {
        Yield | Sleep | Handle | External | Fence => verb(operation.kind).to_string(),
        Start | Exit => verb(operation.kind).to_string(),
        kind => format!("{} {}", verb(kind), names.object(operation)),
    }
}
