//! Files in which the kernel describes the machine: they tell of the processors that
//! the program sees, which are as many on every machine.

use crate::{
    interpose::affinity::PROCESSORS,
    peek::peek,
    system::{self, Answer},
};
use alloc::{format, string::String};

/// What a file tells.
type Content = fn() -> Option<String>;

const FILES: [(&[u8], Content); 4] = [
    (b"/proc/cpuinfo\0", descriptions),
    (b"/sys/devices/system/cpu/online\0", numbers),
    (b"/sys/devices/system/cpu/possible\0", numbers),
    (b"/sys/devices/system/cpu/present\0", numbers),
];

/// Answers a call that opens one of them; `None` if it does not.
pub fn answer(number: i64, arguments: [usize; 6]) -> Option<isize> {
    let [first, second, third, ..] = arguments;
    let (path, flags) = match number {
        libc::SYS_open => (first, second as i32),
        libc::SYS_openat => (second, third as i32),
        _ => return None,
    };
    let (_, content) = FILES.iter().find(|(name, _)| is_at(path, name))?;
    if flags & libc::O_ACCMODE != libc::O_RDONLY {
        return None;
    }
    let made = file_of(&content()?, flags & libc::O_CLOEXEC != 0);
    Some(made.map_or_else(|error| -(error as isize), |made| made as isize))
}

fn is_at(path: usize, name: &[u8]) -> bool {
    let mut bytes = name.iter().enumerate();
    bytes.all(|(at, byte)| peek(path.wrapping_add(at), 1) == Some(u64::from(*byte)))
}

/// A file without a name, as if it had just been opened.
fn file_of(content: &str, closes: bool) -> Answer {
    let flags = if closes { libc::MFD_CLOEXEC } else { 0 };
    let create = [c"machine".as_ptr() as usize, flags as usize, 0, 0, 0, 0];
    // SAFETY: makes a descriptor, and moves its offset.
    unsafe {
        let made = system::try_call(libc::SYS_memfd_create, create)?;
        system::write_all(made as i32, content.as_bytes())?;
        system::try_call(libc::SYS_lseek, [made, 0, libc::SEEK_SET as usize, 0, 0, 0])?;
        Ok(made)
    }
}

/// Processors by their numbers.
fn numbers() -> Option<String> {
    Some(format!("0-{}\n", PROCESSORS - 1))
}

/// The first processor of the machine, as often as the program sees one: each a core
/// of the same package.
fn descriptions() -> Option<String> {
    let real = String::from_utf8(system::file(c"/proc/cpuinfo").ok()?).ok()?;
    let first = real.split("\n\n").next()?;
    let mut all = String::new();
    for number in 0..PROCESSORS {
        for line in first.lines() {
            let own = match line.split('\t').next().unwrap_or_default() {
                "processor" | "core id" | "apicid" | "initial apicid" => Some(number),
                "physical id" => Some(0),
                "siblings" | "cpu cores" => Some(PROCESSORS),
                _ => None,
            };
            let name = line.split(':').next().unwrap_or_default();
            match own {
                Some(value) => all += &format!("{name}: {value}\n"),
                None => all += &format!("{line}\n"),
            }
        }
        all.push('\n');
    }
    Some(all)
}
