//! A run in a list: what the ledger knows of it, who has it, and what to type next.

use longhaul_core::{Fault, OutcomeKind, Span};
use longhaul_store::{Journal, LedgerRun, RunState, rfc3339};
use serde::Serialize;

/// One run, as it is printed.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Row {
    /// Its id.
    pub id: String,
    /// What the user called it.
    pub name: Option<String>,
    /// Where it stands.
    pub state: RowState,
    /// How it ended; nothing if it has not.
    pub outcome: Option<OutcomeKind>,
    /// Why it waits, or why it ended so.
    pub fault: Option<Fault>,
    /// Until when it waits.
    #[cfg_attr(test, schemars(with = "Option<longhaul_core::schema::Rfc3339>"))]
    pub until: Option<String>,
    /// When trying again makes sense.
    #[cfg_attr(test, schemars(with = "Option<longhaul_core::schema::Rfc3339>"))]
    pub retry_at: Option<String>,
    /// When it was created.
    #[cfg_attr(test, schemars(with = "longhaul_core::schema::Rfc3339"))]
    pub started_at: String,
    /// When it was over.
    #[cfg_attr(test, schemars(with = "Option<longhaul_core::schema::Rfc3339>"))]
    pub ended_at: Option<String>,
    /// How long it worked; nothing while it goes on.
    pub active_ms: Option<Span>,
    /// How long it waited between its attempts.
    pub waiting_ms: Span,
    /// How many attempts it had.
    pub attempts: u32,
    /// How often somebody let it go on after it had been over.
    pub resume_generation: u32,
    /// Stated by the agent plus estimated by us, the running attempt included.
    #[cfg_attr(test, schemars(with = "longhaul_core::schema::Dollars"))]
    pub total_cost_usd: f64,
    /// What of that we estimated.
    #[cfg_attr(test, schemars(with = "longhaul_core::schema::Dollars"))]
    pub estimated_cost_usd: f64,
    /// Whether some of it has no price: the cost is then a lower bound.
    pub unpriced: bool,
    /// All tokens, those of cut messages included.
    pub total_tokens: u64,
    /// The agent.
    pub agent: String,
    /// The model that was asked for.
    pub model: Option<String>,
    /// The directory that the agent works in.
    pub cwd: String,
    /// How its task begins.
    pub task: String,
    /// The run's directory.
    pub dir: String,
    /// Why nothing more is known.
    pub error: Option<String>,
    /// What to type next; nothing where there is nothing to do.
    pub next: Option<String>,
    #[serde(skip)]
    pub known: LedgerRun,
}

/// Where a run stands, and whether somebody has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RowState {
    /// An agent works, or something is done for one.
    Running,
    /// No process is resident; the next attempt has its time.
    Waiting,
    /// SIGTERM or SIGHUP stopped it; `recover` continues it.
    Suspended,
    /// It is not over, and nobody supervises it.
    Orphaned,
    /// It has its outcome.
    Over,
    /// What is on disk of it cannot be understood.
    Unreadable,
}

impl Row {
    pub fn new(run: LedgerRun) -> Row {
        let state = standing(&run);
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
            known: run,
        }
    }

    /// What the list says of it in a word.
    pub fn state(&self) -> &'static str {
        match (self.state, self.outcome) {
            (RowState::Over, Some(outcome)) => outcome.as_str(),
            (RowState::Over, None) => "over",
            (RowState::Running, _) => "running",
            (RowState::Waiting, _) => "waiting",
            (RowState::Suspended, _) => "suspended",
            (RowState::Orphaned, _) => "orphaned",
            (RowState::Unreadable, _) => "unreadable",
        }
    }
}

fn standing(run: &LedgerRun) -> RowState {
    let held = || Journal::is_locked(&run.run_dir().journal_path()).unwrap_or(false);
    match run.state {
        RunState::Finished => RowState::Over,
        RunState::Unreadable => RowState::Unreadable,
        RunState::Running | RunState::Waiting if !held() => RowState::Orphaned,
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
        RowState::Over => match run.outcome? {
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
