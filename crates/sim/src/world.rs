//! The world of one run: an agent CLI, its API, its sessions, the user and the machine, in virtual time.
//!
//! The world follows the contract between core and world, and knows the truth about every attempt. It never
//! decides policy.

mod actions;
pub(crate) mod agent;
mod agent_steps;
mod keep_going;
mod one_shot;
mod probing;
mod results;
pub(crate) mod server;
pub(crate) mod sessions;

use crate::Interval;
use crate::fault_mix::{FaultMix, FaultPoint};
use crate::rng::Rng;
use agent::{Agent, NEVER};
use longhaul_core::{
    AgentResult, CancelSource, CheckResult, Event, Evidence, Exit, Fault, Moment, Notice, Policy, ProcessId,
    SessionFileState, Span, SpawnError, StartupError, Usage, word_enum,
};
pub(crate) use one_shot::OneShot;
use one_shot::OneShotProcess;
use server::Server;
use sessions::Sessions;

// An agent that always finds more work would never let a run finish.
const FOUND_WORK_MAX: u32 = 12;

#[derive(Clone, Debug)]
pub(crate) struct EndedAttempt {
    pub attempt: u32,
    /// The true fault. `None` if the work was truly done.
    pub truth: Option<Fault>,
    pub evidence: Evidence,
}

impl EndedAttempt {
    pub(crate) fn unspawned(attempt: u32, truth: Fault, startup: Option<StartupError>) -> EndedAttempt {
        let evidence = Evidence { startup, ..Evidence::from_exit(Exit::NeverSpawned) };
        EndedAttempt { attempt, truth: Some(truth), evidence }
    }
}

word_enum! {
    /// A pending event of the world. Of two events at the same moment, the first one here happens first.
    pub(crate) enum Timer {
        /// The spawn ends.
        Spawn = "spawn",
        /// The inspection of a session ends.
        Inspection = "inspection",
        /// The process that summarizes older work ends, or it becomes known that none runs.
        Summary = "summary",
        Check = "check",
        /// The process of the reviewer ends, or it becomes known that none could start.
        Review = "review",
        Sweep = "sweep",
        Probe = "probe",
        Cancel = "cancel",
        Sleep = "sleep",
    }
}

#[derive(Debug)]
pub(crate) struct World {
    pub now: Moment,
    pub rng: Rng,
    pub mix: FaultMix,
    pub server: Server,
    pub sessions: Sessions,
    timers: [Moment; Timer::ALL.len()],
    pub agent: Option<Box<Agent>>,
    /// The last ended process of an agent.
    pub ended_attempt: Option<EndedAttempt>,
    /// The process that summarizes older work.
    pub summary: OneShotProcess,
    /// The reviewer of a check.
    pub review: OneShotProcess,
    /// Number of processes that outlived their agent.
    pub leftover_processes: u32,
    /// The stream file of the last process.
    pub stream: Vec<Notice>,
    /// Tool calls that the work still needs.
    pub remaining_work: u32,
    pub billed_usage: Usage,
    pub requests: u64,
    pub failed_requests: u64,
    /// Moment at which the API first served a request.
    pub first_served_at: Option<Moment>,
    /// Whether an agent without a supervisor waits at its next tool call.
    needs_supervisor: bool,
    is_unsupervised: bool,
    keeps_going: bool,
    workspace: u64,
    /// Number of times that an agent may still find more work.
    remaining_finds: u32,
    memory_limited: bool,
    /// Whether a process exists that no signal can stop.
    pub has_unkillable: bool,
    remaining_faults: u32,
    inner_retries: u32,
    /// A failing response of the API that occurs once, for the next request.
    next_response: Option<(AgentResult, Fault)>,
    /// Result of the spawn: a process, an error, or `Err(None)` for the start-up error in `ended_attempt`.
    spawn_result: Result<ProcessId, Option<SpawnError>>,
    inspection: SessionFileState,
    check_result: CheckResult,
    cancel_by: CancelSource,
    last_pid: u32,
}

impl World {
    pub(crate) fn new(seed: u64, mix: FaultMix, policy: &Policy, start: Moment) -> World {
        let mut rng = Rng::new(seed);
        let mut timers = [NEVER; Timer::ALL.len()];
        for (timer, odds) in [(Timer::Cancel, mix.cancel), (Timer::Sleep, mix.sleep)] {
            if rng.chance(odds) {
                timers[timer as usize] = start + Span(rng.log_uniform(mix.event_delay));
            }
        }
        World {
            now: start,
            server: Server::default(),
            sessions: Sessions::default(),
            timers,
            agent: None,
            ended_attempt: None,
            summary: OneShotProcess::default(),
            review: OneShotProcess::default(),
            leftover_processes: 0,
            stream: Vec::with_capacity(64),
            remaining_work: rng.log_uniform(mix.work) as u32,
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
            spawn_result: Err(None),
            inspection: SessionFileState::Ready,
            check_result: CheckResult::Passed,
            cancel_by: rng.pick(&[
                CancelSource::Person,
                CancelSource::Person,
                CancelSource::PersonNow,
                CancelSource::Sigterm,
                CancelSource::Sighup,
            ]),
            last_pid: 1_000,
            rng,
            mix,
        }
    }

