//! The world of one run: an agent CLI, its API, its sessions, the user and the machine, in virtual time.
//!
//! The world follows the contract between core and world, and knows the truth about every attempt. It never
//! decides policy.

mod actions;
pub(crate) mod agent;
mod agent_steps;
mod keep_going;
mod probing;
mod results;
pub(crate) mod server;
pub(crate) mod sessions;
mod summarizer;

use crate::Interval;
use crate::fault_mix::{FaultMix, FaultPoint};
use crate::rng::Rng;
use agent::{Agent, NEVER};
use longhaul_core::{
    AgentResult, CancelSource, CheckResult, Evidence, Fault, Moment, Notice, Policy, ProcessActivity,
    ProcessId, SessionFileState, Span, SpawnError, Usage,
};
use server::Server;
use sessions::Sessions;
use summarizer::Summarizer;

// An agent that always finds more work would never let a run finish.
const FOUND_WORK_MAX: u32 = 12;

/// An ended process and the truth about it.
#[derive(Clone, Debug)]
pub(crate) struct EndedAttempt {
    pub attempt: u32,
    /// The true fault. `None` if the work was truly done.
    pub truth: Option<Fault>,
    pub evidence: Evidence,
}

/// An event of the world, small enough to be copied cheaply. The evidence of an ended process is ten times
/// larger, so it stays in the world until the run needs it.
#[derive(Clone, Debug)]
pub(crate) enum WorldEvent {
    Spawned(ProcessId),
    SpawnFailed(SpawnError),
    Noticed(Notice),
    Exited,
    SessionInspected(SessionFileState),
    SummaryEnded,
    CheckEnded(CheckResult),
    Swept(u32),
    ProcessesProbed(Option<ProcessActivity>),
    Downtime(Span),
    Cancelled(CancelSource),
    /// Not an event of the world: the run's own deadline arrived.
    Ticked,
    /// An event of the supervisor: a start or a recovery.
    Pending,
}

/// The world of one run.
#[derive(Debug)]
pub(crate) struct World {
    pub now: Moment,
    pub rng: Rng,
    pub mix: FaultMix,
    pub server: Server,
    pub sessions: Sessions,
    /// The running process.
    pub agent: Option<Box<Agent>>,
    /// The last ended process of an agent.
    pub ended_attempt: Option<EndedAttempt>,
    /// The running process that summarizes older work.
    pub summarizer: Option<Summarizer>,
    /// The last such process, ended or failed to start, since the summary was requested.
    pub summary: Option<EndedAttempt>,
    /// Moment at which it becomes known that no summary is needed or that none could start.
    no_summary_at: Moment,
    /// Number of processes that outlived their agent.
    pub leftover_processes: u32,
    /// The stream file of the last process.
    pub stream: Vec<Notice>,
    /// Tool calls that the work still needs.
    pub remaining_work: u32,
    /// Usage of all ended processes.
    pub billed_usage: Usage,
    pub requests: u64,
    pub failed_requests: u64,
    /// Moment at which the API first served a request.
    pub first_served_at: Option<Moment>,
    /// Whether an agent without a supervisor waits at its next tool call.
    pub needs_supervisor: bool,
    /// Whether no supervisor is running.
    is_unsupervised: bool,
    /// Whether the run uses keep-going.
    pub keeps_going: bool,
    /// Fingerprint of the workspace.
    pub workspace: u64,
    /// Number of times that an agent may still find more work.
    remaining_finds: u32,
    /// Whether there is a memory limit.
    memory_limited: bool,
    /// Whether a process exists that no signal can stop.
    pub has_unkillable: bool,
    remaining_faults: u32,
    inner_retries: u32,
    /// A failing response of the API that occurs once, for the next request.
    next_response: Option<(AgentResult, Fault)>,
    spawn_at: Moment,
    /// Result of the spawn: a process, an error, or `Err(None)` for the start-up error in `ended_attempt`.
    spawn_result: Result<ProcessId, Option<SpawnError>>,
    /// Moment at which the running inspection of a session ends, and its result.
    inspect_at: Moment,
    inspection: SessionFileState,
    sweep_at: Moment,
    /// Moment at which the running check ends, and its result.
    pub check_at: Moment,
    check_result: CheckResult,
    /// Moment at which the running probe of the processes ends.
    probe_at: Moment,
    cancel_at: Moment,
    cancel_by: CancelSource,
    sleep_at: Moment,
    last_pid: u32,
}

impl World {
    /// Creates a world at `start`.
    pub(crate) fn new(seed: u64, mix: FaultMix, policy: &Policy, start: Moment) -> World {
        let mut rng = Rng::new(seed);
        let moment_of = |rng: &mut Rng, odds: u32| {
            if rng.chance(odds) { start + Span(rng.log_uniform(mix.event_delay)) } else { NEVER }
        };
        let cancel_at = moment_of(&mut rng, mix.cancel);
        let sleep_at = moment_of(&mut rng, mix.sleep);
        let remaining_work = rng.log_uniform(mix.work) as u32;
        World {
            now: start,
            server: Server::default(),
            sessions: Sessions::default(),
            agent: None,
            ended_attempt: None,
            summarizer: None,
            summary: None,
            no_summary_at: NEVER,
            leftover_processes: 0,
            stream: Vec::with_capacity(64),
            remaining_work,
            billed_usage: Usage::default(),
            requests: 0,
            failed_requests: 0,
            first_served_at: None,
            needs_supervisor: policy.needs_supervisor(),
            is_unsupervised: false,
            keeps_going: policy.keep_going.is_some(),
            workspace: 0,
            remaining_finds: FOUND_WORK_MAX,
            memory_limited: policy.limits.memory.is_some(),
            has_unkillable: false,
            remaining_faults: mix.faults_max,
            inner_retries: policy.inner_retries,
            next_response: None,
            spawn_at: NEVER,
            spawn_result: Err(None),
            inspect_at: NEVER,
            inspection: SessionFileState::Ready,
            sweep_at: NEVER,
            check_at: NEVER,
            check_result: CheckResult::Passed,
            probe_at: NEVER,
            cancel_at,
            cancel_by: rng.pick(&[
                CancelSource::Person,
                CancelSource::Person,
                CancelSource::PersonNow,
                CancelSource::Sigterm,
                CancelSource::Sighup,
            ]),
            sleep_at,
            last_pid: 1_000,
            rng,
            mix,
        }
    }

