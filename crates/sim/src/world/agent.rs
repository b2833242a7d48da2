//! Models one process of an agent CLI: its current stage, the content of its files so far, and the truth
//! about it. `agent_steps` contains its behavior.

use longhaul_core::{
    AgentResult, AttemptPlan, Evidence, Exit, Fault, Moment, ProcessId, SessionId, Span, StartupError,
    StopLevel,
};

/// The moment that never comes.
pub(crate) const NEVER: Moment = Moment(u64::MAX);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Starts up, then opens its session.
    Boot,
    /// Starts an exchange.
    StartExchange,
    /// Waits for a response, with one output halfway.
    Think,
    /// Receives the response.
    Answer,
    /// Evaluates the response: a tool call, or the last answer.
    Evaluate,
    /// Waits with a tool call until a supervisor runs.
    WaitForSupervisor,
    /// Runs a tool, and reports the usage of the response that requested it.
    ReportUsage,
    /// Runs a tool.
    Tool,
    /// Ends the exchange with the result in `next_result`.
    Finish,
    /// Reports that it is idle.
    ReportIdle,
    /// Is idle. A background shell may run.
    Idle,
    /// Is idle, and a sub-agent gets a response.
    Delegate,
    /// Starts an exchange because a background shell ended.
    Wake,
    /// Exits on its own.
    Exit,
    /// Hangs silently until it is killed.
    Hang,
    /// Emits output without progress until it is killed.
    NoProgress,
}

#[derive(Clone, Debug)]
pub(crate) struct Agent {
    pub process: ProcessId,
    pub plan: AttemptPlan,
    pub stage: Stage,
    /// Moment at which the stage ends.
    pub at: Moment,
    /// Start-up error with which it refuses to start, and the matching fault.
    pub refusal: Option<(StartupError, Fault)>,
    /// The fault that kills it from outside, and the moment of its death.
    pub death: Option<Fault>,
    pub death_at: Moment,
    /// The last ordered stop, and the moment at which it takes effect.
    pub stop: Option<StopLevel>,
    pub stop_at: Moment,
    /// The lowest stop level that it obeys. `None` if it obeys none, like a process blocked in the kernel.
    pub obeys_from: Option<StopLevel>,
    /// Content of its files so far.
    pub evidence: Evidence,
    /// The truth about its last result.
    pub result_truth: Option<Fault>,
    /// The result of the current exchange, and the truth about it.
    pub next_result: (AgentResult, Option<Fault>),
    pub tool_open: bool,
    /// Moment at which the current tool call ends.
    pub tool_ends_at: Moment,
    /// Whether the usage of the last response is not reported yet.
    pub has_unreported_usage: bool,
    pub has_open_exchange: bool,
    pub shells: u32,
    /// Number of sub-agents among its shells.
    pub sub_agents: u32,
    pub shells_end_at: Moment,
    /// Number of inner retries of the current request.
    pub inner_retries: u32,
    pub input_closed: bool,
    /// Whether a prompt waits to be read.
    pub prompted: bool,
    /// Remaining tool calls of the wrap-up, if it does one.
    pub wrap_up_calls: Option<u32>,
    pub never_idle: bool,
    pub exits_after_result: bool,
    pub lingers: bool,
    /// Whether a child process is busy while the agent is silent. Drawn at the first probe.
    pub has_busy_child: Option<bool>,
    /// Interval and end of its output without progress, if it sends such output.
    pub no_progress_output: (Span, Moment),
    /// Whether its process is frozen.
    pub frozen: bool,
    /// Whether it starts over instead of continuing its session, without reporting that.
    pub starts_over: bool,
    /// Whether it opens another session than requested.
    pub opens_other_session: bool,
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
            stop: None,
            stop_at: NEVER,
            obeys_from: Some(StopLevel::Interrupt),
            evidence: Evidence::from_exit(Exit::Unobserved),
            result_truth: None,
            next_result: (AgentResult::COMPLETED, None),
            tool_open: false,
            tool_ends_at: NEVER,
            has_unreported_usage: false,
            has_open_exchange: false,
            shells: 0,
            sub_agents: 0,
            shells_end_at: NEVER,
            inner_retries: 0,
            input_closed: false,
            prompted: false,
            wrap_up_calls: None,
            never_idle: false,
            exits_after_result: false,
            lingers: false,
            has_busy_child: None,
            no_progress_output: (Span::ZERO, NEVER),
            frozen: false,
            starts_over: false,
            opens_other_session: false,
        }
    }

    pub(crate) fn session(&self) -> &SessionId {
        self.plan.session.id()
    }

    pub(crate) fn next_at(&self) -> Moment {
        self.at.min(self.death_at).min(self.stop_at)
    }

    pub(crate) fn enter(&mut self, stage: Stage, at: Moment) {
        (self.stage, self.at) = (stage, at);
    }

    /// Receives a prompt. An idle agent starts an exchange; a busy one reads the prompt later.
    pub(crate) fn receive_prompt(&mut self, soon: Moment) {
        if matches!(self.stage, Stage::Idle | Stage::Delegate) {
            self.enter(Stage::StartExchange, soon);
        } else {
            self.prompted = true;
        }
    }

    /// Returns the true fault of a process that ended by `cause`. The last result decides, unless an exchange
    /// was open or the agent waited for the shells that died with it.
    pub(crate) fn truth(&self, cause: Fault) -> Option<Fault> {
        match self.evidence.result {
            _ if self.evidence.guard_lapsed => Some(Fault::GuardLapsed),
            // Work in another session does not belong to this run.
            _ if self.opened_other_session() || self.starts_over => Some(Fault::SessionLost),
            Some(_) if self.evidence.exchange_open => Some(cause),
            Some(_) => {
                let waited_for_shells = self.evidence.background > 0 && !self.evidence.claimed_done;
                self.result_truth.or_else(|| waited_for_shells.then_some(cause))
            }
            None => Some(cause),
        }
    }

    pub(crate) fn opened_other_session(&self) -> bool {
        self.opens_other_session && self.evidence.session.is_some()
    }
}
