//! The explorer's end of a fork server: starts the program with the runtime in
//! it, and has jobs done by it.

use crate::bug_file::Invocation;
use crate::ran::Ran;
use crate::stored::Store;
use crate::target::Target;
use bohr_event::abi::ADDRESS_SPACE;
use bohr_event::control::{
    self, CONTROL_VARIABLE, CONTROL_VERSION, ControlError, Detailing, ForkPoint, Job,
    LIBRARIES_VARIABLE, Ready, Reply, Request,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, PidfdFlags, Resource, Signal, getrlimit, kill_process_group, pidfd_open,
};
use std::ffi::OsStr;
use std::io::{Read, Seek, Write};
use std::ops::ControlFlow;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long one wait lasts before the caller is asked whether to go on.
const SLICE: Duration = Duration::from_millis(100);

/// What became of the conversation with the program.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// Programs may not have as much address space as the runtime maps into them.
    #[error(
        "bohr maps up to {} GiB of address space into a program, and programs may have {} GiB here (ulimit -v)",
        in_gibibytes(needed()), in_gibibytes(*.0)
    )]
    AddressSpace(u64),
    /// The program cannot be started.
    #[error("the program cannot be started")]
    Start(#[source] std::io::Error),
    /// It ended before it came to its fork point.
    #[error("the program ended before control began ({0})")]
    EndedEarly(std::process::ExitStatus),
    /// It has not come to its fork point in time.
    #[error("the program has not come to its first thread or its main function within {0:?}")]
    TooSlow(Duration),
    /// The connection broke in the middle of a job.
    #[error("the program's fork server has gone away")]
    Gone,
    /// Nothing came for longer than a run may take.
    #[error("the program's fork server has not answered for {0:?}")]
    Silent(Duration),
    /// The runtime speaks another version.
    #[error(
        "the runtime speaks version {found} of the control protocol, bohr speaks {CONTROL_VERSION}"
    )]
    OtherVersion {
        /// The runtime's.
        found: u32,
    },
    /// The runtime does not do this job.
    #[error("the runtime refuses the job: {0}")]
    Refused(String),
    /// The runtime said something that makes no sense at this point.
    #[error("the runtime broke the control protocol: {0}")]
    Protocol(String),
    /// The connection failed.
    #[error("the connection to the program failed")]
    Connection(#[from] std::io::Error),
    /// There is no file for traces.
    #[error("no file for traces can be made in the directory for temporary files")]
    Store(#[source] std::io::Error),
    /// The caller did not want to wait any longer.
    #[error("interrupted")]
    Interrupted,
}

impl From<ControlError> for ServerError {
    fn from(error: ControlError) -> ServerError {
        ServerError::Protocol(error.to_string())
    }
}

/// Where the output of the program goes, before its fork point and where a job
/// lets runs inherit it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Voice {
    /// Where bohr's own goes.
    Heard,
    /// All of it to standard error.
    Aside,
    /// Nowhere.
    Muted,
}

/// A program that stands at its fork point and runs jobs.
#[derive(Debug)]
pub struct Server {
    child: Child,
    stream: UnixStream,
    /// Bytes received that are not a whole frame yet.
    received: Vec<u8>,
    ready: Ready,
    point: Option<ForkPoint>,
}