    fn timer(&self, timer: Timer) -> Moment {
        self.timers[timer as usize]
    }

    fn set_timer(&mut self, timer: Timer, at: Moment) {
        self.timers[timer as usize] = at;
    }

    pub(crate) fn next_at(&self) -> Moment {
        let agent = self.agent.as_ref().map_or(NEVER, |agent| agent.next_at());
        self.timers.iter().copied().fold(agent, Moment::min)
    }

    /// Advances to the next event. Returns `None` if it has no effect on the supervisor.
    pub(crate) fn advance(&mut self) -> Option<Event> {
        self.now = self.now.max(self.next_at());
        let due = Timer::ALL.iter().copied().find(|timer| self.timer(*timer) <= self.now);
        let Some(timer) = due else {
            let agent = self.agent.take()?;
            return self.step_agent(agent);
        };
        self.set_timer(timer, NEVER);
        Some(match timer {
            Timer::Spawn => match self.spawn_result {
                Ok(process) => Event::Spawned(process),
                Err(Some(error)) => Event::SpawnFailed(error),
                Err(None) => Event::Exited(self.ended_attempt.as_ref()?.evidence.clone()),
            },
            Timer::Inspection => Event::SessionInspected(self.inspection),
            Timer::Summary => self.end_one_shot(OneShot::Summary),
            Timer::Check => Event::CheckEnded(self.check_result),
            Timer::Review => self.end_one_shot(OneShot::Review),
            Timer::Sweep => Event::Swept(std::mem::take(&mut self.leftover_processes)),
            Timer::Probe => Event::ProcessesProbed(self.process_activity()),
            Timer::Cancel => Event::Cancelled(self.cancel()),
            Timer::Sleep => self.sleep(),
        })
    }

    /// Returns the pending cancel with some probability, as if it preceded the takeover that follows now.
    pub(crate) fn stop_before_takeover(&mut self) -> Option<CancelSource> {
        if self.timer(Timer::Cancel) == NEVER || !self.rng.one_in(4) {
            return None;
        }
        self.set_timer(Timer::Cancel, NEVER);
        Some(self.cancel())
    }

    /// Cancels the run. An impatient user cancels twice.
    fn cancel(&mut self) -> CancelSource {
        let source = self.cancel_by;
        if source == CancelSource::Person && self.rng.one_in(2) {
            let at = self.now + Span(self.rng.log_uniform(Interval::new(100, 60_000)));
            self.set_timer(Timer::Cancel, at);
            self.cancel_by = CancelSource::PersonNow;
        }
        // Systems may signal again, and a suspended run may be suspended again.
        let from_system = matches!(source, CancelSource::Sigterm | CancelSource::Sighup);
        if from_system && self.rng.one_in(2) {
            let at = self.now + Span(self.rng.log_uniform(Interval::new(100, 36_000_000)));
            self.set_timer(Timer::Cancel, at);
            self.cancel_by =
                self.rng.pick(&[CancelSource::Person, CancelSource::Sigterm, CancelSource::Sighup]);
        }
        source
    }

    /// Puts the machine to sleep: its processes pause, servers and people do not.
    fn sleep(&mut self) -> Event {
        let span = Span(self.rng.log_uniform(Interval::new(1_000, 36_000_000)));
        self.now = self.now + span;
        // `NEVER` plus a span is `NEVER`.
        for timer in Timer::ALL.iter().copied().filter(|timer| *timer != Timer::Cancel) {
            self.set_timer(timer, self.timer(timer) + span);
        }
        if let Some(agent) = &mut self.agent {
            for at in [&mut agent.at, &mut agent.death_at, &mut agent.stop_at, &mut agent.shells_end_at] {
                *at = *at + span;
            }
        }
        Event::Downtime(span)
    }

    fn draw_fault(&mut self, point: FaultPoint) -> Option<Fault> {
        if self.remaining_faults == 0 {
            return None;
        }
        let roll = self.rng.below(1_000_000) as u32;
        let fault = self.mix.fault_at(point, roll)?;
        self.remaining_faults -= 1;
        Some(fault)
    }

    fn draw_extra_fault(&mut self, odds: u32) -> bool {
        let strikes = self.remaining_faults > 0 && self.rng.chance(odds);
        self.remaining_faults -= u32::from(strikes);
        strikes
    }

    pub(crate) fn has_live_process(&self) -> bool {
        self.agent.is_some()
            || self.summary.running.is_some()
            || self.review.running.is_some()
            || self.timer(Timer::Check) != NEVER
            || self.leftover_processes > 0
    }
}
