//! Checks `on`: the reactions to runs that did not finish as `done`.

use super::context::FileContext;
use super::tables::PhaseTable;
use crate::WorkflowFileError;
use crate::error::suggestion;
use longhaul_core::{OutcomeKind, Reaction, Reactions};

/// Each retry is a whole run, so that more is a typing error.
const RETRIES_MAX: u32 = 100;

/// Returns whether a phase can react to a run with this outcome. `done` needs no reaction, a user's cancellation
/// always stops, and `partial` is an outcome of workflows.
fn has_reaction(outcome: OutcomeKind) -> bool {
    match outcome {
        OutcomeKind::Failed
        | OutcomeKind::OverBudget
        | OutcomeKind::OutOfTime
        | OutcomeKind::NeedsPerson
        | OutcomeKind::CheckFailed
        | OutcomeKind::NotStarted
        | OutcomeKind::Incomplete
        | OutcomeKind::Bug
        | OutcomeKind::RetryLater => true,
        OutcomeKind::Done | OutcomeKind::Partial | OutcomeKind::Cancelled | OutcomeKind::Suspended => false,
    }
}

pub fn reactions(file: &FileContext<'_>, table: &PhaseTable) -> Result<Reactions, WorkflowFileError> {
    let mut reactions = Reactions::default();
    for (key, value) in &table.on {
        let (outcome, reaction) = (*key.get_ref(), *value.get_ref());
        if !has_reaction(outcome) {
            let outcomes = OutcomeKind::ALL.iter().copied().filter(|outcome| has_reaction(*outcome));
            let names: Vec<&str> = outcomes.map(OutcomeKind::as_str).collect();
            let hint = suggestion("outcomes", outcome.as_str(), &names);
            return Err(file.source.error(key.span(), format!("`on` cannot react to `{outcome}`"), hint));
        }
        if reaction == Reaction::Park && outcome != OutcomeKind::RetryLater {
            let message = format!("`{outcome}` cannot park: only `retry_later` has a time to wait for");
            let hint = "write \"stop\", \"continue\" or { retry = 2 }";
            return Err(file.source.error(value.span(), message, hint));
        }
        if matches!(reaction, Reaction::Retry(retries) if !(1..=RETRIES_MAX).contains(&retries)) {
            let hint = format!("write a whole number from 1 to {RETRIES_MAX}");
            return Err(file.source.error(value.span(), "the number of retries is out of range", hint));
        }
        reactions.0.insert(outcome, reaction);
    }
    Ok(reactions)
}
