//! What it takes to fail: a sentence, and the moments that it names.

use crate::remedy::{comes_again, one_step};
use crate::told::{Teller, Told};
use bohr_explain::{
    Chance, Lifetime, Link, Misdirected, Moment, Order, Stale, Stolen, Unheard, Window,
};
use serde::Serialize;

/// Which way things went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FindingKind {
    /// Threads that wait for each other.
    Deadlock,
    /// Memory that is used after its end.
    Lifetime,
    /// A wake-up that came before the wait.
    MissedNotification,
    /// A wake-up of one thread while another one should have gone on.
    WrongWakeup,
    /// A wake-up that another thread was quicker to use.
    StolenWakeup,
    /// A wait that ends without a signal.
    SpuriousWake,
    /// A wait of which the time is over.
    TimeOut,
    /// Another thread in between what should have been one step.
    Atomicity,
    /// Two moments in the wrong order.
    Order,
    /// A store that others could not see yet.
    StoreBuffer,
    /// Conflicting accesses that nothing orders.
    DataRace,
}

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Which way.
    pub kind: FindingKind,
    /// The variable, lock or block that it is about, if it is about one.
    pub variable: Option<String>,
    /// For people.
    pub sentence: String,
    /// What the sentence names, in its order.
    pub moments: Vec<Told>,
    /// What usually mends it.
    pub remedy: String,
}

impl Finding {
    /// A circle of threads that wait for each other.
    #[must_use]
    pub fn of_circle(links: &[Link], teller: &mut dyn Teller) -> Finding {
        let told: Vec<(Option<Told>, Told)> = links
            .iter()
            .map(|link| {
                let holds = link.holds.as_ref().map(|holds| teller.tell(holds));
                (holds, teller.tell(&link.waits))
            })
            .collect();
        let sentences = told.iter().enumerate().map(|(position, (holds, waits))| {
            let next = &told[(position + 1) % told.len()].1.thread;
            let has = match holds {
                Some(holds) => format!("has {} since {} and ", holds.object, holds.place()),
                None => String::new(),
            };
            let wants = match waits.object == format!("thread {next}") {
                true => format!("thread {next} to end"),
                false => format!("{}, which thread {next} has", waits.object),
            };
            format!(
                "thread {} {has}waits at {} for {wants}",
                waits.thread,
                waits.place()
            )
        });
        Finding {
            kind: FindingKind::Deadlock,
            variable: told.first().map(|(_, waits)| waits.object.clone()),
            sentence: sentences.collect::<Vec<_>>().join(",\n    "),
            moments: told
                .iter()
                .flat_map(|(holds, waits)| holds.iter().chain([waits]))
                .cloned()
                .collect(),
            remedy: match links.len() {
                1 => "do not wait for what only the same thread can give".to_string(),
                _ => "take them in one order everywhere, or give the first back before the second"
                    .to_string(),
            },
        }
    }

    /// Memory that is used after its end.
    #[must_use]
    pub fn of_lifetime(lifetime: &Lifetime, teller: &mut dyn Teller) -> Finding {
        let freed = teller.tell(&lifetime.freed);
        let used = teller.tell(&lifetime.used);
        let allocated = lifetime
            .allocated
            .as_ref()
            .map(|moment| teller.tell(moment));
        let origin = match &allocated {
            Some(allocated) => format!(", allocated at {}", allocated.place()),
            None => String::new(),
        };
        let sentence = format!(
            "thread {} {},\n    after thread {} frees it at {}{origin}",
            used.thread,
            used.act(),
            freed.thread,
            freed.place(),
        );
        Finding {
            kind: FindingKind::Lifetime,
            variable: Some(used.object.clone()),
            sentence,
            remedy: format!(
                "free it only when thread {} cannot reach it any more: join it first, or count \
                 the users",
                used.thread
            ),
            moments: [used, freed].into_iter().chain(allocated).collect(),
        }
    }

