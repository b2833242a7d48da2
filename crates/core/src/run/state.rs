//! What a run is, as far as its records say.

use crate::{
    AfterAttempt, AgentResult, AttemptPlan, CancelSource, Clocks, Fault, Limit, Moment, Outcome, OutcomeKind,
    ProcessId, Questions, SessionId, Span, StartupError, StopCause, StopLevel, StrategySet, Usage, Verified,
};

/// Where a run stands.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Phase {
    /// Not started.
    #[default]
    New,
    /// An attempt is ordered; its process is not known yet.
    Starting,
    /// A model condenses older work for the attempt that is ordered.
    Summarizing {
        /// Since when.
        since: Moment,
        /// Why it is being ended, if it is.
        stop_cause: Option<StopCause>,
    },
    /// The agent works.
    Running,
    /// The agent has no turn left and should end by itself.
    Closing {
        /// Since when.
        since: Moment,
    },
    /// We are making the agent end.
    Stopping {
        /// Since when at this level.
        since: Moment,
        /// Why.
        cause: StopCause,
        /// How hard.
        level: StopLevel,
    },
    /// The process is gone; what it left behind is being ended.
    Sweeping {
        /// What follows.
        next: AfterAttempt,
    },
    /// The work is being judged; no agent is resident.
    Checking {
        /// Since when.
        since: Moment,
        /// Why that is being ended, if it is.
        stop_cause: Option<StopCause>,
    },
    /// No process is resident; the next attempt has its time.
    Waiting {
        /// Since when.
        since: Moment,
        /// Until when.
        until: Moment,
        /// What happens then.
        plan: AttemptPlan,
    },
    /// No process is resident, and the supervisor exits: SIGTERM or SIGHUP stopped the run.
    Suspended {
        /// Since when.
        since: Moment,
        /// Which signal.
        source: CancelSource,
        /// The phase in which the next supervisor continues the run.
        then: Box<Phase>,
    },
    /// The run is over.
    Finished {
        /// How.
        outcome: Outcome,
    },
}

/// A limit that ends the run, and how far that has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitState {
    /// Which one.
    pub limit: Limit,
    /// How far.
    pub stage: WrapUpStage,
}

/// How far the end by a limit has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WrapUpStage {
    /// Only what is held back is left, and the agent is to be told.
    Due,
    /// The agent was told to save its work.
    Requested,
    /// Nothing is left.
    Exhausted,
}

