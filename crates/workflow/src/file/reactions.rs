//! Parses `on`: the reactions to runs that did not finish as `done`.

use crate::WorkflowFileError;
use crate::error::suggestion;
use crate::reader::TableReader;
use longhaul_core::{OutcomeKind, Reaction, Reactions};
use toml::Spanned;
use toml::de::DeValue;

/// Each retry is a whole run, so that more is a typing error.
const RETRIES_MAX: u32 = 100;
const REACTIONS_HINT: &str = "write \"stop\", \"continue\" or { retry = 2 }; for `retry_later` also \"park\"";

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

pub fn parse_reactions(table: &TableReader<'_>) -> Result<Reactions, WorkflowFileError> {
    let mut reactions = Reactions::default();
    let Some(on) = table.table("on")? else { return Ok(reactions) };
    let outcomes = || OutcomeKind::ALL.iter().copied().filter(|outcome| has_reaction(*outcome));
    for (key, value) in on.entries() {
        let name = key.get_ref().as_ref();
        let Some(outcome) = outcomes().find(|outcome| outcome.as_str() == name) else {
            let names: Vec<&str> = outcomes().map(OutcomeKind::as_str).collect();
            let message = format!("`on` cannot react to `{name}`");
            return Err(table.file.source.error(key.span(), message, suggestion("outcomes", name, &names)));
        };
        reactions.0.insert(outcome, reaction(table, outcome, value)?);
    }
    Ok(reactions)
}

fn reaction(
    table: &TableReader<'_>,
    outcome: OutcomeKind,
    value: &Spanned<DeValue<'_>>,
) -> Result<Reaction, WorkflowFileError> {
    let source = table.file.source;
    let error = |message: String| Err(source.error(value.span(), message, REACTIONS_HINT));
    match value.get_ref() {
        DeValue::String(word) => match word.as_ref() {
            "stop" => Ok(Reaction::Stop),
            "continue" => Ok(Reaction::Continue),
            "park" if outcome == OutcomeKind::RetryLater => Ok(Reaction::Park),
            "park" => {
                let message = format!("`{outcome}` cannot park: only `retry_later` has a time to wait for");
                error(message)
            }
            "retry" => error("`retry` needs a number".to_owned()),
            word => error(format!("there is no reaction `{word}`")),
        },
        DeValue::Table(retry) => {
            let retry = TableReader::new(table.file, format!("`{outcome}`"), retry, value.span());
            match retry.with_keys(&["retry"])?.count("retry", 1..=RETRIES_MAX)? {
                Some(retries) => Ok(Reaction::Retry(retries)),
                None => error(format!("the reaction to `{outcome}` is empty")),
            }
        }
        _ => error(format!("the reaction to `{outcome}` must be a string or a table")),
    }
}
