//! What is run, with what, and by which rules: everything of a run but its schedule.

use crate::atlas::Atlas;
use crate::bug_file::{Bug, ControlMode, Invocation, Oracle};
use crate::error::ExploreError;
use crate::image::Image;
use crate::ran::Ran;
use crate::server::{Server, Voice};
use crate::target::Target;
use bohr_event::control::{
    Backend, Checkpoints, Detailing, Job, Limits, LoadedObject, Omissions, Output, Policy, Probes,
};
use bohr_program::Program;
use bohr_schedule::Plan;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

/// Bytes of output that are kept when it is judged.
const OUTPUT_LIMIT: u64 = 16 << 20;

/// See the module.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The program.
    pub target: Target,
    /// How it is started.
    pub invocation: Invocation,
    /// What counts as a failure.
    pub oracle: Oracle,
    /// What the engine does where the program leaves it open.
    pub policy: Policy,
    /// Bounds of a run.
    pub limits: Limits,
    /// What threads run on.
    pub backend: Backend,
    /// Models of the program and its instrumented libraries; the program's own comes
    /// first, if it has one.
    pub models: Vec<Arc<Program>>,
    /// How long the program may take to its fork point.
    pub patience: Duration,
    /// What runs begin from, if that is not the start of the program.
    pub image: Option<Arc<Image>>,
}

/// Bounds that suit most programs.
pub const DEFAULT_LIMITS: Limits = Limits {
    events: 20_000_000,
    milliseconds: 10_000,
};

/// Time to the fork point that suits most programs.
pub const DEFAULT_PATIENCE: Duration = Duration::from_secs(60);

impl Subject {
    /// With the ordinary rules.
    #[must_use]
    pub fn new(target: Target, invocation: Invocation) -> Subject {
        Subject {
            target,
            invocation,
            oracle: Oracle::default(),
            policy: Policy::default(),
            limits: DEFAULT_LIMITS,
            backend: Backend::Fibers,
            models: Vec::new(),
            patience: DEFAULT_PATIENCE,
            image: None,
        }
    }

    /// The model of the program's own file, if that was built with bohr.
    #[must_use]
    pub fn program_model(&self) -> Option<&Arc<Program>> {
        match &self.target.identity.mode {
            ControlMode::Accesses { bundle, .. } => {
                let mut models = self.models.iter();
                models.find(|model| model.identity == *bundle)
            }
            ControlMode::Calls => None,
        }
    }

    /// As the bug was found.
    #[must_use]
    pub fn of_bug(bug: &Bug, target: Target, models: Vec<Arc<Program>>) -> Subject {
        Subject {
            oracle: bug.oracle.clone(),
            policy: bug.policy,
            limits: bug.limits,
            models,
            ..Subject::new(target, bug.invocation.clone())
        }
    }

    /// Starts a fork server of the program.
    ///
    /// # Errors
    /// If it does not come to its fork point.
    pub fn serve(&self, voice: Voice, go_on: &dyn Fn() -> bool) -> Result<Server, ExploreError> {
        let server = Server::start(&self.target, &self.invocation, voice, self.patience, go_on)?;
        let objects = &server.ready().objects;
        let is_hooked = |bundle: &[u8; 32]| {
            let mut objects = objects.iter();
            objects.any(
                |object| matches!(object, LoadedObject::Sites { program, .. } if program == bundle),
            )
        };
        match self.target.bundles_at_start().all(is_hooked) {
            // Without its accesses it would seem to have no bugs.
            false => Err(ExploreError::NotHooked),
            true => Ok(server),
        }
    }

    /// The places of a server's process.
    #[must_use]
    pub fn atlas(&self, server: &Server) -> Atlas {
        let profiles = self.target.profiles();
        Atlas::new(server.ready().objects.clone(), self.models.clone()).with_profiles(profiles)
    }

    /// One run of seed 0 by `plan`; the rest is for the caller to set.
    #[must_use]
    pub fn job(&self, plan: &Plan) -> Job {
        let all = self.oracle.looks_at_good_runs() || self.oracle.exit_code != 0;
        Job {
            first_seed: 0,
            stride: 1,
            runs: 1,
            plan: plan.to_bytes(),
            // Only the oracle knows what a failure is if exit code 0 is one.
            stop_at_failure: !all,
            backend: self.backend,
            trace: match self.oracle.needs_events() {
                true => Detailing::Always,
                false => Detailing::Never,
            },
            trace_limit: u64::MAX,
            store: String::new(),
            details: match all {
                true => Detailing::Always,
                false => Detailing::Failing,
            },
            output: match self.oracle.needs_output() {
                true => Output::Capture {
                    limit: OUTPUT_LIMIT,
                },
                false => Output::Discard,
            },
            limits: self.limits,
            policy: self.policy,
            hold: false,
            rewind: true,
            given: self.invocation.given.clone(),
            without: Omissions::default(),
            probes: Probes::default(),
            watch: None,
            checkpoints: Checkpoints::Never,
            image_at: None,
            from: self
                .image
                .as_ref()
                .map_or_else(String::new, |image| image.path()),
        }
    }

    /// Has a job of a single run done.
    ///
    /// # Errors
    /// If the fork server fails.
    pub fn run_once(
        &self,
        server: &mut Server,
        job: Job,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Ran, ExploreError> {
        let mut report = None;
        server.run(Job { runs: 1, ..job }, go_on, |reports| {
            report = reports.into_iter().next_back().or(report.take());
            ControlFlow::Continue(())
        })?;
        let report = report.ok_or(ExploreError::NoReport)?;
        ExploreError::if_broken(&report)?;
        Ok(report)
    }
}
