//! A run in a list: data from the ledger, whether a supervisor is attached, and the command to type next.

use longhaul_core::{Fault, OutcomeKind, Span};
use longhaul_store::{Journal, LedgerRun, RunState, rfc3339};
use serde::Serialize;

/// One run, as printed.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Row {
    /// Id of the run.
    pub id: String,
    /// Name given by the user.
    pub name: Option<String>,
    /// State of the run.
    pub state: RowState,
    /// Outcome. `None` if the run is not finished.
    pub outcome: Option<OutcomeKind>,
    /// Fault that the run is waiting out, or that finished it.
    pub fault: Option<Fault>,
    /// End of the current wait.
    #[cfg_attr(test, schemars(with = "Option<longhaul_core::schema::Rfc3339>"))]
    pub until: Option<String>,
    /// When a retry makes sense.
    #[cfg_attr(test, schemars(with = "Option<longhaul_core::schema::Rfc3339>"))]
    pub retry_at: Option<String>,
    /// When the run was created.
    #[cfg_attr(test, schemars(with = "longhaul_core::schema::Rfc3339"))]
    pub started_at: String,
    /// When the run finished.
    #[cfg_attr(test, schemars(with = "Option<longhaul_core::schema::Rfc3339>"))]
    pub ended_at: Option<String>,
    /// Time spent working. `None` while the run is working.
    pub active_ms: Option<Span>,
    /// Time spent waiting between attempts.
    pub waiting_ms: Span,
    /// Number of attempts.
    pub attempts: u32,
    /// Number of times the finished run was resumed.
    pub resume_generation: u32,
    /// Cost reported by the agent plus cost estimated by Longhaul, including the running attempt.
    #[cfg_attr(test, schemars(with = "longhaul_core::schema::Dollars"))]
    pub total_cost_usd: f64,
    /// Estimated part of the cost.
    #[cfg_attr(test, schemars(with = "longhaul_core::schema::Dollars"))]
    pub estimated_cost_usd: f64,
    /// Whether some usage has no known price. The cost is then a lower bound.
    pub unpriced: bool,
    /// Number of tokens of all kinds, including truncated messages.
    pub total_tokens: u64,
    /// Name of the agent.
    pub agent: String,
    /// Requested model.
    pub model: Option<String>,
    /// Working directory of the agent.
    pub cwd: String,
    /// Start of the task.
    pub task: String,
    /// Run directory.
    pub dir: String,
    /// Why no further data is available.
    pub error: Option<String>,
    /// Command to type next. `None` if there is nothing to do.
    pub next: Option<String>,
    #[serde(skip)]
    pub entry: LedgerRun,
}

/// State of a run, including whether a supervisor is attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RowState {
    /// An agent is working, or a step for one is running.
    Running,
    /// Waiting for the next attempt. No process is running.
    Waiting,
    /// SIGTERM or SIGHUP stopped it; `recover` continues it.
    Suspended,
    /// Unfinished, without a supervisor.
    Orphaned,
    /// Finished with an outcome.
    Finished,
    /// The files cannot be read.
    Unreadable,
}

impl Row {
    pub fn new(run: LedgerRun) -> Row {
        let state = row_state(&run);
        Row {
            id: run.id.to_string(),
            name: run.name.clone(),
            state,
            outcome: run.outcome,
            fault: run.fault,
            until: run.until.map(rfc3339),
            retry_at: run.retry_at.map(rfc3339),
            started_at: rfc3339(run.started_at),
            ended_at: run.ended_at.map(rfc3339),
            active_ms: run.active,
            waiting_ms: run.waiting,
            attempts: run.attempts,
            resume_generation: run.reopen_count,
            total_cost_usd: (run.cost + run.estimated_cost).as_dollars(),
            estimated_cost_usd: run.estimated_cost.as_dollars(),
            unpriced: run.unpriced,
            total_tokens: run.tokens,
            agent: run.agent.clone(),
            model: run.model.clone(),
            cwd: run.project.clone(),
            task: run.task.clone(),
            dir: run.dir.display().to_string(),
            error: run.error.clone(),
            next: next(&run, state),
            entry: run,
        }
    }

    /// Returns the state or outcome as one word for the list.
    pub fn state(&self) -> &'static str {
        match (self.state, self.outcome) {
            (RowState::Finished, Some(outcome)) => outcome.as_str(),
            (RowState::Finished, None) => "finished",
            (RowState::Running, _) => "running",
            (RowState::Waiting, _) => "waiting",
            (RowState::Suspended, _) => "suspended",
            (RowState::Orphaned, _) => "orphaned",
            (RowState::Unreadable, _) => "unreadable",
        }
    }
}

fn row_state(run: &LedgerRun) -> RowState {
    let is_locked = || Journal::is_locked(&run.run_dir().journal_path()).unwrap_or(false);
    match run.state {
        RunState::Finished => RowState::Finished,
        RunState::Unreadable => RowState::Unreadable,
        RunState::Running | RunState::Waiting if !is_locked() => RowState::Orphaned,
        RunState::Running => RowState::Running,
        RunState::Waiting => RowState::Waiting,
        RunState::Suspended => RowState::Suspended,
    }
}

fn next(run: &LedgerRun, state: RowState) -> Option<String> {
    let id = &run.id;
    match state {
        RowState::Suspended | RowState::Orphaned => Some(format!("longhaul recover {id}")),
        RowState::Unreadable => None,
        RowState::Running | RowState::Waiting => Some(format!("longhaul attach {id}")),
        RowState::Finished => match run.outcome? {
            OutcomeKind::Done => None,
            // The settings that need to change are shown there.
            OutcomeKind::OverBudget
            | OutcomeKind::OutOfTime
            | OutcomeKind::NeedsPerson
            | OutcomeKind::Failed
            | OutcomeKind::NotStarted => Some(format!("longhaul show {id}")),
            OutcomeKind::CheckFailed
            | OutcomeKind::Incomplete
            | OutcomeKind::Bug
            | OutcomeKind::RetryLater
            | OutcomeKind::Cancelled => Some(format!("longhaul resume {id}")),
            OutcomeKind::Suspended => Some(format!("longhaul recover {id}")),
        },
    }
}
