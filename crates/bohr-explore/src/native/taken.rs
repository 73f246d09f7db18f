//! A core of a native run at the moment at which a signal is about to end it, taken by
//! bohr itself: what the kernel does with cores is a matter of how the machine is set
//! up, and often they go elsewhere.
//!
//! The process is traced, but only so that its threads are known and its signals are
//! seen first; between two signals nothing holds it up but the beginning of threads.

use crate::core_file::{EndingSignal, Standing, ThreadStatus};
use nix::libc::{self, user_regs_struct};
use nix::sys::ptrace;
use nix::sys::signal::Signal;
use nix::unistd::Pid as Traced;
use rustix::process::{Pid, Signal as Sent, WaitOptions, WaitStatus, kill_process, waitpid};
use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Waits until somebody lets it go on, and becomes the program.
const SCRIPT: &str = r#"kill -STOP $$; exec "$0" "$@""#;

/// The flag of `waitpid` for threads.
const THREADS: WaitOptions = WaitOptions::from_bits_retain(libc::__WALL as u32);

/// Signals that say that something went wrong.
const FAILURES: [i32; 7] = [
    libc::SIGILL,
    libc::SIGTRAP,
    libc::SIGABRT,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGSEGV,
    libc::SIGSYS,
];

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Watched {
    /// By a signal; this is the core.
    Core(Vec<u8>),
    /// In some other way.
    Ended,
    /// Not in the time that it was given.
    TimeLimit,
}

/// A program, started so that it can be traced before it begins: arguments,
/// environment and files are for the caller to add.
#[must_use]
pub fn command(program: &Path) -> Command {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", SCRIPT]).arg(program);
    command
}

/// Runs what [`command`] began, to its end, to the signal that ends it, or for a time.
///
/// # Errors
/// If the program cannot be started or traced.
pub fn take(mut command: Command, limit: Duration) -> io::Result<Watched> {
    let mut child = command.spawn()?;
    let process = Pid::from_child(&child);
    let (ended, end) = channel::<()>();
    std::thread::scope(|scope| {
        let watchdog = scope.spawn(move || {
            let late = end.recv_timeout(limit) == Err(RecvTimeoutError::Timeout);
            if late {
                let _ = kill_process(process, Sent::KILL);
            }
            late
        });
        let watched = Tracer::begin(process).and_then(|tracer| {
            let watched = tracer.watch();
            tracer.end();
            watched
        });
        // It may be there where it could not be traced.
        let _ = kill_process(process, Sent::KILL);
        let _ = child.wait();
        let _ = ended.send(());
        let late = watchdog.join().unwrap_or(false);
        match watched {
            Ok(Watched::Core(core)) => Ok(Watched::Core(core)),
            // Whatever went wrong then did so because it was ended.
            _ if late => Ok(Watched::TimeLimit),
            other => other,
        }
    })
}

struct Tracer {
    process: Pid,
}

impl Tracer {
    fn begin(process: Pid) -> io::Result<Tracer> {
        waitpid(Some(process), WaitOptions::UNTRACED)?;
        let options = ptrace::Options::PTRACE_O_TRACECLONE | ptrace::Options::PTRACE_O_EXITKILL;
        ptrace::seize(traced(process), options)?;
        kill_process(process, Sent::CONT)?;
        Ok(Tracer { process })
    }

    fn watch(&self) -> io::Result<Watched> {
        loop {
            let Some((thread, status)) = waitpid(None, THREADS)? else {
                continue;
            };
            let Some(signal) = stopped_by(status) else {
                if thread == self.process {
                    return Ok(Watched::Ended);
                }
                continue;
            };
            if FAILURES.contains(&signal) && !self.handles(signal) {
                return self.core(thread, signal).map(Watched::Core);
            }
            go_on(thread, signal)?;
        }
    }

    /// Ends the process. Its first thread has ended when all others have been waited for.
    fn end(&self) {
        let _ = kill_process(self.process, Sent::KILL);
        while let Ok(waited) = waitpid(None, THREADS) {
            match waited {
                Some((thread, status)) if status.stopped() => {
                    let _ = go_on(thread, 0);
                }
                Some((thread, _)) if thread == self.process => return,
                _ => {}
            }
        }
    }