    /// A wake-up that came before the wait.
    #[must_use]
    pub fn of_unheard(unheard: &Unheard, teller: &mut dyn Teller) -> Finding {
        let notified = teller.tell(&unheard.notified);
        let waits = teller.tell(&unheard.waits);
        let sentence = format!(
            "thread {} {},\n    before thread {} waits for that at {}",
            notified.thread,
            notified.act(),
            waits.thread,
            waits.place()
        );
        Finding {
            kind: FindingKind::MissedNotification,
            variable: Some(waits.object.clone()),
            sentence,
            moments: vec![notified, waits],
            remedy:
                "set a flag under the lock before notifying, and wait in a loop that looks at it"
                    .to_string(),
        }
    }

    /// A wake-up of one thread while another one should have gone on.
    #[must_use]
    pub fn of_misdirected(signal: &Misdirected, teller: &mut dyn Teller) -> Finding {
        let signalled = teller.tell(&signal.signalled);
        let woken = teller.tell(&signal.woken);
        let waits = teller.tell(&signal.waits);
        let written = signal.written.as_ref().map(|moment| teller.tell(moment));
        let unseen = match &written {
            Some(written) => format!(
                "\n    and has not seen that {} {}",
                written.who(),
                written.act()
            ),
            None => String::new(),
        };
        Finding {
            kind: FindingKind::WrongWakeup,
            variable: Some(signalled.object.clone()),
            sentence: format!(
                "{} {}, which wakes {} at {},\n    while {} keeps waiting for that at {}{unseen}",
                signalled.who(),
                signalled.act(),
                woken.who(),
                woken.place(),
                waits.who(),
                waits.place()
            ),
            remedy: format!(
                "wake all at {}, or give those who wait for different things a condition each",
                signalled.place()
            ),
            moments: [signalled, woken, waits]
                .into_iter()
                .chain(written)
                .collect(),
        }
    }

    /// A wake-up that another thread was quicker to use.
    #[must_use]
    pub fn of_stolen(stolen: &Stolen, teller: &mut dyn Teller) -> Finding {
        let signalled = teller.tell(&stolen.signalled);
        let taken = teller.tell(&stolen.taken);
        let woken = teller.tell(&stolen.woken);
        let used = teller.tell(&stolen.used);
        Finding {
            kind: FindingKind::StolenWakeup,
            variable: Some(taken.object.clone()),
            sentence: format!(
                "{} {},\n    after {} {}, which wakes {} at {},\n    and before that {} \
                 without looking again",
                taken.who(),
                taken.act(),
                signalled.who(),
                signalled.act(),
                woken.who(),
                woken.place(),
                used.act()
            ),
            remedy: format!(
                "wait at {} in a loop that looks again (`while`, not `if`): others may come \
                 between a signal and whoever it wakes",
                woken.place()
            ),
            moments: vec![signalled, taken, woken, used],
        }
    }

    /// A wait that had to end by chance.
    #[must_use]
    pub fn of_chance(chance: &Chance, teller: &mut dyn Teller) -> Finding {
        let ended = teller.tell(&chance.ended);
        let (who, place) = (ended.who(), ended.place());
        let (kind, sentence, remedy) = match chance.expired {
            true => (
                FindingKind::TimeOut,
                format!(
                    "the time of {who} to wait for {} at {place} is over",
                    ended.object
                ),
                format!(
                    "count on the time at {place} being over before what is waited for has come"
                ),
            ),
            false => (
                FindingKind::SpuriousWake,
                format!(
                    "the wait of {who} for {} at {place} ends without a signal",
                    ended.object
                ),
                format!("wait at {place} in a loop that looks at what is waited for"),
            ),
        };
        Finding {
            kind,
            variable: Some(ended.object.clone()),
            sentence,
            remedy,
            moments: vec![ended],
        }
    }

