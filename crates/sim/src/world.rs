//! The world of one run: an agent CLI, its API, its sessions, people and the machine, in virtual
//! time. It obeys the contract between core and world, and knows what is true; it decides nothing.

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

// An agent that always finds something to do never lets a run end.
const FINDS_MAX: u32 = 12;

/// A process that has ended, and what is true of it.
#[derive(Clone, Debug)]
pub(crate) struct EndedAttempt {
    pub(crate) attempt: u32,
    /// Why it failed; nothing if its work was truly done.
    pub(crate) truth: Option<Fault>,
    pub(crate) evidence: Evidence,
}

/// Something that happened, small enough to be passed on in no time: the evidence of an ending, ten
/// times the size of everything else, stays in the world until it is told.
#[derive(Clone, Debug)]
pub(crate) enum WorldEvent {
    Spawned(ProcessId),
    SpawnFailed(SpawnError),
    Noticed(Notice),
    Exited,
    Inspected(SessionFileState),
    SummaryEnded,
    Checked(CheckResult),
    Swept(u32),
    Examined(Option<ProcessActivity>),
    Downtime(Span),
    Cancelled(CancelSource),
    /// Nothing in the world: the run's own deadline has come.
    Ticked,
    /// Told by the driver itself: a start or a recovery.
    Pending,
}

/// The world of one run.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) now: Moment,
    pub(crate) rng: Rng,
    pub(crate) mix: FaultMix,
    pub(crate) server: Server,
    pub(crate) sessions: Sessions,
    /// The process that lives.
    pub(crate) agent: Option<Box<Agent>>,
    /// The last process that ended.
    pub(crate) finished: Option<EndedAttempt>,
    /// The process that condenses older work, while it lives.
    pub(crate) summarizer: Option<Summarizer>,
    /// The last one that has ended, or could not be started, since it was ordered.
    pub(crate) summary: Option<EndedAttempt>,
    /// When it is known that none is needed, or that none could be started.
    fits_at: Moment,
    /// Processes that outlived the agent that started them.
    pub(crate) orphans: u32,
    /// The stream file of the last process.
    pub(crate) stream: Vec<Notice>,
    /// Tool calls that the work still needs.
    pub(crate) work_left: u32,
    /// What all ended processes used.
    pub(crate) billed: Usage,
    pub(crate) requests: u64,
    pub(crate) failed_requests: u64,
    /// When the API answered a request for the first time.
    pub(crate) served_at: Option<Moment>,
    /// Whether agents wait at their next tool while nobody supervises them.
    pub(crate) attended: bool,
    /// Whether nobody does.
    alone: bool,
    /// Whether agents are kept going.
    pub(crate) kept: bool,
    /// What the workspace looks like.
    pub(crate) workspace: u64,
    /// How often an agent may still find something to do.
    finds_left: u32,
    /// Whether there is a limit on memory.
    memory_limited: bool,
    /// A process was drawn that nothing can end.
    pub(crate) undying: bool,
    faults_left: u32,
    inner_retries: u32,
    /// An answer of the API that comes once.
    once: Option<(AgentResult, Fault)>,
    spawn_at: Moment,
    /// What comes of the start: a process, an error, or the refusal that is in `ended`.
    spawned: Result<ProcessId, Option<SpawnError>>,
    /// A session is being looked for, and what will be found.
    look_at: Moment,
    found: SessionFileState,
    sweep_at: Moment,
    /// Commands judge the work until then, and this will come of it.
    pub(crate) check_at: Moment,
    check_result: CheckResult,
    /// Somebody looks what a silent agent's processes do.
    examine_at: Moment,
    cancel_at: Moment,
    cancel_by: CancelSource,
    sleep_at: Moment,
    pids: u32,
}

impl World {
    /// A new world at `start`.
    pub(crate) fn new(seed: u64, mix: FaultMix, policy: &Policy, start: Moment) -> World {
        let mut rng = Rng::new(seed);
        let incident = |rng: &mut Rng, odds: u32| {
            if rng.odds(odds) { start + Span(rng.magnitude(mix.incident)) } else { NEVER }
        };
        let cancel_at = incident(&mut rng, mix.cancel);
        let sleep_at = incident(&mut rng, mix.sleep);
        let work_left = rng.magnitude(mix.work) as u32;
        World {
            now: start,
            server: Server::default(),
            sessions: Sessions::default(),
            agent: None,
            finished: None,
            summarizer: None,
            summary: None,
            fits_at: NEVER,
            orphans: 0,
            stream: Vec::with_capacity(64),
            work_left,
            billed: Usage::default(),
            requests: 0,
            failed_requests: 0,
            served_at: None,
            attended: policy.needs_supervisor(),
            alone: false,
            kept: policy.keep_going.is_some(),
            workspace: 0,
            finds_left: FINDS_MAX,
            memory_limited: policy.limits.memory.is_some(),
            undying: false,
            faults_left: mix.faults_max,
            inner_retries: policy.inner_retries,
            once: None,
            spawn_at: NEVER,
            spawned: Err(None),
            look_at: NEVER,
            found: SessionFileState::Ready,
            sweep_at: NEVER,
            check_at: NEVER,
            check_result: CheckResult::Passed,
            examine_at: NEVER,
            cancel_at,
            cancel_by: rng.pick(&[
                CancelSource::Person,
                CancelSource::Person,
                CancelSource::PersonNow,
                CancelSource::Sigterm,
                CancelSource::Sighup,
            ]),
            sleep_at,
            pids: 1_000,
            rng,
            mix,
        }
    }

