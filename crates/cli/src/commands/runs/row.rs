//! A run in a list: data from the ledger, whether a supervisor is attached, and the command to type next.

use crate::args::RowState;
use longhaul_core::{Dollars, OutcomeKind};
use longhaul_store::{Journal, LedgerRun, RunState};
use serde::Serialize;

/// One run, as printed.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Row {
    #[serde(flatten)]
    pub entry: LedgerRun,
    /// State of the run.
    pub state: RowState,
    /// Cost reported by the agent plus cost estimated by Longhaul, including the running attempt.
    pub total_cost_usd: Dollars,
    /// Run directory.
    pub dir: String,
    /// Command to type next. `None` if there is nothing to do.
    pub next: Option<String>,
}

impl Row {
    pub fn new(run: LedgerRun) -> Row {
        let state = row_state(&run);
        Row {
            state,
            total_cost_usd: run.total_cost().into(),
            dir: run.dir.display().to_string(),
            next: next(&run, state),
            entry: run,
        }
    }

    /// Returns the state or outcome as one word for the list.
    pub fn state(&self) -> &'static str {
        match (self.state, self.entry.outcome) {
            (RowState::Finished, Some(outcome)) => outcome.as_str(),
            (state, _) => state.as_str(),
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
        RowState::Suspended | RowState::Orphaned if run.is_judge_run() => None,
        // A workflow continues its runs.
        RowState::Suspended | RowState::Orphaned => {
            let id = run.workflow.as_ref().map_or(id, |position| &position.id);
            Some(format!("longhaul recover {id}"))
        }
        RowState::Unreadable => None,
        RowState::Running | RowState::Waiting => Some(format!("longhaul attach {id}")),
        RowState::Finished => match run.outcome {
            None | Some(OutcomeKind::Done) => None,
            Some(OutcomeKind::Suspended) => Some(format!("longhaul recover {id}")),
            // The settings that need to change are shown there.
            Some(
                OutcomeKind::OverBudget
                | OutcomeKind::OutOfTime
                | OutcomeKind::NeedsPerson
                | OutcomeKind::Failed
                | OutcomeKind::NotStarted,
            ) => Some(format!("longhaul show {id}")),
            Some(_) => Some(format!("longhaul resume {id}")),
        },
    }
}
