//! Which breakpoints are armed: by the environment, or by the program.

use crate::statistics;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

const UNKNOWN: u8 = 0;
const ASLEEP: u8 = 1;
const ARMED: u8 = 2;

static STATE: AtomicU8 = AtomicU8::new(UNKNOWN);
static SETTINGS: OnceLock<Settings> = OnceLock::new();

/// What the environment says.
#[derive(Debug, PartialEq, Eq)]
struct Settings {
    /// Names of armed breakpoints; empty for all.
    names: Vec<String>,
    pause: Option<Duration>,
}

impl Settings {
    fn new(names: Option<&str>, pause: Option<&str>) -> Settings {
        let names = names.filter(|names| *names != "all").unwrap_or_default();
        let names = names.split(',').map(str::trim);
        let pause = pause.and_then(|pause| pause.trim().parse().ok());
        Settings {
            names: names
                .filter(|name| !name.is_empty())
                .map(String::from)
                .collect(),
            pause: pause.map(Duration::from_millis),
        }
    }

    fn of_environment() -> Settings {
        let variable = |name: &str| std::env::var(name).ok();
        let (names, pause) = (variable("BOHR_BREAK"), variable("BOHR_BREAK_PAUSE"));
        Settings::new(names.as_deref(), pause.as_deref())
    }
}

/// Whether breakpoints do anything. One load and one comparison while they sleep.
#[inline]
pub(crate) fn are_armed() -> bool {
    match STATE.load(Ordering::Relaxed) {
        ASLEEP => false,
        ARMED => true,
        _ => look(),
    }
}

/// Looks at the environment.
#[cold]
fn look() -> bool {
    let wanted = std::env::var_os("BOHR_BREAK").is_some_and(|value| !value.is_empty());
    let state = if wanted { ARMED } else { ASLEEP };
    // Somebody may have called `arm` meanwhile.
    let _ = STATE.compare_exchange(UNKNOWN, state, Ordering::Relaxed, Ordering::Relaxed);
    if wanted {
        statistics::print_at_exit();
    }
    STATE.load(Ordering::Relaxed) == ARMED
}

/// Arms all breakpoints, or those that the environment names.
pub fn arm() {
    STATE.store(ARMED, Ordering::Relaxed);
    statistics::print_at_exit();
}

/// Puts all breakpoints to sleep. Threads that are held up go on when their pause
/// is over.
pub fn disarm() {
    STATE.store(ASLEEP, Ordering::Relaxed);
}

/// Whether the environment leaves this breakpoint in.
pub(crate) fn includes(name: &str) -> bool {
    let settings = SETTINGS.get_or_init(Settings::of_environment);
    settings.names.is_empty() || settings.names.iter().any(|one| one == name)
}

/// How long a thread is held up that would be for this long.
pub(crate) fn pause(own: Duration) -> Duration {
    let settings = SETTINGS.get_or_init(Settings::of_environment);
    settings.pause.unwrap_or(own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_names_breakpoints_and_pauses() {
        let all = Settings::new(Some("all"), None);
        assert_eq!(all, Settings::new(None, None));
        assert!(all.names.is_empty());
        let some = Settings::new(Some("one, two words,"), Some(" 250 "));
        assert_eq!(some.names, ["one", "two words"]);
        assert_eq!(some.pause, Some(Duration::from_millis(250)));
        assert_eq!(Settings::new(None, Some("soon")).pause, None);
    }
}
