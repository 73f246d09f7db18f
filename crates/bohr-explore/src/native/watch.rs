//! Waits for the end of a process, and notices when none will come.

use super::ending::Ending;
use super::stall::{Stall, Standstill};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

/// How long a standstill has to last. It is one for good: nobody is left who
/// could end it; only who is just being woken looks the same.
const STANDSTILL: Duration = Duration::from_millis(30);

/// How often one looks whether anybody moves: often while the run is young, since
/// that is how exactly the beginning of a standstill is known.
const SHORTEST: Duration = Duration::from_micros(500);
const LONGEST: Duration = Duration::from_millis(5);

/// Waits until the process ends, stands still or has had its time, or until
/// somebody asks for the end; also says since when it has been so.
pub fn wait(
    child: &mut Child,
    deadline: Instant,
    go_on: &dyn Fn() -> bool,
) -> std::io::Result<(Ending, Instant)> {
    let begun = Instant::now();
    let exited = pidfd_open(Pid::from_child(child), PidfdFlags::empty())?;
    let mut still: Option<(Instant, Standstill)> = None;
    loop {
        let slice = (begun.elapsed() / 8).clamp(SHORTEST, LONGEST);
        let slice = Timespec::try_from(slice).expect("a short time");
        match poll(&mut [PollFd::new(&exited, PollFlags::IN)], Some(&slice)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let now = Instant::now();
        if let Some(status) = child.try_wait()? {
            return Ok((ending(status), now));
        }
        let standing = Standstill::of(child.id());
        still = match (standing, still.take()) {
            (None, _) => None,
            (Some(new), Some((since, old))) if new == old => Some((since, old)),
            (Some(new), _) => Some((now, new)),
        };
        if let Some((since, standstill)) = &still
            && now.duration_since(*since) > STANDSTILL
        {
            let stall = Stall::of(child.id(), standstill);
            end(child)?;
            return Ok((Ending::Stalled(stall), *since));
        }
        if now > deadline || !go_on() {
            end(child)?;
            return Ok((Ending::Endless, now));
        }
    }
}

fn end(child: &mut Child) -> std::io::Result<()> {
    child.kill()?;
    child.wait().map(drop)
}

fn ending(status: ExitStatus) -> Ending {
    match (status.code(), status.signal()) {
        (Some(code), _) => Ending::Exited(code),
        (None, signal) => Ending::Signalled(signal.unwrap_or(0)),
    }
}