    /// Whether the program does something about a signal itself.
    fn handles(&self, signal: i32) -> bool {
        let path = format!("/proc/{}/status", self.process.as_raw_nonzero());
        let status = fs::read_to_string(path).unwrap_or_default();
        let mut masks = status.lines().filter_map(|line| {
            let mask = line
                .strip_prefix("SigCgt:")
                .or(line.strip_prefix("SigIgn:"))?;
            u64::from_str_radix(mask.trim(), 16).ok()
        });
        masks.any(|mask| mask >> (signal - 1) & 1 == 1)
    }

    fn core(&self, failed: Pid, signal: i32) -> io::Result<Vec<u8>> {
        let others = self.stop_others(failed)?;
        let mut threads = Vec::new();
        for thread in [failed].into_iter().chain(others) {
            let of_thread = if thread == failed { signal } else { 0 };
            threads.push(ThreadStatus {
                number: thread.as_raw_nonzero().get(),
                signal: of_thread,
                registers: in_order(&ptrace::getregs(traced(thread))?),
            });
        }
        let ending = EndingSignal {
            number: signal,
            code: ptrace::getsiginfo(traced(failed))?.si_code,
            address: threads[0].registers[INSTRUCTION],
        };
        let standing = Standing::of(self.process);
        let standing = standing.ok_or_else(|| io::Error::from(io::ErrorKind::PermissionDenied))?;
        Ok(standing.core(&threads, Some(ending)))
    }

    /// Stops all threads but one. Those that end meanwhile are not among them.
    fn stop_others(&self, failed: Pid) -> io::Result<Vec<Pid>> {
        let folder = format!("/proc/{}/task", self.process.as_raw_nonzero());
        let mut stopped = Vec::new();
        for entry in fs::read_dir(folder)?.flatten() {
            let number = entry
                .file_name()
                .to_str()
                .and_then(|name| name.parse().ok());
            let thread = number.and_then(Pid::from_raw);
            let other = |thread: &Pid| *thread != failed && !has_ended(&entry.path());
            let Some(thread) = thread.filter(other) else {
                continue;
            };
            // Whoever has stopped by itself in the meantime stands as well.
            let _ = ptrace::interrupt(traced(thread));
            let waited = waitpid(Some(thread), THREADS);
            if let Ok(Some((_, status))) = waited
                && status.stopped()
            {
                stopped.push(thread);
            }
        }
        Ok(stopped)
    }
}

/// Whether a thread, by its folder below `/proc`, is but a name: nobody hears of the end
/// of a first thread before the others have ended, too.
fn has_ended(thread: &Path) -> bool {
    let stat = fs::read_to_string(thread.join("stat")).unwrap_or_default();
    let state = stat.rsplit_once(')').map(|(_, rest)| rest.trim_start());
    state.is_none_or(|state| state.starts_with(['Z', 'X']))
}

/// The signal at which a thread has stopped; 0 where it is none: it has begun, or has
/// made another.
fn stopped_by(status: WaitStatus) -> Option<i32> {
    let signal = status.stopping_signal()?;
    let is_event = status.as_raw() >> 16 != 0;
    Some(if is_event { 0 } else { signal })
}

/// Lets a thread go on with the signal that it has got.
fn go_on(thread: Pid, signal: i32) -> io::Result<()> {
    let passed = match signal {
        0 => None,
        _ => Some(Signal::try_from(signal)?),
    };
    match ptrace::cont(traced(thread), passed) {
        // It has ended in the meantime.
        Err(nix::errno::Errno::ESRCH) | Ok(()) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn traced(thread: Pid) -> Traced {
    Traced::from_raw(thread.as_raw_nonzero().get())
}

/// Where the address of the next instruction is among the registers.
const INSTRUCTION: usize = 16;

fn in_order(registers: &user_regs_struct) -> [u64; 27] {
    let user_regs_struct {
        r15,
        r14,
        r13,
        r12,
        rbp,
        rbx,
        r11,
        r10,
        r9,
        r8,
        rax,
        rcx,
        rdx,
        rsi,
        rdi,
        orig_rax,
        rip,
        cs,
        eflags,
        rsp,
        ss,
        fs_base,
        gs_base,
        ds,
        es,
        fs,
        gs,
    } = *registers;
    [
        r15, r14, r13, r12, rbp, rbx, r11, r10, r9, r8, rax, rcx, rdx, rsi, rdi, orig_rax, rip, cs,
        eflags, rsp, ss, fs_base, gs_base, ds, es, fs, gs,
    ]
}
