//! `status.json`: where a run stands, for people and other programs. It is derived from the run
//! and never read to decide what a run does; it may be behind the journal, and whoever recovers
//! the run brings it up to date.

use crate::{dollars, rfc3339};
use longhaul_core::{
    DeadlineKind, Fault, Moment, Outcome, OutcomeKind, Phase, Policy, Run, RunId, SessionId, State, Tokens,
    Usage, Usd,
};
use serde::{Deserialize, Serialize};

/// Where a run stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Status {
    /// Which run.
    pub run_id: RunId,
    /// `running`, `waiting`, `suspended` or, once there is one, the outcome's word.
    pub status: String,
    /// The exit code of the run's outcome.
    pub returncode: Option<u8>,
    /// Where it stands, in more detail.
    pub phase: StatusPhase,
    /// The last fault: why the run waits or what ended it.
    pub fault: Option<Fault>,
    /// When something happens by itself.
    #[serde(with = "rfc3339::option")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<longhaul_core::schema::Rfc3339>"))]
    pub deadline_at: Option<Moment>,
    /// What happens then: `next_attempt`, `condense_timeout`, `check_timeout`, `stall`, `no_progress`, `attempt_timeout`,
    /// `limit`, `background_over`, `settle`, `linger` or `stop_harder`.
    pub deadline: Option<String>,
    /// When trying again makes sense (`retry_later`).
    #[serde(with = "rfc3339::option")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<longhaul_core::schema::Rfc3339>"))]
    pub retry_at: Option<Moment>,
    /// The present or last attempt, from 1; 0 before the first.
    pub attempt: u32,
    /// How often somebody let the run go on after it had been over.
    #[serde(default)]
    pub resume_generation: u32,
    /// The session that can be resumed.
    pub session_id: Option<SessionId>,
    /// Everything the run cost so far, estimates and the running attempt included.
    #[serde(with = "dollars")]
    #[cfg_attr(feature = "schema", schemars(with = "longhaul_core::schema::Dollars"))]
    pub total_cost_usd: Usd,
    /// Commands that the agent runs in the background, while it does.
    #[serde(default)]
    pub background: Vec<String>,
    /// Usage so far, the running attempt included. A running agent is read once a second.
    #[serde(default)]
    pub usage: StatusUsage,
    /// The agent's process, while there is one.
    pub pid: Option<u32>,
    /// The supervisor's process.
    pub supervisor_pid: u32,
    /// When this was written.
    #[serde(with = "rfc3339")]
    #[cfg_attr(feature = "schema", schemars(with = "longhaul_core::schema::Rfc3339"))]
    pub updated_at: Moment,
}

/// Usage of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StatusUsage {
    /// Reported by the agent.
    #[serde(with = "dollars")]
    #[cfg_attr(feature = "schema", schemars(with = "longhaul_core::schema::Dollars"))]
    pub reported_cost_usd: Usd,
    /// Priced by Longhaul, until the agent reports a cost.
    #[serde(with = "dollars")]
    #[cfg_attr(feature = "schema", schemars(with = "longhaul_core::schema::Dollars"))]
    pub estimated_cost_usd: Usd,
    /// Whether some tokens have no known price. The costs are then lower bounds.
    pub unpriced: bool,
    /// Tokens of completed messages.
    pub tokens: Tokens,
    /// Tokens of truncated messages, estimated.
    pub truncated_tokens: Tokens,
    /// Completed messages, those of sub-agents included.
    pub messages: u32,
    /// Truncated messages.
    pub truncated_messages: u32,
    /// Turns of the main conversation.
    pub turns: u32,
}

impl StatusUsage {
    fn new(usage: Usage) -> StatusUsage {
        let Usage {
            tokens,
            truncated_tokens: cut_tokens,
            messages,
            truncated_messages: cut_messages,
            turns,
            reported_cost: cost,
            estimated_cost,
            unpriced,
        } = usage;
        let (stated_cost_usd, estimated_cost_usd) = (cost, estimated_cost);
        StatusUsage {
            reported_cost_usd: stated_cost_usd,
            estimated_cost_usd,
            unpriced,
            tokens,
            truncated_tokens: cut_tokens,
            messages,
            truncated_messages: cut_messages,
            turns,
        }
    }

    fn tally(&self) -> Usage {
        let StatusUsage { reported_cost_usd: cost, estimated_cost_usd: cost_estimated, .. } = *self;
        let StatusUsage {
            unpriced,
            tokens,
            truncated_tokens: cut_tokens,
            messages,
            truncated_messages: cut_messages,
            turns,
            ..
        } = *self;
        Usage {
            tokens,
            truncated_tokens: cut_tokens,
            messages,
            truncated_messages: cut_messages,
            turns,
            reported_cost: cost,
            estimated_cost: cost_estimated,
            unpriced,
        }
    }
}