impl Server {
    /// Starts the program and waits until it is ready; `go_on` is asked now and
    /// then whether to keep waiting.
    ///
    /// # Errors
    /// If the program does not come to its fork point.
    pub fn start(
        target: &Target,
        invocation: &Invocation,
        voice: Voice,
        patience: Duration,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Server, ServerError> {
        check_address_space()?;
        let (listener, name) = listen()?;
        let child = command(target, invocation, voice, &name)?.spawn();
        let mut child = child.map_err(ServerError::Start)?;
        let deadline = Instant::now() + patience;
        let stream = match accept(&listener, &mut child, deadline, patience, go_on) {
            Ok(stream) => stream,
            Err(error) => {
                end(&mut child);
                return Err(error);
            }
        };
        let mut server = Server {
            child,
            stream,
            received: Vec::new(),
            ready: Ready {
                objects: Vec::new(),
                events: 0,
                notices: Vec::new(),
            },
            point: None,
        };
        server.greet(patience, go_on)?;
        Ok(server)
    }

    /// The process that clones one for every run.
    #[must_use]
    pub fn process(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// What the program said at its fork point.
    #[must_use]
    pub fn ready(&self) -> &Ready {
        &self.ready
    }

    /// Where the runs of the last job began; `None` before the first.
    #[must_use]
    pub fn fork_point(&self) -> Option<ForkPoint> {
        self.point
    }

    fn greet(&mut self, patience: Duration, go_on: &dyn Fn() -> bool) -> Result<(), ServerError> {
        match self.receive(patience, go_on)? {
            Reply::Hello(hello) if hello.version == CONTROL_VERSION => {}
            Reply::Hello(hello) => {
                return Err(ServerError::OtherVersion {
                    found: hello.version,
                });
            }
            other => return Err(unexpected("hello", &other)),
        }
        match self.receive(patience, go_on) {
            Ok(Reply::Ready(ready)) => self.ready = ready,
            Ok(other) => return Err(unexpected("ready", &other)),
            Err(ServerError::Gone) => {
                return Err(match self.child.wait() {
                    Ok(status) => ServerError::EndedEarly(status),
                    Err(error) => ServerError::Connection(error),
                });
            }
            Err(ServerError::Silent(patience)) => return Err(ServerError::TooSlow(patience)),
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Has a job done; `take` gets the reports as they come and says whether to
    /// go on. After a break the server is of no use any more.
    ///
    /// # Errors
    /// If the fork server fails or falls silent.
    pub fn run(
        &mut self,
        job: Job,
        go_on: &dyn Fn() -> bool,
        mut take: impl FnMut(Vec<Ran>) -> ControlFlow<()>,
    ) -> Result<(), ServerError> {
        let patience =
            Duration::from_millis(u64::from(job.limits.milliseconds)) * 2 + Duration::from_secs(10);
        let store = match job.trace {
            Detailing::Never => None,
            _ => Some(Store::new().map_err(ServerError::Store)?),
        };
        let job = Job {
            store: store.as_ref().map(Store::path).unwrap_or_default(),
            ..job
        };
        self.stream
            .write_all(&control::frame(&Request::Run(Box::new(job))))?;
        loop {
            match self.receive(patience, go_on)? {
                Reply::Runs(reports) => {
                    let ran = reports.into_iter().map(|report| {
                        let stored = store.as_ref().zip(report.trace);
                        Ran::new(report, stored.map(|(store, offset)| store.trace(offset)))
                    });
                    if take(ran.collect()).is_break() {
                        return Err(ServerError::Interrupted);
                    }
                }
                Reply::Done(point) => {
                    self.point = Some(point);
                    return Ok(());
                }
                Reply::Refused(reason) => return Err(ServerError::Refused(reason)),
                other => return Err(unexpected("runs", &other)),
            }
        }
    }

    /// How long so many clones take that end at once, where runs are cloned.
    ///
    /// # Errors
    /// If the fork server fails or falls silent.
    pub fn clone_idly(&mut self, count: u32) -> Result<Duration, ServerError> {
        let request = control::frame(&Request::Clone(count));
        self.stream.write_all(&request)?;
        match self.receive(Duration::from_secs(60), &|| true)? {
            Reply::Cloned(nanoseconds) => Ok(Duration::from_nanos(nanoseconds)),
            other => Err(unexpected("cloned", &other)),
        }
    }

    fn receive(
        &mut self,
        patience: Duration,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Reply, ServerError> {
        let deadline = Instant::now() + patience;
        self.stream.set_read_timeout(Some(SLICE))?;
        loop {
            if let Some(reply) = self.whole_frame()? {
                return Ok(reply);
            }
            let mut chunk = [0; 1 << 16];
            match self.stream.read(&mut chunk) {
                Ok(0) => return Err(ServerError::Gone),
                Ok(length) => self.received.extend(&chunk[..length]),
                Err(error) if is_time_out(&error) => {}
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => {
                    return Err(ServerError::Gone);
                }
                Err(error) => return Err(error.into()),
            }
            if !go_on() {
                return Err(ServerError::Interrupted);
            }
            if Instant::now() > deadline {
                return Err(ServerError::Silent(patience));
            }
        }
    }

    fn whole_frame(&mut self) -> Result<Option<Reply>, ServerError> {
        let Some(header) = self.received.first_chunk::<4>() else {
            return Ok(None);
        };
        let end = 4 + control::frame_length(*header)?;
        let Some(body) = self.received.get(4..end) else {
            return Ok(None);
        };
        let reply = control::message(body)?;
        self.received.drain(..end);
        Ok(Some(reply))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

/// The program's runs die with it: each has asked the kernel for that. What they have
/// started is in its group, unless it has left that.
fn end(child: &mut Child) {
    // It may have ended already, and then there is nothing to do.
    if let Ok(None) = child.try_wait() {
        let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
    }
    let _ = child.kill();
    let _ = child.wait();
}

/// Bytes of address space that the runtime may come to map into a program.
fn needed() -> u64 {
    ADDRESS_SPACE.end - ADDRESS_SPACE.start
}

fn in_gibibytes(bytes: u64) -> u64 {
    bytes >> 30
}

/// Refuses a limit before it can look like a failure of the program, somewhere in a run.
fn check_address_space() -> Result<(), ServerError> {
    match getrlimit(Resource::As).current {
        Some(limit) if limit < needed() => Err(ServerError::AddressSpace(limit)),
        _ => Ok(()),
    }
}

fn is_time_out(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), Interrupted | TimedOut | WouldBlock)
}

fn unexpected(wanted: &str, reply: &Reply) -> ServerError {
    let got = match reply {
        Reply::Hello(_) => "hello",
        Reply::Ready(_) => "ready",
        Reply::Runs(_) => "runs",
        Reply::Done(_) => "done",
        Reply::Cloned(_) => "cloned",
        Reply::Refused(reason) => return ServerError::Refused(reason.clone()),
    };
    ServerError::Protocol(format!("expected {wanted}, got {got}"))
}

fn listen() -> Result<(UnixListener, String), ServerError> {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let number = COUNTER.fetch_add(1, Ordering::Relaxed);
    let name = format!("bohr-{}-{number}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name)?;
    let listener = UnixListener::bind_addr(&address)?;
    listener.set_nonblocking(true)?;
    Ok((listener, name))
}

fn command(
    target: &Target,
    invocation: &Invocation,
    voice: Voice,
    name: &str,
) -> Result<Command, ServerError> {
    let mut command = Command::new(&target.executable);
    // The program sees the name under which the user knows it.
    command.arg0(OsStr::from_bytes(&target.identity.path));
    command.args(
        invocation
            .arguments
            .iter()
            .map(|argument| OsStr::from_bytes(argument)),
    );
    command.env_clear();
    let mut preload = target.runtime.as_os_str().to_os_string();
    for library in &target.preload {
        preload.push(":");
        preload.push(library);
    }
    for (variable, value) in &invocation.environment {
        if variable == b"LD_PRELOAD" {
            preload.push(":");
            preload.push(OsStr::from_bytes(value));
        } else {
            command.env(OsStr::from_bytes(variable), OsStr::from_bytes(value));
        }
    }
    command
        .env("LD_PRELOAD", preload)
        .env(CONTROL_VARIABLE, name)
        // Rust's std would walk and name the stack of a panic within the run:
        // millions of events that say nothing. bohr shows the stacks itself.
        .env("RUST_BACKTRACE", "0");
    let late: Vec<&OsStr> = { target.loaded_late() }
        .flat_map(|(library, profile)| [library.as_os_str(), profile.as_os_str()])
        .collect();
    if !late.is_empty() {
        command.env(LIBRARIES_VARIABLE, late.join(OsStr::new("\n")));
    }
    // Ctrl-C at the terminal is for bohr, which then ends its programs.
    command.process_group(0);
    command.stdin(input(&invocation.input)?);
    match voice {
        Voice::Heard => {}
        Voice::Aside => drop(command.stdout(std::io::stderr())),
        Voice::Muted => drop(command.stdout(Stdio::null()).stderr(Stdio::null())),
    }
    Ok(command)
}

/// What a program reads as its standard input.
pub(crate) fn input(bytes: &[u8]) -> Result<Stdio, ServerError> {
    if bytes.is_empty() {
        return Ok(Stdio::null());
    }
    let mut file = tempfile::tempfile()?;
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(Stdio::from(file))
}

fn accept(
    listener: &UnixListener,
    child: &mut Child,
    deadline: Instant,
    patience: Duration,
    go_on: &dyn Fn() -> bool,
) -> Result<UnixStream, ServerError> {
    let process = Pid::from_child(child);
    let exited = pidfd_open(process, PidfdFlags::empty()).map_err(std::io::Error::from)?;
    loop {
        let mut watched = [
            PollFd::new(listener, PollFlags::IN),
            PollFd::new(&exited, PollFlags::IN),
        ];
        let slice = Timespec {
            tv_sec: 0,
            tv_nsec: i64::from(SLICE.subsec_nanos()),
        };
        match poll(&mut watched, Some(&slice)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(std::io::Error::from(error).into()),
        }
        let [connected, ended] = watched.map(|watch| !watch.revents().is_empty());
        if connected {
            let (stream, _) = listener.accept()?;
            stream.set_nonblocking(false)?;
            return Ok(stream);
        }
        if ended {
            return Err(ServerError::EndedEarly(child.wait()?));
        }
        if !go_on() {
            return Err(ServerError::Interrupted);
        }
        if Instant::now() > deadline {
            return Err(ServerError::TooSlow(patience));
        }
    }
}
