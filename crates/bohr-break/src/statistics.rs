//! What became of breakpoints.

use crate::figures::Statistics;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, Once, PoisonError};
use std::time::Instant;

/// Counters of one breakpoint.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub visits: AtomicU64,
    pub postponements: AtomicU64,
    pub hits: AtomicU64,
    pub timeouts: AtomicU64,
    pub artefacts: AtomicU64,
    /// Microseconds from arming to the first hit, plus one; 0 if there was none.
    first_hit: AtomicU64,
}

impl Counters {
    pub const fn new() -> Counters {
        Counters {
            visits: AtomicU64::new(0),
            postponements: AtomicU64::new(0),
            hits: AtomicU64::new(0),
            timeouts: AtomicU64::new(0),
            artefacts: AtomicU64::new(0),
            first_hit: AtomicU64::new(0),
        }
    }

    pub fn hit(&self) {
        self.hits.fetch_add(1, Relaxed);
        let elapsed = begin().elapsed().as_micros() as u64 + 1;
        let _ = self
            .first_hit
            .compare_exchange(0, elapsed, Relaxed, Relaxed);
    }

    pub fn read(&self, name: &'static str) -> Statistics {
        let first_hit = self.first_hit.load(Relaxed).checked_sub(1);
        let (hits, artefacts) = (self.hits.load(Relaxed), self.artefacts.load(Relaxed));
        let errors = if artefacts > 0 { artefacts } else { hits };
        Statistics {
            name,
            visits: self.visits.load(Relaxed),
            postponements: self.postponements.load(Relaxed),
            hits,
            timeouts: self.timeouts.load(Relaxed),
            seconds_to_first_hit: first_hit.map(|micros| micros as f64 / 1e6),
            artefacts,
            mean_time_to_error: (errors > 0)
                .then(|| begin().elapsed().as_secs_f64() / errors as f64),
        }
    }
}

/// Breakpoints that were visited while armed.
static KNOWN: Mutex<Vec<(&'static str, &'static Counters)>> = Mutex::new(Vec::new());

fn begin() -> Instant {
    static BEGIN: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    *BEGIN.get_or_init(Instant::now)
}

/// A breakpoint's first visit.
pub(crate) fn register(name: &'static str, counters: &'static Counters) {
    begin();
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.push((name, counters));
}

fn all() -> Vec<Statistics> {
    let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known
        .iter()
        .map(|(name, counters)| counters.read(name))
        .collect()
}

/// A line for every breakpoint that was visited.
#[must_use]
pub fn summary_as_text() -> String {
    let mut text = String::new();
    for one in all() {
        let seconds = |what: &str, time: Option<f64>| {
            time.map_or(String::new(), |time| format!(", {what} {time:.6} s"))
        };
        let _ = writeln!(
            text,
            "breakpoint {}: {} visits, {} postponed, {} hits, {} timed out{}{}",
            one.name,
            one.visits,
            one.postponements,
            one.hits,
            one.timeouts,
            seconds("first hit after", one.seconds_to_first_hit),
            seconds("mean time to error", one.mean_time_to_error),
        );
    }
    text
}

/// The same as one JSON array on one line.
#[must_use]
pub fn summary_as_json() -> String {
    let object = |one: &Statistics| {
        let seconds =
            |time: Option<f64>| time.map_or("null".to_string(), |seconds| format!("{seconds:.6}"));
        format!(
            "{{\"name\":{},\"visits\":{},\"postponements\":{},\"hits\":{},\"timeouts\":{},\
             \"seconds_to_first_hit\":{},\"artefacts\":{},\"mean_time_to_error\":{}}}",
            quoted(one.name),
            one.visits,
            one.postponements,
            one.hits,
            one.timeouts,
            seconds(one.seconds_to_first_hit),
            one.artefacts,
            seconds(one.mean_time_to_error),
        )
    };
    let objects: Vec<String> = all().iter().map(object).collect();
    format!("[{}]", objects.join(","))
}

fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            ' '.. => quoted.push(letter),
            _ => {
                let _ = write!(quoted, "\\u{:04x}", letter as u32);
            }
        }
    }
    quoted.push('"');
    quoted
}

/// Has the summary printed when the program ends, if the environment asks for it.
pub(crate) fn print_at_exit() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        unsafe extern "C" {
            fn atexit(function: extern "C" fn()) -> i32;
        }
        if std::env::var_os("BOHR_BREAK_SUMMARY").is_some() {
            // SAFETY: the C library calls it once, at exit; if it has no room for
            // it, there is no summary.
            unsafe { atexit(print) };
        }
    });
}

extern "C" fn print() {
    let wanted = std::env::var_os("BOHR_BREAK_SUMMARY");
    match wanted.is_some_and(|wanted| wanted == "json") {
        true => eprintln!("{}", summary_as_json()),
        false => eprint!("{}", summary_as_text()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted() {
        assert_eq!(quoted("a\"b\\c\n"), "\"a\\\"b\\\\c\\u000a\"");
    }
}
