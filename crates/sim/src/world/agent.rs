//! Models one process of an agent CLI: its current stage, the content of its files so far, and the truth
//! about it. `agent_steps` contains its behavior.

use longhaul_core::{
    AgentResult, AttemptPlan, Evidence, Exit, Fault, Moment, ProcessId, RateLimit, SessionId, Span,
    StartupError, StopLevel,
};

/// The moment that never comes.
pub(crate) const NEVER: Moment = Moment(u64::MAX);

/// The stage of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Starts up, then opens its session.
    Boot,
    /// Starts an exchange.
    Ask,
    /// Waits for a response, with one sign of activity halfway.
    Think,
    /// Receives the response.
    Answer,
    /// Evaluates the response: a tool call, or the last answer.
    Act,
    /// Waits with a tool call until a supervisor runs.
    Wait,
    /// Runs a tool, and reports the usage of the response that requested it.
    ReportUsage,
    /// Runs a tool.
    Tool,
    /// Ends the exchange with the result in `closing`.
    Finish,
    /// Reports that it is idle.
    Settle,
    /// Is idle. A background shell may run.
    Rest,
    /// Starts an exchange because a background shell ended.
    Wake,
    /// Exits on its own.
    Leave,
    /// Hangs silently until it is killed.
    Hang,
    /// Emits output without progress until it is killed.
    NoProgress,
}

/// The lowest stop level that an agent obeys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RespondsTo {
    /// Obeys stops from this level on.
    From(StopLevel),
    /// Obeys no stop, like a process blocked in the kernel.
    Nothing,
}

impl RespondsTo {
    pub(crate) fn obeys(self, level: StopLevel) -> bool {
        match self {
            RespondsTo::From(least) => level >= least,
            RespondsTo::Nothing => false,
        }
    }
}

/// One process of an agent.
#[derive(Clone, Debug)]
pub(crate) struct Agent {
    pub(crate) process: ProcessId,
    pub(crate) plan: AttemptPlan,
    pub(crate) stage: Stage,
    /// When the stage ends.
    pub(crate) at: Moment,
    /// Why it refuses to start.
    pub(crate) refusal: Option<(StartupError, Fault)>,
    /// The fault that kills it from outside, and when.
    pub(crate) death: Option<Fault>,
    pub(crate) death_at: Moment,
    /// The pending stop, and when it takes effect.
    pub(crate) stop: StopLevel,
    pub(crate) stop_at: Moment,
    pub(crate) obeys: RespondsTo,
    /// Content of its files so far.
    pub(crate) evidence: Evidence,
    /// The truth about its last result.
    pub(crate) meaning: Option<Fault>,
    /// The result of the current exchange, and the truth about it.
    pub(crate) closing: (AgentResult, Option<Fault>),
    pub(crate) tool_open: bool,
    /// When the current tool call ends.
    pub(crate) tool_until: Moment,
    /// Whether the usage of the last response is not reported yet.
    pub(crate) has_unreported_usage: bool,
    pub(crate) turn_open: bool,
    pub(crate) shells: u32,
    pub(crate) shells_until: Moment,
    /// Inner retries of the current request.
    pub(crate) inner: u32,
    pub(crate) input_ended: bool,
    /// Whether a prompt waits to be read.
    pub(crate) prompted: bool,
    /// Remaining tool calls of the wrap-up, if it does one.
    pub(crate) saving: Option<u32>,
    pub(crate) mute: bool,
    pub(crate) brief: bool,
    pub(crate) lingers: bool,
    /// Whether a child process is busy while the agent is silent. Drawn at the first probe.
    pub(crate) has_busy_child: Option<bool>,
    /// Interval and end of its output without progress.
    pub(crate) babble: (Span, Moment),
    /// Whether its process is frozen.
    pub(crate) frozen: bool,
    /// It starts over instead of continuing its session, without reporting it.
    pub(crate) forgets: bool,
    /// It opens another session than requested.
    pub(crate) strays: bool,
}

impl Agent {
    pub(crate) fn new(process: ProcessId, plan: AttemptPlan, boot_until: Moment) -> Agent {
        Agent {
            process,
            plan,
            stage: Stage::Boot,
            at: boot_until,
            refusal: None,
            death: None,
            death_at: NEVER,
            stop: StopLevel::Interrupt,
            stop_at: NEVER,
            obeys: RespondsTo::From(StopLevel::Interrupt),
            evidence: Evidence::from_exit(Exit::Unobserved),
            meaning: None,
            closing: (AgentResult::COMPLETED, None),
            tool_open: false,
            tool_until: NEVER,
            has_unreported_usage: false,
            turn_open: false,
            shells: 0,
            shells_until: NEVER,
            inner: 0,
            input_ended: false,
            prompted: false,
            saving: None,
            mute: false,
            brief: false,
            lingers: false,
            has_busy_child: None,
            babble: (Span::ZERO, NEVER),
            frozen: false,
            forgets: false,
            strays: false,
        }
    }

    /// Returns the session of its plan.
    pub(crate) fn session(&self) -> &SessionId {
        self.plan.session.id()
    }

    pub(crate) fn next_at(&self) -> Moment {
        self.at.min(self.death_at).min(self.stop_at)
    }

    pub(crate) fn go(&mut self, stage: Stage, at: Moment) {
        (self.stage, self.at) = (stage, at);
    }

    /// Receives a prompt. An idle agent starts an exchange; a busy one reads the prompt later.
    pub(crate) fn receive_prompt(&mut self, soon: Moment) {
        if self.stage == Stage::Rest {
            self.go(Stage::Ask, soon);
        } else {
            self.prompted = true;
        }
    }

    /// Returns the truth about an end caused by `cause`. The last result decides, unless an exchange was
    /// open.
    pub(crate) fn truth(&self, cause: Fault) -> Option<Fault> {
        match self.evidence.result {
            _ if self.evidence.guard_lapsed => Some(Fault::GuardLapsed),
            // Work in another session does not belong to this run.
            _ if self.strayed() || self.forgets => Some(Fault::SessionLost),
            Some(_) if !self.evidence.exchange_open => self.meaning,
            Some(_) | None => Some(cause),
        }
    }

    /// Whether it opened another session than requested.
    pub(crate) fn strayed(&self) -> bool {
        self.strays && self.evidence.session.is_some()
    }

    /// Returns the usage window as last reported.
    pub(crate) fn stated_limit(&self) -> Option<RateLimit> {
        self.evidence.rate_limit
    }
}