    /// Another thread in between: told by the variable that it is about, or else
    /// by the edges.
    #[must_use]
    pub fn of_window(window: &Window, teller: &mut dyn Teller) -> Finding {
        let culprit = window.culprit.as_ref();
        let then = culprit.and_then(|culprit| culprit.then.as_ref());
        let mut tell = |moment: Option<&Moment>| moment.map(|moment| teller.tell(moment));
        let [opens, intrusion, closes] = window.accesses().map(&mut tell);
        let then = tell(then);
        let mut sentence = interruption(
            &window.thread.to_string(),
            opens.as_ref(),
            closes.as_ref(),
            [intrusion.as_ref(), then.as_ref()],
        );
        let mut finding = Finding {
            kind: FindingKind::Atomicity,
            variable: intrusion
                .as_ref()
                .filter(|_| culprit.is_some())
                .map(|intrusion| intrusion.object.clone()),
            sentence: String::new(),
            remedy: one_step(
                opens.as_ref(),
                intrusion.as_ref(),
                closes.as_ref(),
                comes_again(window),
            ),
            moments: [opens, intrusion, then, closes]
                .into_iter()
                .flatten()
                .collect(),
        };
        for further in culprit.iter().flat_map(|culprit| &culprit.further) {
            let [before, between, after] = further.each_ref().map(|moment| teller.tell(moment));
            sentence.push_str(&format!(
                ";\n    likewise {}: {}, {}, {}",
                before.object,
                before.place(),
                between.place(),
                after.place()
            ));
            finding.moments.extend([before, between, after]);
        }
        Finding {
            sentence,
            ..finding
        }
    }

    /// Two accesses that nothing orders.
    #[must_use]
    pub fn of_race(pair: &[Moment; 2], teller: &mut dyn Teller) -> Finding {
        let [first, second] = pair.each_ref().map(|moment| teller.tell(moment));
        Finding {
            kind: FindingKind::DataRace,
            variable: Some(first.object.clone()),
            sentence: format!(
                "nothing orders {}, which {},\n    and {}, which {}",
                first.who(),
                first.act(),
                second.who(),
                second.act()
            ),
            moments: vec![first, second],
            remedy: "take one lock around both, or make the variable atomic".to_string(),
        }
    }

    /// A read that missed a store.
    #[must_use]
    pub fn of_stale(stale: &Stale, teller: &mut dyn Teller) -> Finding {
        let read = teller.tell(&stale.read);
        let store = teller.tell(&stale.store);
        Finding {
            kind: FindingKind::StoreBuffer,
            variable: Some(read.object.clone()),
            sentence: format!(
                "{} {}\n    while what {} stored there at {} was still in its store buffer",
                read.who(),
                read.act(),
                store.who(),
                store.place()
            ),
            remedy: format!(
                "put a sequentially consistent fence behind the store at {}, or make the store \
                 sequentially consistent",
                store.place()
            ),
            moments: vec![store, read],
        }
    }

    /// Two moments in the wrong order.
    #[must_use]
    pub fn of_order(order: &Order, teller: &mut dyn Teller) -> Finding {
        let first = teller.tell(&order.first);
        let second = teller.tell(&order.second);
        let earlier = order.earlier.as_ref().map(|earlier| teller.tell(earlier));
        let since = match &earlier {
            Some(earlier) => format!(
                ",\n    which {} it at {} before that",
                earlier.kind,
                earlier.place()
            ),
            None => String::new(),
        };
        Finding {
            kind: FindingKind::Order,
            variable: (first.object == second.object).then(|| first.object.clone()),
            sentence: format!(
                "{} {}\n    before {} {}{since}",
                first.who(),
                first.act(),
                second.who(),
                second.act()
            ),
            remedy: format!(
                "have thread {} wait for {}: a join, a condition, a semaphore",
                first.thread,
                second.place()
            ),
            moments: [first, second].into_iter().chain(earlier).collect(),
        }
    }
}

fn interruption(
    thread: &str,
    opens: Option<&Told>,
    closes: Option<&Told>,
    [intrusion, then]: [Option<&Told>; 2],
) -> String {
    let what = match (intrusion, then) {
        (Some(intrusion), None) => format!("{} {}", intrusion.who(), intrusion.act()),
        (Some(intrusion), Some(then)) => format!(
            "{} {}\n    and {} {}",
            intrusion.who(),
            intrusion.act(),
            then.who(),
            then.act()
        ),
        (None, _) => "another thread runs".to_string(),
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
