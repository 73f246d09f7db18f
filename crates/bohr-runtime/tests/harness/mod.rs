//! A small explorer for tests: compiles a real program, starts it with the
//! runtime preloaded, sends jobs, collects reports.

#![allow(dead_code, reason = "every test file uses a part of it")]

use bohr_event::ThreadIndex;
use bohr_event::control::{
    Backend, CONTROL_VARIABLE, Checkpoints, Detailing, ForkPoint, Job, Limits, Omissions, Outcome,
    Output, Policy, Probes, Ready, Reply, Request, RunReport, frame, frame_length, message,
};
use bohr_schedule::{Branch, Plan, Rule, Turn};
use bohr_trace::{Completeness, Outline, Record, Trace, format::FILE_HEADER};
use std::{
    fs::File,
    io::{Read, Write},
    ops::Deref,
    os::{
        fd::AsRawFd,
        linux::net::SocketAddrExt,
        unix::{
            fs::FileExt,
            net::{SocketAddr, UnixListener, UnixStream},
            process::CommandExt,
        },
    },
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};
use tempfile::TempDir;

/// The library under test, next to the test itself.
pub fn runtime() -> PathBuf {
    let test = std::env::current_exe().expect("the test has a path");
    let beside = test.with_file_name("libbohr_runtime.so");
    if beside.exists() {
        return beside;
    }
    // Examples lie one directory deeper.
    let directory = test
        .parent()
        .and_then(Path::parent)
        .expect("a target directory");
    directory.join("libbohr_runtime.so")
}

/// A compiled program in a directory that goes away with it.
pub struct Program {
    pub path: PathBuf,
    _directory: TempDir,
}

impl Program {
    /// Compiles `tests/programs/NAME` with the compiler for its extension.
    pub fn compile(name: &str) -> Program {
        Program::compile_with(name, &[])
    }

    pub fn compile_with(name: &str, flags: &[&str]) -> Program {
        let source = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/programs")
            .join(name);
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("program");
        let compiler = if name.ends_with(".rs") {
            "rustc"
        } else if name.ends_with(".cpp") {
            "clang++-22"
        } else {
            "clang-22"
        };
        let mut command = Command::new(compiler);
        if compiler == "rustc" {
            command.args(["--edition", "2024", "-g", "-O"]);
        } else {
            command.args(["-g", "-O1", "-pthread", "-Wall", "-Werror", "-lm"]);
        }
        let status = command
            .args(flags)
            .arg("-o")
            .arg(&path)
            .arg(&source)
            .status();
        assert!(
            status.is_ok_and(|status| status.success()),
            "{name} compiles"
        );
        Program {
            path,
            _directory: directory,
        }
    }

    /// Starts the program as a template.
    pub fn start(&self) -> Template {
        self.start_with(&[])
    }

    pub fn start_with(&self, arguments: &[&str]) -> Template {
        Template::start(&self.path, arguments)
    }

    /// Runs seeds `0..runs` of every strategy, with full detail.
    pub fn explore(&self, runs: u64) -> Vec<Ran> {
        let mut template = self.start();
        let mut reports = Vec::new();
        for rule in rules() {
            reports.extend(template.run(&job(&Plan::new(rule), runs)));
        }
        reports
    }

    /// Every run of every strategy must end with exit code 0.
    pub fn always_succeeds(&self, runs: u64) -> Vec<Ran> {
        let reports = self.explore(runs);
        for report in &reports {
            assert_eq!(
                report.outcome,
                Outcome::Exited { code: 0 },
                "seed {}: {}",
                report.seed,
                output(report)
            );
        }
        reports
    }
}

/// What a run wrote.
pub fn output(report: &Ran) -> String {
    let bytes = report
        .detail
        .as_ref()
        .map_or(&[][..], |detail| &detail.output);
    String::from_utf8_lossy(bytes).into_owned()
}

/// Rules that need no knowledge of the program.
pub fn rules() -> Vec<Rule> {
    vec![
        Rule::Random,
        Rule::Pct {
            depth: 3,
            length: 200,
        },
        Rule::Pos,
        Rule::Sequential,
    ]
}

/// A job with everything that can be reported.
pub fn job(plan: &Plan, runs: u64) -> Job {
    Job {
        first_seed: 0,
        stride: 1,
        runs,
        plan: postcard::to_allocvec(plan).expect("plans can be written"),
        stop_at_failure: false,
        backend: Backend::Fibers,
        trace: Detailing::Always,
        trace_limit: u64::MAX,
        store: String::new(),
        details: Detailing::Always,
        output: Output::Capture { limit: 1 << 20 },
        limits: Limits {
            events: 1_000_000,
            milliseconds: 10_000,
        },
        policy: Policy::default(),
        hold: false,
        rewind: true,
        given: Vec::new(),
        without: Omissions::default(),
        probes: Probes::default(),
        watch: None,
        checkpoints: Checkpoints::Never,
        image_at: None,
        from: String::new(),
    }
}

/// The plan of a search in which the main thread takes the first turns.
pub fn first_turns(count: usize) -> Plan {
    Plan::new(Rule::Systematic(Branch {
        turns: vec![Turn::Thread(ThreadIndex::MAIN); count],
        asleep: Vec::new(),
    }))
}

