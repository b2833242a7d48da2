//! Writes `status.json`: the state of a run, for people and other programs. It is derived from the run, and
//! no decision depends on it. It may lag behind the journal; recovering the run updates it.

use longhaul_core::{
    DeadlineKind, Dollars, Fault, Moment, Outcome, OutcomeKind, Phase, PhaseKind, Policy, Rfc3339, Run,
    RunId, SessionId, State, Tokens, Usage,
};
use serde::{Deserialize, Serialize};

/// The state of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Status {
    /// Id of the run.
    pub run_id: RunId,
    /// `running`, `waiting`, `suspended` or the outcome's word.
    pub status: String,
    /// Exit code of the outcome.
    pub returncode: Option<u8>,
    /// Phase of the run.
    pub phase: PhaseKind,
    /// Last fault: why the run waits or what ended it.
    pub fault: Option<Fault>,
    /// When the run next acts without an event.
    pub deadline_at: Option<Rfc3339>,
    /// The run's next action.
    pub deadline: Option<DeadlineKind>,
    /// When a retry makes sense (`retry_later`).
    pub retry_at: Option<Rfc3339>,
    /// Errors of a finished run that is not done: first the reason, then the end of a failed check and the agent's own
    /// messages.
    #[serde(default)]
    pub errors: Vec<String>,
    /// Number of the current or last attempt, starting at 1; 0 before the first.
    pub attempt: u32,
    /// How often the finished run was resumed.
    #[serde(default)]
    pub resume_generation: u32,
    /// Session that can be resumed.
    pub session_id: Option<SessionId>,
    /// Cost of the run so far, including estimates and the running attempt.
    pub total_cost_usd: Dollars,
    /// Commands that the agent currently runs in the background.
    #[serde(default)]
    pub background: Vec<String>,
    /// Usage so far, including the running attempt. A running agent is read once a second.
    #[serde(default)]
    pub usage: StatusUsage,
    /// PID of the agent, while it runs.
    pub pid: Option<u32>,
    /// PID of the supervisor.
    pub supervisor_pid: u32,
    /// When the file was written.
    pub updated_at: Rfc3339,
}

/// Usage of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StatusUsage {
    /// Cost reported by the agent.
    pub reported_cost_usd: Dollars,
    /// Cost estimated by Longhaul, until the agent reports one.
    pub estimated_cost_usd: Dollars,
    /// Whether some tokens could not be priced. The costs are then lower bounds.
    pub unpriced: bool,
    /// Tokens of completed messages.
    pub tokens: Tokens,
    /// Estimated tokens of truncated messages.
    pub truncated_tokens: Tokens,
    /// Number of completed messages, including those of sub-agents.
    pub messages: u32,
    /// Number of truncated messages.
    pub truncated_messages: u32,
    /// Number of turns of the main conversation.
    pub turns: u32,
}

impl StatusUsage {
    fn new(usage: Usage) -> StatusUsage {
        StatusUsage {
            reported_cost_usd: usage.reported_cost.into(),
            estimated_cost_usd: usage.estimated_cost.into(),
            unpriced: usage.unpriced,
            tokens: usage.tokens,
            truncated_tokens: usage.truncated_tokens,
            messages: usage.messages,
            truncated_messages: usage.truncated_messages,
            turns: usage.turns,
        }
    }

    fn core_usage(&self) -> Usage {
        Usage {
            tokens: self.tokens,
            truncated_tokens: self.truncated_tokens,
            messages: self.messages,
            truncated_messages: self.truncated_messages,
            turns: self.turns,
            reported_cost: self.reported_cost_usd.0,
            estimated_cost: self.estimated_cost_usd.0,
            unpriced: self.unpriced,
        }
    }
}

impl Status {
    /// Creates the status of `run` at `at`, driven by process `supervisor_pid`.
    pub fn new(run_id: &RunId, run: &Run, policy: &Policy, supervisor_pid: u32, at: Moment) -> Status {
        let state = run.state();
        let phase = PhaseKind::from(&state.phase);
        let outcome = state.outcome();
        let deadline = run.deadline(policy);
        Status {
            run_id: run_id.clone(),
            status: status_word(phase, outcome.map(|outcome| outcome.kind)).to_owned(),
            returncode: outcome.as_ref().map(Outcome::exit_code),
            phase,
            fault: outcome.map_or(state.wait_fault(), |outcome| outcome.fault),
            deadline_at: deadline.map(|deadline| deadline.at.into()),
            deadline: deadline.map(|deadline| deadline.kind),
            retry_at: outcome.and_then(|outcome| outcome.retry_at).map(Rfc3339),
            errors: Vec::new(),
            attempt: state.attempts(),
            resume_generation: state.reopen_count,
            session_id: state.session.clone(),
            background: Vec::new(),
            total_cost_usd: state.usage.total_cost().into(),
            usage: StatusUsage::new(state.usage),
            pid: state.process.map(|process| process.pid),
            supervisor_pid,
            updated_at: at.into(),
        }
    }

    /// Returns the status with this usage of the run, as of `at`.
    #[must_use]
    pub fn with_usage(self, usage: Usage, at: Moment) -> Status {
        Status {
            total_cost_usd: usage.total_cost().into(),
            usage: StatusUsage::new(usage),
            updated_at: at.into(),
            ..self
        }
    }

    /// Returns the usage of the run in `state`. While an attempt has no recorded end, this status is newer
    /// than the journal; afterwards the journal counts.
    pub fn usage_of(&self, state: &State) -> Usage {
        let is_live = self.attempt == state.attempts() && self.resume_generation == state.reopen_count;
        let is_attempt_live =
            matches!(state.phase, Phase::Running | Phase::Closing { .. } | Phase::Stopping { .. });
        if is_live && is_attempt_live { self.usage.core_usage() } else { state.usage }
    }
}

fn status_word(phase: PhaseKind, outcome: Option<OutcomeKind>) -> &'static str {
    match (outcome, phase) {
        (Some(kind), _) => kind.as_str(),
        (None, PhaseKind::Waiting) => "waiting",
        (None, PhaseKind::Suspended) => "suspended",
        (None, _) => "running",
    }
}

#[cfg(test)]
mod tests;
