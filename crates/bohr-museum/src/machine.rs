//! What `/proc` and the compilers say about the machine and about a run.

use std::fs;
use std::process::Command;

/// The processor, how many there are, and the kernel: what a figure that was
/// measured here has to be read with.
pub fn facts() -> String {
    let processors = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = processors
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "))
        .map_or("unknown processor", |(_, model)| model.trim());
    let count = processors
        .lines()
        .filter(|line| line.starts_with("processor"))
        .count();
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!("{model}, {count} processors, Linux {}", kernel.trim())
}

/// Processes that want a processor, in the mean of the last minute.
pub fn load() -> f64 {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    load_of(&text).unwrap_or(f64::NAN)
}

fn load_of(text: &str) -> Option<f64> {
    text.split_whitespace().next()?.parse().ok()
}

/// What the processors have done, in clock ticks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ticks {
    /// All that there were.
    all: u64,
    /// Those that went to nobody.
    idle: u64,
    /// Those that went to this program and to what it started and waited for.
    own: u64,
}

impl Ticks {
    /// Up to now.
    pub fn now() -> Option<Ticks> {
        let machine = fs::read_to_string("/proc/stat").ok()?;
        let own = fs::read_to_string("/proc/self/stat").ok()?;
        Ticks::read(&machine, &own)
    }

    /// The first line of `/proc/stat`: user, nice, system, idle, waiting, and more. Of
    /// `/proc/self/stat` the four figures from the eleventh behind the name on: by user
    /// and system, then the same of children.
    fn read(machine: &str, own: &str) -> Option<Ticks> {
        let numbers = |text: &str| -> Vec<u64> {
            { text.split_whitespace() }
                .filter_map(|it| it.parse().ok())
                .collect()
        };
        // Guests, the last two, are counted among the users.
        let machine = numbers(machine.lines().next()?);
        let machine = machine.get(..8)?;
        let (_, own) = own.rsplit_once(')')?;
        let own: Vec<&str> = own.split_whitespace().collect();
        Some(Ticks {
            all: machine.iter().sum(),
            idle: machine[3] + machine[4],
            own: numbers(&own.get(11..15)?.join(" ")).iter().sum(),
        })
    }

    /// Per cent of the time since then that others took.
    pub fn others_since(self, then: Ticks) -> f64 {
        let spent = |of: fn(&Ticks) -> u64| of(&self).saturating_sub(of(&then)) as f64;
        let all = spent(|it| it.all).max(1.0);
        let others = all - spent(|it| it.idle) - spent(|it| it.own);
        (1000.0 * others.max(0.0) / all).round() / 10.0
    }
}

/// The first line that a compiler says about its version.
pub fn version(compiler: &[String]) -> String {
    let (program, arguments) = compiler.split_first().expect("a compiler has a name");
    let output = Command::new(program)
        .args(arguments)
        .arg("--version")
        .output();
    let text = output.map(|output| output.stdout).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    text.lines().next().unwrap_or("unknown").trim().to_string()
}

/// The processor time that a process has used, in clock ticks, if all of its
/// threads are asleep; nothing if any of them runs or could run.
pub fn sleeping_ticks(process: u32) -> Option<u64> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).ok()?;
    let mut total = 0;
    for thread in threads {
        let text = fs::read_to_string(thread.ok()?.path().join("stat")).ok()?;
        total += ticks_if_asleep(&text)?;
    }
    Some(total)
}

/// Reads one line of `/proc/*/task/*/stat`. The name of the thread comes second,
/// in brackets, and may itself hold brackets and spaces.
fn ticks_if_asleep(stat: &str) -> Option<u64> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = after_name.split_whitespace().collect();
    let (user, system): (u64, u64) = (fields.get(11)?.parse().ok()?, fields.get(12)?.parse().ok()?);
    (*fields.first()? == "S").then_some(user + system)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleeping_thread_tells_its_ticks() {
        let stat = "77 (a (b) c) S 1 77 77 0 -1 4194304 100 0 0 0 12 30 0 0 20 0 3 0 1 2";
        assert_eq!(ticks_if_asleep(stat), Some(42));
        assert_eq!(ticks_if_asleep(&stat.replace(") S", ") R")), None);
        assert_eq!(ticks_if_asleep("77 (a) S 1"), None);
    }

    #[test]
    fn the_load_is_the_first_of_the_numbers() {
        assert_eq!(load_of("5.27 6.80 6.14 3/211 31816\n"), Some(5.27));
        assert_eq!(load_of(""), None);
        assert!(load() >= 0.0);
    }

    #[test]
    fn others_are_who_is_neither_idle_nor_oneself() {
        let own = |ticks: u64| format!("7 (a b) S 1 7 7 0 -1 4 1 0 0 0 {ticks} 3 20 7 20 0 1");
        let then = Ticks::read("cpu  100 0 50 800 50 0 0 0 0 0\ncpu0 1 2\n", &own(10)).unwrap();
        let expected = Ticks {
            all: 1000,
            idle: 850,
            own: 40,
        };
        assert_eq!(then, expected);
        let now = Ticks::read("cpu  180 10 60 890 60 0 0 0 0 0\n", &own(60)).unwrap();
        assert_eq!(now.others_since(then), 25.0);
        assert_eq!(Ticks::read("cpu 1 2", &own(1)), None);
        assert!(Ticks::now().is_some());
    }

    #[test]
    fn this_process_is_awake() {
        assert_eq!(sleeping_ticks(std::process::id()), None);
    }
}