    /// Returns the moment of the next event.
    pub(crate) fn next_at(&self) -> Moment {
        let agent = self.agent.as_ref().map_or(NEVER, |agent| agent.next_at());
        let summarizer =
            self.summarizer.as_ref().map_or(NEVER, |summarizer| summarizer.at).min(self.no_summary_at);
        let agent = agent.min(summarizer);
        let agent = agent.min(self.check_at);
        let agent = agent.min(self.probe_at);
        agent
            .min(self.spawn_at)
            .min(self.inspect_at)
            .min(self.sweep_at)
            .min(self.cancel_at)
            .min(self.sleep_at)
    }

    /// Advances to the next event. Returns `None` if it has no effect on the supervisor.
    pub(crate) fn advance(&mut self) -> Option<WorldEvent> {
        self.now = self.now.max(self.next_at());
        let now = self.now;
        if self.spawn_at <= now {
            self.spawn_at = NEVER;
            return Some(match self.spawn_result {
                Ok(process) => WorldEvent::Spawned(process),
                Err(Some(error)) => WorldEvent::SpawnFailed(error),
                Err(None) => WorldEvent::Exited,
            });
        }
        if self.inspect_at <= now {
            self.inspect_at = NEVER;
            return Some(WorldEvent::SessionInspected(self.inspection));
        }
        if self.no_summary_at <= now {
            self.no_summary_at = NEVER;
            return Some(WorldEvent::SummaryEnded);
        }
        if self.summarizer.as_ref().is_some_and(|summarizer| summarizer.at <= now) {
            return self.on_summarizer_end();
        }
        if self.check_at <= now {
            self.check_at = NEVER;
            return Some(WorldEvent::CheckEnded(self.check_result));
        }
        if self.sweep_at <= now {
            self.sweep_at = NEVER;
            return Some(WorldEvent::Swept(std::mem::take(&mut self.leftover_processes)));
        }
        if self.probe_at <= now {
            self.probe_at = NEVER;
            return Some(WorldEvent::ProcessesProbed(self.process_activity()));
        }
        if self.cancel_at <= now {
            return Some(self.cancel());
        }
        if self.sleep_at <= now {
            return Some(self.sleep());
        }
        let agent = self.agent.take()?;
        self.step_agent(agent)
    }

    /// Cancels the run. An impatient user cancels twice.
    fn cancel(&mut self) -> WorldEvent {
        let source = self.cancel_by;
        self.cancel_at = NEVER;
        if source == CancelSource::Person && self.rng.one_in(2) {
            self.cancel_at = self.now + Span(self.rng.log_uniform(Interval::new(100, 60_000)));
            self.cancel_by = CancelSource::PersonNow;
        }
        // Systems may signal again, and a suspended run may be suspended again.
        let from_system = matches!(source, CancelSource::Sigterm | CancelSource::Sighup);
        if from_system && self.rng.one_in(2) {
            self.cancel_at = self.now + Span(self.rng.log_uniform(Interval::new(100, 36_000_000)));
            self.cancel_by =
                self.rng.pick(&[CancelSource::Person, CancelSource::Sigterm, CancelSource::Sighup]);
        }
        WorldEvent::Cancelled(source)
    }

    /// Puts the machine to sleep: its processes pause, servers and people do not.
    fn sleep(&mut self) -> WorldEvent {
        self.sleep_at = NEVER;
        let span = Span(self.rng.log_uniform(Interval::new(1_000, 36_000_000)));
        self.now = self.now + span;
        let delay = |at: &mut Moment| *at = if *at == NEVER { NEVER } else { *at + span };
        delay(&mut self.spawn_at);
        delay(&mut self.inspect_at);
        delay(&mut self.sweep_at);
        delay(&mut self.probe_at);
        delay(&mut self.no_summary_at);
        delay(&mut self.check_at);
        if let Some(summarizer) = &mut self.summarizer {
            delay(&mut summarizer.at);
        }
        if let Some(agent) = &mut self.agent {
            delay(&mut agent.at);
            delay(&mut agent.death_at);
            delay(&mut agent.stop_at);
            delay(&mut agent.shells_end_at);
        }
        WorldEvent::Downtime(span)
    }

    /// Draws the fault of the mix that strikes at this point, if any.
    fn draw_fault(&mut self, point: FaultPoint) -> Option<Fault> {
        if self.remaining_faults == 0 {
            return None;
        }
        let roll = self.rng.below(1_000_000) as u32;
        let fault = self.mix.fault_at(point, roll)?;
        self.remaining_faults -= 1;
        Some(fault)
    }

    /// Draws whether an additional fault with these odds strikes.
    fn draw_extra_fault(&mut self, odds: u32) -> bool {
        let strikes = self.remaining_faults > 0 && self.rng.chance(odds);
        self.remaining_faults -= u32::from(strikes);
        strikes
    }

    /// Returns whether any process of the run is alive.
    pub(crate) fn has_live_process(&self) -> bool {
        self.agent.is_some()
            || self.summarizer.is_some()
            || self.check_at != NEVER
            || self.leftover_processes > 0
    }
}