/// Everything about a run that decides anything.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// Where it stands.
    pub phase: Phase,
    /// Its clocks.
    pub clocks: Clocks,
    /// The present or last attempt's plan.
    pub plan: Option<AttemptPlan>,
    /// When the present or last attempt was started, moved on by the time the machine slept since.
    pub attempt_started_at: Moment,
    /// The present attempt's process.
    pub process: Option<ProcessId>,
    /// Until when the present attempt's silence is excused.
    pub stall_deferred_until: Option<Moment>,
    /// Whether the present attempt has made progress.
    pub made_progress: bool,
    /// The session that the agent opened last: one that can be resumed.
    pub session: Option<SessionId>,
    /// Failures in a row that progress has not forgiven.
    pub failures_since_progress: u32,
    /// When the present wall of server faults began.
    pub outage_started_at: Option<Moment>,
    /// Waits in the present wall.
    pub outage_waits: u32,
    /// Answers in the present wall that came from something else than the API.
    pub malformed_responses: u32,
    /// Parks since the last progress.
    pub parks: u32,
    /// Nudges for a missing answer, in the whole run.
    pub nudges_finish: u32,
    /// Nudges for a cut answer, in the whole run.
    pub nudges_smaller: u32,
    /// Faults that allow one more try in a run and have had it.
    pub faults_retried_once: FaultSet,
    /// Faults for which a new session was begun since the last progress.
    pub faults_with_new_session: FaultSet,
    /// Rungs of the ladder that were taken since the last progress.
    pub strategies_tried: StrategySet,
    /// Whether the run began with a session that had a history.
    pub began_with_history: bool,
    /// Whether the present attempt's agent was told that nothing more will be said to it.
    pub input_closed: bool,
    /// How often the present attempt was killed by us.
    pub kills: u32,
    /// The last fault.
    pub fault: Option<Fault>,
    /// Why the last attempt's agent refused to start, if it did.
    pub startup: Option<StartupError>,
    /// The last result of the present or last attempt.
    pub result: Option<AgentResult>,
    /// The limit that ends the run, once only what is held back of it is left.
    pub limit_state: Option<LimitState>,
    /// How many turns of the present attempt had ended when its agent was last told something, or interrupted, or
    /// stopped by itself: what it says to that comes after these.
    pub results_before: u32,
    /// How often the agent was told to save its work.
    pub wrap_ups: u32,
    /// How often the agent stopped by itself in a run that is kept going.
    pub voluntary_stops: u32,
    /// How often in a row it said at that that the work is finished.
    pub done_claims: u32,
    /// How often in a row nothing had changed since the stop before.
    pub max_idle_stops: u32,
    /// What the workspace looked like at the last stop.
    pub workspace: Option<u64>,
    /// Whether it was told that a limit is near.
    pub limit_warning_sent: bool,
    /// How often the work was judged in the whole run.
    pub checks: u32,
    /// How often in vain, since somebody last decided that the run goes on.
    pub checks_failed: u32,
    /// What all ended attempts used.
    pub usage: Usage,
    /// How many calls our guards denied in them.
    pub denied_calls: u32,
    /// How their questions were answered.
    pub questions: Questions,
    /// When it was over last.
    pub finished_at: Moment,
    /// How often somebody let it go on after that.
    pub reopen_count: u32,
    /// What was used before they did so last.
    pub usage_before_reopen: Usage,
    /// How many attempts it had made before that.
    pub attempts_before: u32,
    /// Who asked for the end.
    pub cancelled_by: Option<CancelSource>,
    /// The signal for which the run is being suspended.
    pub suspend: Option<CancelSource>,
}

impl State {
    /// How many attempts were ordered.
    pub fn attempts(&self) -> u32 {
        self.plan.as_ref().map_or(0, |plan| plan.attempt)
    }

    /// How long the run has worked by then, without the present wait or suspension.
    pub fn active(&self, at: Moment) -> Span {
        let idle = match self.phase {
            Phase::Waiting { since, .. } | Phase::Suspended { since, .. } => at.since(since),
            Phase::New
            | Phase::Starting
            | Phase::Summarizing { .. }
            | Phase::Running
            | Phase::Closing { .. }
            | Phase::Stopping { .. }
            | Phase::Sweeping { .. }
            | Phase::Checking { .. }
            | Phase::Finished { .. } => Span::ZERO,
        };
        self.clocks.active(at) - idle
    }

    /// The outcome, once there is one.
    pub fn outcome(&self) -> Option<Outcome> {
        match &self.phase {
            Phase::Finished { outcome } => Some(*outcome),
            Phase::New
            | Phase::Starting
            | Phase::Summarizing { .. }
            | Phase::Running
            | Phase::Closing { .. }
            | Phase::Stopping { .. }
            | Phase::Sweeping { .. }
            | Phase::Checking { .. }
            | Phase::Waiting { .. }
            | Phase::Suspended { .. } => None,
        }
    }
}

impl State {
    /// Returns the proof that the work is done. A run with checks is done only after a check that passed.
    pub fn verified(&self) -> Verified {
        match self.outcome() {
            Some(outcome) if outcome.kind == OutcomeKind::Done && self.checks > 0 => Verified::Checks,
            Some(_) | None => Verified::None,
        }
    }
}

/// A set of faults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaultSet(u64);

impl FaultSet {
    /// This set with `fault` in it.
    pub fn with(self, fault: Fault) -> FaultSet {
        FaultSet(self.0 | 1 << fault as u64)
    }

    /// Whether `fault` is in it.
    pub fn contains(self, fault: Fault) -> bool {
        self.0 & 1 << fault as u64 != 0
    }
}
