//! Facts that several oracles need, from the events and records of a run and independent of the core.

use super::clocks::ClockWatch;
use longhaul_core::{
    AgentResult, AttemptPlan, CancelSource, Event, Evidence, FoundAttempt, KeepGoing, Limit, LimitThreshold,
    Moment, Notice, Policy, Record, StopReason, TerminalReason,
};

#[derive(Debug)]
pub(crate) struct Facts<'a> {
    pub policy: &'a Policy,
    /// Time of the last record.
    pub at: Moment,
    pub clocks: ClockWatch,
    /// Plan of the current or last attempt.
    pub plan: Option<AttemptPlan>,
    pub agent: AgentFacts,
    /// Source of the last cancel.
    pub cancel: Option<CancelSource>,
    /// Moment at which a signal suspended the run.
    pub suspending_since: Option<Moment>,
    /// The last recorded limit.
    pub reached: Option<(Limit, LimitThreshold)>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct AgentFacts {
    pub tools: u32,
    pub shells: u32,
    /// Number of sub-agents among them.
    pub sub_agents: u32,
    /// Number of ended exchanges.
    pub results: u32,
    /// The last result, unless another exchange started.
    pub result: Option<(Moment, AgentResult)>,
    pub claimed_done: bool,
    pub workspace: Option<u64>,
    pub is_idle: bool,
}

impl<'a> Facts<'a> {
    pub(crate) fn new(policy: &'a Policy) -> Facts<'a> {
        Facts {
            policy,
            at: Moment(0),
            clocks: ClockWatch::default(),
            plan: None,
            agent: AgentFacts::default(),
            cancel: None,
            suspending_since: None,
            reached: None,
        }
    }

    pub(crate) fn receive(&mut self, now: Moment, event: &Event) {
        match event {
            Event::Noticed(notice) => self.agent.on_notice(now, notice),
            Event::Exited(evidence) | Event::Recovered { found: FoundAttempt::Ended(evidence), .. } => {
                self.agent = AgentFacts::from_evidence(now, evidence);
            }
            // The new supervisor reads the stream again from its start.
            Event::Recovered { found: FoundAttempt::Running(_), .. } => self.agent = AgentFacts::default(),
            _ => {}
        }
    }

    pub(crate) fn on_record(&mut self, at: Moment, record: &Record) {
        self.at = at;
        self.clocks.on_record(at, record);
        match record {
            Record::RunReopened { .. } => {
                (self.cancel, self.suspending_since, self.reached) = (None, None, None);
            }
            Record::AttemptStarted { plan } => {
                (self.plan, self.agent) = (Some(plan.clone()), AgentFacts::default());
            }
            Record::AttemptSpawned { .. } => self.agent = AgentFacts::default(),
            Record::PromptSent { .. } => self.agent.open_exchange(),
            Record::LimitReached { limit, threshold, .. } => self.reached = Some((*limit, *threshold)),
            Record::CancelRequested { source } => {
                (self.cancel, self.suspending_since) = (Some(*source), None);
            }
            Record::SuspendOrdered { .. } => self.suspending_since = Some(at),
            Record::Recovered { .. } => self.suspending_since = None,
            Record::Downtime { duration } => {
                self.agent.result = self.agent.result.map(|(at, result)| (at + *duration, result));
            }
            _ => {}
        }
    }

    /// Returns the keep-going policy, or `None` if the run has a check. In such a run, the check decides.
    pub(crate) fn keep_going(&self) -> Option<&'a KeepGoing> {
        self.policy.keep_going.as_ref().filter(|_| self.policy.checks.is_none())
    }

    /// Returns whether the agent ended its last exchange on its own.
    pub(crate) fn ended_well(&self) -> bool {
        self.agent.result.is_some_and(|(_, result)| {
            !result.is_error
                && result.terminal_reason == TerminalReason::Completed
                && result.stop_reason == StopReason::EndTurn
                && !result.empty
                && !result.stop_hook_capped
                && (result.denials == 0 || self.policy.allow_denials)
        })
    }

    /// Returns whether the run waits for the agent's sub-agents as for the agent itself.
    pub(crate) fn waits_for_sub_agents(&self) -> bool {
        self.agent.result.is_some()
            && self.agent.sub_agents > 0
            && !self.agent.claimed_done
            && self.cancel.is_none()
            && self.reached.is_none()
    }

    /// Returns whether the run waits for the agent's shells until a limit.
    pub(crate) fn waits_for_shells(&self) -> bool {
        self.keep_going().is_some()
            && self.agent.shells > 0
            && self.ended_well()
            && !self.agent.claimed_done
            && self.cancel.is_none()
            && self.reached.is_none()
    }

    /// Returns whether the run has recorded that a limit is exhausted.
    pub(crate) fn is_limit_exhausted(&self) -> bool {
        matches!(self.reached, Some((_, LimitThreshold::Exhausted)))
    }
}

impl AgentFacts {
    fn from_evidence(now: Moment, evidence: &Evidence) -> AgentFacts {
        AgentFacts {
            results: evidence.results,
            result: evidence.result.filter(|_| !evidence.exchange_open).map(|result| (now, result)),
            claimed_done: evidence.claimed_done,
            workspace: evidence.workspace_fingerprint,
            ..AgentFacts::default()
        }
    }

    fn on_notice(&mut self, now: Moment, notice: &Notice) {
        match notice {
            Notice::ExchangeStarted => {
                self.open_exchange();
                self.workspace = None;
            }
            Notice::ToolStarted => {
                self.tools += 1;
                (self.result, self.workspace, self.is_idle) = (None, None, false);
            }
            Notice::ToolEnded => self.tools = self.tools.saturating_sub(1),
            Notice::ClaimedDone => self.claimed_done = true,
            Notice::ExchangeEnded(result) => {
                (self.tools, self.result) = (0, Some((now, *result)));
                self.results += 1;
            }
            Notice::WorkspaceFingerprinted(workspace) => self.workspace = Some(*workspace),
            Notice::Idle => self.is_idle = true,
            Notice::BackgroundChanged { tasks, sub_agents } => {
                (self.shells, self.sub_agents, self.is_idle) = (*tasks, *sub_agents, false);
            }
            _ => {}
        }
    }

    fn open_exchange(&mut self) {
        (self.result, self.is_idle, self.claimed_done) = (None, false, false);
    }
}
