//! A run in a list: what the ledger knows of it, who has it, and what to type next.

use longhaul::resume_command;
use longhaul_core::{Fault, Outcome, OutcomeKind, Span};
use longhaul_store::{Journal, LedgerRun, RunState, rfc3339};
use serde::Serialize;

/// One run, as it is printed.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    pub id: String,
    pub name: Option<String>,
    pub state: RowState,
    pub outcome: Option<OutcomeKind>,
    /// Why it waits, or why it ended so.
    pub fault: Option<Fault>,
    /// Until when it waits.
    pub until: Option<String>,
    /// When trying again makes sense.
    pub retry_at: Option<String>,
    pub began_at: String,
    pub ended_at: Option<String>,
    /// How long it worked; nothing while it goes on.
    pub active_seconds: Option<f64>,
    /// How long it waited between its attempts.
    pub waiting_seconds: f64,
    pub attempts: u32,
    /// How often somebody let it go on after it had been over.
    pub resume_generation: u32,
    /// Stated by the agent plus estimated by us, of the attempts that are over.
    pub total_cost_usd: f64,
    pub estimated_cost_usd: f64,
    /// Whether some of it has no price: the cost is then a lower bound.
    pub unpriced: bool,
    pub total_tokens: u64,
    pub agent: String,
    pub model: Option<String>,
    pub cwd: String,
    pub task: String,
    pub dir: String,
    /// Why nothing more is known.
    pub complaint: Option<String>,
    /// What to type next; nothing where there is nothing to do.
    pub next: Option<String>,
    #[serde(skip)]
    pub known: LedgerRun,
}

/// Where a run stands, and whether somebody has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RowState {
    Running,
    Waiting,
    /// It is not over, and nobody supervises it.
    Orphaned,
    Over,
    Unreadable,
}

impl Row {
    pub fn new(run: LedgerRun) -> Row {
        let state = standing(&run);
        let seconds = |span: Span| span.0 as f64 / 1_000.0;
        Row {
            id: run.id.to_string(),
            name: run.name.clone(),
            state,
            outcome: run.outcome,
            fault: run.fault,
            until: run.until.map(rfc3339),
            retry_at: run.retry_at.map(rfc3339),
            began_at: rfc3339(run.began_at),
            ended_at: run.ended_at.map(rfc3339),
            active_seconds: run.active.map(seconds),
            waiting_seconds: seconds(run.waiting),
            attempts: run.attempts,
            resume_generation: run.reopened,
            total_cost_usd: (run.cost + run.cost_estimated).dollars(),
            estimated_cost_usd: run.cost_estimated.dollars(),
            unpriced: run.unpriced,
            total_tokens: run.tokens,
            agent: run.agent.clone(),
            model: run.model.clone(),
            cwd: run.project.clone(),
            task: run.task.clone(),
            dir: run.dir.display().to_string(),
            complaint: run.complaint.clone(),
            next: next(&run, state),
            known: run,
        }
    }

    /// What the list says of it in a word.
    pub fn word(&self) -> &'static str {
        match (self.state, self.outcome) {
            (RowState::Over, Some(outcome)) => outcome.word(),
            (RowState::Over, None) => "over",
            (RowState::Running, _) => "running",
            (RowState::Waiting, _) => "waiting",
            (RowState::Orphaned, _) => "orphaned",
            (RowState::Unreadable, _) => "unreadable",
        }
    }
}

fn standing(run: &LedgerRun) -> RowState {
    let held = || Journal::is_held(&run.run_dir().journal_path()).unwrap_or(false);
    match run.state {
        RunState::Over => RowState::Over,
        RunState::Unreadable => RowState::Unreadable,
        RunState::Running | RunState::Waiting if !held() => RowState::Orphaned,
        RunState::Running => RowState::Running,
        RunState::Waiting => RowState::Waiting,
    }
}

fn next(run: &LedgerRun, state: RowState) -> Option<String> {
    let id = &run.id;
    match state {
        RowState::Orphaned => Some(format!("longhaul recover {id}")),
        RowState::Unreadable => None,
        RowState::Running | RowState::Waiting => Some(format!("longhaul attach {id}")),
        RowState::Over => match run.outcome? {
            // How much more it needs, of what, is shown there.
            OutcomeKind::OverBudget | OutcomeKind::OutOfTime => Some(format!("longhaul show {id}")),
            kind @ (OutcomeKind::Done
            | OutcomeKind::Failed
            | OutcomeKind::NeedsPerson
            | OutcomeKind::CheckFailed
            | OutcomeKind::Refused
            | OutcomeKind::Incomplete
            | OutcomeKind::Bug
            | OutcomeKind::RetryLater
            | OutcomeKind::Cancelled) => resume_command(id, &Outcome { kind, ..Outcome::DONE }),
        },
    }
}