/// A report, and the events that the run has left in its trace.
#[derive(Clone, Debug, PartialEq)]
pub struct Ran {
    pub report: RunReport,
    pub trace: Vec<Record>,
    pub completeness: Option<Completeness>,
}

impl Ran {
    fn new(report: RunReport, store: &File) -> Ran {
        let mut ran = Ran {
            trace: Vec::new(),
            completeness: None,
            // Where in the file it was says nothing about the run.
            report: RunReport {
                trace: None,
                ..report
            },
        };
        if let Some(offset) = report.trace {
            let mut header = [0; FILE_HEADER];
            store.read_exact_at(&mut header, offset).expect("a header");
            let outline = Outline::read(&header).expect("a trace");
            let mut bytes = vec![0; outline.length() as usize];
            store.read_exact_at(&mut bytes, offset).expect("all of it");
            let trace = Trace::open(&bytes).expect("a trace");
            let events = trace.events().map(|event| event.expect("an event").1);
            ran.trace = events.collect();
            ran.completeness = Some(trace.completeness());
        }
        ran
    }
}

impl Deref for Ran {
    type Target = RunReport;

    fn deref(&self) -> &RunReport {
        &self.report
    }
}

/// A running template; killed with its runs when dropped.
pub struct Template {
    child: Child,
    stream: UnixStream,
    pub ready: Ready,
    /// Where the runs of the last job began.
    pub point: Option<ForkPoint>,
}

impl Template {
    pub fn start(path: &Path, arguments: &[&str]) -> Template {
        let mut command = Command::new(path);
        command.args(arguments).stdin(Stdio::null());
        Template::start_command(command)
    }

    pub fn start_command(mut command: Command) -> Template {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("bohr-test-{}-{number}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).expect("a name");
        let listener = UnixListener::bind_addr(&address).expect("a free name");
        let child = command
            .env("LD_PRELOAD", runtime())
            .env(CONTROL_VARIABLE, &name)
            .process_group(0)
            .spawn()
            .expect("the program starts");
        let stream = accept(&listener);
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .expect("a time-out");
        let mut template = Template {
            child,
            stream,
            ready: Ready {
                objects: Vec::new(),
                events: 0,
                notices: Vec::new(),
            },
            point: None,
        };
        let Reply::Hello(hello) = template.receive() else {
            panic!("the runtime says hello first")
        };
        assert_eq!(hello.process, template.child.id());
        let Reply::Ready(ready) = template.receive() else {
            panic!("then it is ready")
        };
        template.ready = ready;
        template
    }

    pub fn send(&mut self, job: &Job) {
        let request = frame(&Request::Run(Box::new(job.clone())));
        self.stream.write_all(&request).expect("the template reads");
    }

    pub fn receive(&mut self) -> Reply {
        let mut header = [0; 4];
        self.stream
            .read_exact(&mut header)
            .expect("the template answers");
        let mut body = vec![0; frame_length(header).expect("a sane length")];
        self.stream.read_exact(&mut body).expect("a whole answer");
        message(&body).expect("a message")
    }

    /// Does a job to its end.
    pub fn run(&mut self, job: &Job) -> Vec<Ran> {
        let store = tempfile::tempfile().expect("a file for traces");
        self.send(&Job {
            store: format!("/proc/{}/fd/{}", std::process::id(), store.as_raw_fd()),
            ..job.clone()
        });
        let mut reports = Vec::new();
        loop {
            match self.receive() {
                Reply::Runs(runs) => reports.extend(runs),
                Reply::Done(point) => {
                    self.point = Some(point);
                    let ran = reports.into_iter().map(|report| Ran::new(report, &store));
                    return ran.collect();
                }
                other => panic!("unexpected: {other:?}"),
            }
        }
    }

    /// Nanoseconds that so many clones take where the template stands.
    pub fn clone_idly(&mut self, count: u32) -> u64 {
        let request = frame(&Request::Clone(count));
        self.stream.write_all(&request).expect("the template reads");
        match self.receive() {
            Reply::Cloned(nanoseconds) => nanoseconds,
            other => panic!("unexpected: {other:?}"),
        }
    }

    /// Ends the conversation without killing anybody.
    pub fn hang_up(mut self) {
        self.stream
            .shutdown(std::net::Shutdown::Both)
            .expect("the stream was open");
        self.child.wait().expect("the template ends");
    }

    /// Memory of the template, in pages.
    pub fn resident_pages(&self) -> u64 {
        let path = format!("/proc/{}/statm", self.child.id());
        let figures = std::fs::read_to_string(path).expect("the template lives");
        let resident = figures
            .split_whitespace()
            .nth(1)
            .expect("the second figure");
        resident.parse().expect("a number")
    }

    pub fn process(&self) -> u32 {
        self.child.id()
    }
}

/// The runtime's connection, or the end of the test's patience.
fn accept(listener: &UnixListener) -> UnixStream {
    listener.set_nonblocking(true).expect("a mode");
    for _ in 0..1000 {
        if let Ok((stream, _)) = listener.accept() {
            stream.set_nonblocking(false).expect("a mode");
            return stream;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("the runtime did not connect")
}

impl Drop for Template {
    fn drop(&mut self) {
        // The template ends when the stream does; this makes sure of it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