/// The core's phases as words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StatusPhase {
    /// Not started.
    New,
    /// An attempt is ordered.
    Starting,
    /// A model condenses older work for it.
    Summarizing,
    /// The agent works.
    Running,
    /// The agent should end by itself.
    Closing,
    /// We are making the agent end.
    Stopping,
    /// What it left behind is being ended.
    Sweeping,
    /// The work is judged.
    Checking,
    /// No process is resident.
    Waiting,
    /// SIGTERM or SIGHUP stopped the run; the next supervisor continues it.
    Suspended,
    /// The run is over.
    Finished,
}

impl Status {
    /// The status of `run` at `at`, driven by process `supervisor_pid`.
    pub fn new(run_id: &RunId, run: &Run, policy: &Policy, supervisor_pid: u32, at: Moment) -> Status {
        let state = run.state();
        let phase = phase(&state.phase);
        let outcome = state.outcome();
        let deadline = run.deadline(policy);
        Status {
            run_id: run_id.clone(),
            status: status_word(phase, outcome.map(|outcome| outcome.kind)).to_owned(),
            returncode: outcome.as_ref().map(Outcome::exit_code),
            phase,
            fault: outcome.map_or(state.fault, |outcome| outcome.fault),
            deadline_at: deadline.map(|deadline| deadline.at),
            deadline: deadline.map(|deadline| why_word(deadline.kind).to_owned()),
            retry_at: outcome.and_then(|outcome| outcome.retry_at),
            attempt: state.attempts(),
            resume_generation: state.reopen_count,
            session_id: state.session.clone(),
            background: Vec::new(),
            total_cost_usd: state.usage.total_cost(),
            usage: StatusUsage::new(state.usage),
            pid: state.process.map(|process| process.pid),
            supervisor_pid,
            updated_at: at,
        }
    }
}

impl Status {
    /// Returns the status with this usage of the run, as of `at`.
    #[must_use]
    pub fn with_usage(self, usage: Usage, at: Moment) -> Status {
        Status { total_cost_usd: usage.total_cost(), usage: StatusUsage::new(usage), updated_at: at, ..self }
    }

    /// Returns the usage of the run in `state`. While an attempt runs, or if its supervisor died, this status knows more
    /// than the journal; once the journal has the attempt's end, the journal counts.
    pub fn usage_of(&self, state: &State) -> Usage {
        let is_live = self.attempt == state.attempts() && self.resume_generation == state.reopen_count;
        match state.phase {
            Phase::Running | Phase::Closing { .. } | Phase::Stopping { .. } if is_live => self.usage.tally(),
            Phase::New
            | Phase::Starting
            | Phase::Summarizing { .. }
            | Phase::Running
            | Phase::Closing { .. }
            | Phase::Stopping { .. }
            | Phase::Sweeping { .. }
            | Phase::Checking { .. }
            | Phase::Waiting { .. }
            | Phase::Suspended { .. }
            | Phase::Finished { .. } => state.usage,
        }
    }
}

fn status_word(phase: StatusPhase, outcome: Option<OutcomeKind>) -> &'static str {
    match (outcome, phase) {
        (Some(kind), _) => kind.as_str(),
        (None, StatusPhase::Waiting) => "waiting",
        (None, StatusPhase::Suspended) => "suspended",
        (None, _) => "running",
    }
}

fn phase(phase: &Phase) -> StatusPhase {
    match phase {
        Phase::New => StatusPhase::New,
        Phase::Starting => StatusPhase::Starting,
        Phase::Summarizing { .. } => StatusPhase::Summarizing,
        Phase::Running => StatusPhase::Running,
        Phase::Closing { .. } => StatusPhase::Closing,
        Phase::Stopping { .. } => StatusPhase::Stopping,
        Phase::Sweeping { .. } => StatusPhase::Sweeping,
        Phase::Checking { .. } => StatusPhase::Checking,
        Phase::Waiting { .. } => StatusPhase::Waiting,
        Phase::Suspended { .. } => StatusPhase::Suspended,
        Phase::Finished { .. } => StatusPhase::Finished,
    }
}

fn why_word(why: DeadlineKind) -> &'static str {
    match why {
        DeadlineKind::NextAttempt => "next_attempt",
        DeadlineKind::SummaryTimeout => "condense_timeout",
        DeadlineKind::CheckTimeout => "check_timeout",
        DeadlineKind::Stall => "stall",
        DeadlineKind::NoProgress => "no_progress",
        DeadlineKind::AttemptTimeout => "attempt_timeout",
        DeadlineKind::Limit => "limit",
        DeadlineKind::BackgroundTimeout => "background_over",
        DeadlineKind::IdleAfterResult => "settle",
        DeadlineKind::ExitTimeout => "linger",
        DeadlineKind::EscalateStop => "stop_harder",
    }
}

#[cfg(test)]
mod tests;
