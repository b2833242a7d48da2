//! `status.json`: where a run stands, for people and other programs. It is derived from the run
//! and never read to decide what a run does; it may be behind the journal, and whoever recovers
//! the run brings it up to date.

use crate::{dollars, stamp};
use longhaul_core::{Fault, Moment, Outcome, OutcomeKind, Phase, Policy, Run, RunId, SessionId, Usd, Why};
use serde::{Deserialize, Serialize};

/// Where a run stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Status {
    /// Which run.
    pub run_id: RunId,
    /// `running`, `waiting` or, once there is one, the outcome's word.
    pub status: String,
    /// The exit code of the run's outcome.
    pub returncode: Option<u8>,
    /// Where it stands, in more detail.
    pub phase: StatusPhase,
    /// The last fault: why the run waits or what ended it.
    pub fault: Option<Fault>,
    /// When something happens by itself.
    #[serde(with = "stamp::option")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<longhaul_core::schema::Rfc3339>"))]
    pub until: Option<Moment>,
    /// What happens then: `next_attempt`, `condense_timeout`, `check_timeout`, `stall`, `no_progress`, `attempt_timeout`,
    /// `limit`, `background_over`, `settle`, `linger` or `stop_harder`.
    pub then: Option<String>,
    /// When trying again makes sense (`retry_later`).
    #[serde(with = "stamp::option")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<longhaul_core::schema::Rfc3339>"))]
    pub retry_at: Option<Moment>,
    /// The present or last attempt, from 1; 0 before the first.
    pub attempt: u32,
    /// How often somebody let the run go on after it had been over.
    #[serde(default)]
    pub resume_generation: u32,
    /// The session that can be resumed.
    pub session_id: Option<SessionId>,
    /// What the ended attempts and summaries cost, estimates included.
    #[serde(with = "dollars")]
    #[cfg_attr(feature = "schema", schemars(with = "longhaul_core::schema::Dollars"))]
    pub total_cost_usd: Usd,
    /// The agent's process, while there is one.
    pub pid: Option<u32>,
    /// The supervisor's process.
    pub supervisor_pid: u32,
    /// When this was written.
    #[serde(with = "stamp")]
    #[cfg_attr(feature = "schema", schemars(with = "longhaul_core::schema::Rfc3339"))]
    pub updated_at: Moment,
}

/// The core's phases as words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StatusPhase {
    /// Not started.
    New,
    /// An attempt is ordered.
    Launching,
    /// A model condenses older work for it.
    Condensing,
    /// The agent works.
    Live,
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
    /// The run is over.
    Over,
}

impl Status {
    /// The status of `run` at `at`, driven by process `supervisor_pid`.
    pub fn of(run_id: &RunId, run: &Run, policy: &Policy, supervisor_pid: u32, at: Moment) -> Status {
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
            until: deadline.map(|deadline| deadline.at),
            then: deadline.map(|deadline| why_word(deadline.why).to_owned()),
            retry_at: outcome.and_then(|outcome| outcome.retry_at),
            attempt: state.attempts(),
            resume_generation: state.reopened,
            session_id: state.session.clone(),
            total_cost_usd: state.tally.cost + state.tally.cost_estimated,
            pid: state.proc.map(|proc| proc.pid),
            supervisor_pid,
            updated_at: at,
        }
    }
}

fn status_word(phase: StatusPhase, outcome: Option<OutcomeKind>) -> &'static str {
    match (outcome, phase) {
        (Some(kind), _) => kind.word(),
        (None, StatusPhase::Waiting) => "waiting",
        (None, _) => "running",
    }
}

fn phase(phase: &Phase) -> StatusPhase {
    match phase {
        Phase::New => StatusPhase::New,
        Phase::Launching => StatusPhase::Launching,
        Phase::Condensing { .. } => StatusPhase::Condensing,
        Phase::Live => StatusPhase::Live,
        Phase::Closing { .. } => StatusPhase::Closing,
        Phase::Stopping { .. } => StatusPhase::Stopping,
        Phase::Sweeping { .. } => StatusPhase::Sweeping,
        Phase::Checking { .. } => StatusPhase::Checking,
        Phase::Waiting { .. } => StatusPhase::Waiting,
        Phase::Over { .. } => StatusPhase::Over,
    }
}

fn why_word(why: Why) -> &'static str {
    match why {
        Why::NextAttempt => "next_attempt",
        Why::CondenseTimeout => "condense_timeout",
        Why::CheckTimeout => "check_timeout",
        Why::Stall => "stall",
        Why::NoProgress => "no_progress",
        Why::AttemptTimeout => "attempt_timeout",
        Why::Limit => "limit",
        Why::BackgroundOver => "background_over",
        Why::Settle => "settle",
        Why::Linger => "linger",
        Why::StopHarder => "stop_harder",
    }
}

#[cfg(test)]
mod tests;
