//! Classifies a run or a workflow as a person sees it: fine, failed, or waiting for a person. Pure.

use crate::output::envelope_text::cut;
use crate::output::phrases::one_line;
use crate::run_history::timeline_text::outcome_reason;
use longhaul_core::{Fault, Outcome, OutcomeKind, word_enum};
use longhaul_store::{LedgerRun, RunState};

// About two lines of a report.
const MESSAGE_CHARS_MAX: usize = 300;

word_enum! {
    /// State of a run or a workflow as a person sees it. Urgent states sort first.
    #[cfg_attr(test, derive(schemars::JsonSchema))]
    pub enum RunHealth {
        /// Only a person can continue the run.
        NeedsPerson = "needs_person",
        /// The run finished without being done.
        Failed = "failed",
        /// The run is unfinished and has a supervisor.
        Running = "running",
        /// The run was cancelled.
        Cancelled = "cancelled",
        /// The run is done.
        Done = "done",
    }
}

impl RunHealth {
    pub fn label(self) -> &'static str {
        if self == RunHealth::NeedsPerson { "needs a person" } else { self.as_str() }
    }

    pub fn is_urgent(self) -> bool {
        matches!(self, RunHealth::NeedsPerson | RunHealth::Failed)
    }

    pub fn of_outcome(kind: OutcomeKind) -> RunHealth {
        match kind {
            OutcomeKind::Done => RunHealth::Done,
            OutcomeKind::Cancelled => RunHealth::Cancelled,
            OutcomeKind::NeedsPerson | OutcomeKind::Suspended => RunHealth::NeedsPerson,
            // The name of the outcome distinguishes them.
            OutcomeKind::Failed
            | OutcomeKind::OverBudget
            | OutcomeKind::OutOfTime
            | OutcomeKind::CheckFailed
            | OutcomeKind::NotStarted
            | OutcomeKind::Incomplete
            | OutcomeKind::Partial
            | OutcomeKind::Bug
            | OutcomeKind::RetryLater => RunHealth::Failed,
        }
    }
}

pub fn health(run: &LedgerRun, outcome: Option<Outcome>, has_supervisor: bool) -> RunHealth {
    match outcome {
        _ if run.state == RunState::Unreadable => RunHealth::NeedsPerson,
        Some(outcome) => RunHealth::of_outcome(outcome.kind),
        None if has_supervisor && run.state != RunState::Suspended => RunHealth::Running,
        // Orphaned: no supervisor will continue it.
        None => RunHealth::NeedsPerson,
    }
}

/// Returns the outcome or state as text for people, without repeating the health label.
pub fn explanation(
    run: &LedgerRun,
    outcome: Option<Outcome>,
    has_supervisor: bool,
    errors: &[String],
) -> String {
    match (outcome, run.state) {
        (_, RunState::Unreadable) => {
            run.error.clone().unwrap_or_else(|| "its files cannot be read".to_owned())
        }
        (Some(outcome), _) => {
            let reason = errors.first().cloned().or_else(|| outcome_reason(outcome));
            let message = errors.get(1).map(|text| format!(": {}", cut(&one_line(text), MESSAGE_CHARS_MAX)));
            outcome_text(outcome.kind, reason.as_deref()) + &message.unwrap_or_default()
        }
        (None, RunState::Suspended) => "a signal suspended it; `longhaul recover` continues it".to_owned(),
        (None, _) if !has_supervisor => "unfinished, without a supervisor".to_owned(),
        (None, RunState::Waiting) => {
            format!("waiting: {}", run.fault.map_or("the next attempt is scheduled", Fault::describe))
        }
        (None, RunState::Running | RunState::Finished) => "it is working".to_owned(),
    }
}

fn outcome_text(kind: OutcomeKind, reason: Option<&str>) -> String {
    const TEXTS: [(OutcomeKind, &str); 5] = [
        (OutcomeKind::Done, "the work is done"),
        (OutcomeKind::Failed, "the agent gave up, or made no progress"),
        (OutcomeKind::NeedsPerson, "it needs a person"),
        (OutcomeKind::Cancelled, "it was stopped by the user"),
        (OutcomeKind::Suspended, "a signal suspended it"),
    ];
    if let Some((_, text)) = TEXTS.iter().find(|(of, _)| *of == kind) {
        return reason.unwrap_or(text).to_owned();
    }
    // The others all mean failure; the outcome's name distinguishes them.
    let name = kind.as_str().replace('_', " ");
    reason.map_or_else(|| name.clone(), |reason| format!("{name}: {reason}"))
}