    /// When something happens next.
    pub(crate) fn next_at(&self) -> Moment {
        let agent = self.agent.as_ref().map_or(NEVER, |agent| agent.next_at());
        let condenser = self.summarizer.as_ref().map_or(NEVER, |condenser| condenser.at).min(self.fits_at);
        let agent = agent.min(condenser);
        let agent = agent.min(self.check_at);
        let agent = agent.min(self.examine_at);
        agent.min(self.spawn_at).min(self.look_at).min(self.sweep_at).min(self.cancel_at).min(self.sleep_at)
    }

    /// Lets happen what happens next. What nobody could notice is no event.
    pub(crate) fn happen(&mut self) -> Option<WorldEvent> {
        self.now = self.now.max(self.next_at());
        let now = self.now;
        if self.spawn_at <= now {
            self.spawn_at = NEVER;
            return Some(match self.spawned {
                Ok(process) => WorldEvent::Spawned(process),
                Err(Some(error)) => WorldEvent::SpawnFailed(error),
                Err(None) => WorldEvent::Exited,
            });
        }
        if self.look_at <= now {
            self.look_at = NEVER;
            return Some(WorldEvent::Inspected(self.found));
        }
        if self.fits_at <= now {
            self.fits_at = NEVER;
            return Some(WorldEvent::SummaryEnded);
        }
        if self.summarizer.as_ref().is_some_and(|condenser| condenser.at <= now) {
            return self.on_summarizer_end();
        }
        if self.check_at <= now {
            self.check_at = NEVER;
            return Some(WorldEvent::Checked(self.check_result));
        }
        if self.sweep_at <= now {
            self.sweep_at = NEVER;
            return Some(WorldEvent::Swept(std::mem::take(&mut self.orphans)));
        }
        if self.examine_at <= now {
            self.examine_at = NEVER;
            return Some(WorldEvent::Examined(self.signs()));
        }
        if self.cancel_at <= now {
            return Some(self.cancels());
        }
        if self.sleep_at <= now {
            return Some(self.sleeps());
        }
        let agent = self.agent.take()?;
        self.agent_acts(agent)
    }

    /// Somebody wants the run to end; impatient people say so twice.
    fn cancels(&mut self) -> WorldEvent {
        let by = self.cancel_by;
        self.cancel_at = NEVER;
        if by == CancelSource::Person && self.rng.one_in(2) {
            self.cancel_at = self.now + Span(self.rng.magnitude(Interval::new(100, 60_000)));
            self.cancel_by = CancelSource::PersonNow;
        }
        // Systems send a signal again, and a run that was suspended may be suspended once more.
        let from_system = matches!(by, CancelSource::Sigterm | CancelSource::Sighup);
        if from_system && self.rng.one_in(2) {
            self.cancel_at = self.now + Span(self.rng.magnitude(Interval::new(100, 36_000_000)));
            self.cancel_by =
                self.rng.pick(&[CancelSource::Person, CancelSource::Sigterm, CancelSource::Sighup]);
        }
        WorldEvent::Cancelled(by)
    }

    /// The machine sleeps: what runs on it stands still, servers and people go on.
    fn sleeps(&mut self) -> WorldEvent {
        self.sleep_at = NEVER;
        let span = Span(self.rng.magnitude(Interval::new(1_000, 36_000_000)));
        self.now = self.now + span;
        let later = |at: &mut Moment| *at = if *at == NEVER { NEVER } else { *at + span };
        later(&mut self.spawn_at);
        later(&mut self.look_at);
        later(&mut self.sweep_at);
        later(&mut self.examine_at);
        later(&mut self.fits_at);
        later(&mut self.check_at);
        if let Some(condenser) = &mut self.summarizer {
            later(&mut condenser.at);
        }
        if let Some(agent) = &mut self.agent {
            later(&mut agent.at);
            later(&mut agent.death_at);
            later(&mut agent.stop_at);
            later(&mut agent.shells_until);
        }
        WorldEvent::Downtime(span)
    }

    /// Whether a fault of the mix strikes at this point.
    fn struck(&mut self, point: FaultPoint) -> Option<Fault> {
        if self.faults_left == 0 {
            return None;
        }
        let roll = self.rng.below(1_000_000) as u32;
        let fault = self.mix.struck(point, roll)?;
        self.faults_left -= 1;
        Some(fault)
    }

    /// Whether a further incident of these odds happens; it counts as a fault.
    fn strikes_by(&mut self, odds: u32) -> bool {
        let strikes = self.faults_left > 0 && self.rng.odds(odds);
        self.faults_left -= u32::from(strikes);
        strikes
    }

    /// Whether anything of the run lives.
    pub(crate) fn alive(&self) -> bool {
        self.agent.is_some() || self.summarizer.is_some() || self.check_at != NEVER || self.orphans > 0
    }
}
