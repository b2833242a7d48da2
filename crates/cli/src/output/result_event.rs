//! The last line of `--output-format stream-json`: the result of the whole run, in the shape of Claude Code's
//! `result` event. It never repeats what a single attempt reported. Keys are only ever added.

use super::envelope::{Envelope, RunInfo, TokenUsage};
use longhaul::RunReport;
use longhaul_core::{Dollars, Fault, Limit, OutcomeKind, Span};
use longhaul_store::{LedgerSpend, RunDir, spend_by_model};
use serde::Serialize;
use std::collections::BTreeMap;

/// The result of a run. All keys except `run` are those of Claude Code.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ResultEvent {
    /// Distinguishes the line from all others of the stream.
    r#type: ResultType,
    /// Kind of result. `run.outcome` is more precise.
    subtype: ResultSubtype,
    /// Whether the work is not done. False only for the outcome `done`.
    is_error: bool,
    /// Time from start to finish of the run, waits included.
    duration_ms: Span,
    /// Turns in the main conversation, of all attempts.
    num_turns: u32,
    /// The agent's last answer. It is partial if the run did not finish.
    result: Option<String>,
    /// Errors, for people. Empty only if the work is done.
    errors: Vec<String>,
    /// The session that can be resumed.
    session_id: Option<String>,
    /// Reported cost plus estimated cost, of the whole run.
    total_cost_usd: Dollars,
    /// Tokens of the whole run.
    usage: TokenUsage,
    /// Tokens and cost of the whole run, by model.
    #[serde(rename = "modelUsage")]
    model_usage: BTreeMap<String, ResultModelUsage>,
    /// Everything specific to Longhaul.
    run: ResultRun,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
enum ResultType {
    Result,
}

/// Claude Code's kinds of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
enum ResultSubtype {
    /// The work is done.
    Success,
    /// The turn limit is exhausted.
    ErrorMaxTurns,
    /// The budget is exhausted.
    ErrorMaxBudgetUsd,
    /// Every other outcome.
    ErrorDuringExecution,
}

/// Tokens and cost of one model.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
struct ResultModelUsage {
    /// Input tokens that no cache served.
    input_tokens: u64,
    /// Output tokens, thinking included.
    output_tokens: u64,
    /// Input tokens read from the prompt cache.
    cache_read_input_tokens: u64,
    /// Input tokens written to the prompt cache.
    cache_creation_input_tokens: u64,
    /// Reported cost plus estimated cost.
    #[serde(rename = "costUSD")]
    cost_usd: Dollars,
}

/// The run, as in the envelope, with the keys of its `usage` that Claude Code does not have.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ResultRun {
    #[serde(flatten)]
    info: RunInfo,
    /// The part of the cost that Longhaul estimates, for processes that ended without reporting theirs.
    estimated_cost_usd: Dollars,
    /// Estimated tokens of truncated messages. The counts above do not include them.
    truncated_tokens: u64,
    /// Whether some tokens have no known price.
    unpriced: bool,
}

impl ResultEvent {
    pub fn from_report(report: &RunReport) -> ResultEvent {
        ResultEvent {
            num_turns: report.usage.turns,
            model_usage: model_usage(report),
            ..ResultEvent::from_envelope(Envelope::new(report))
        }
    }

    /// Creates the result of a command without a finished run. It counts no turns.
    pub fn from_envelope(envelope: Envelope) -> ResultEvent {
        let Envelope { success, result, errors, session_id, usage, duration_ms, run } = envelope;
        ResultEvent {
            r#type: ResultType::Result,
            subtype: ResultSubtype::new(&run),
            is_error: !success,
            duration_ms,
            num_turns: 0,
            result,
            errors,
            session_id,
            total_cost_usd: usage.total_cost_usd,
            usage: usage.tokens,
            model_usage: BTreeMap::new(),
            run: ResultRun {
                info: run,
                estimated_cost_usd: usage.estimated_cost_usd,
                truncated_tokens: usage.truncated_tokens,
                unpriced: usage.unpriced,
            },
        }
    }
}

impl ResultSubtype {
    fn new(run: &RunInfo) -> ResultSubtype {
        if run.outcome == OutcomeKind::Done {
            ResultSubtype::Success
        } else if run.limit == Some(Limit::Turns) || run.fault == Some(Fault::TurnLimit) {
            ResultSubtype::ErrorMaxTurns
        } else if run.limit == Some(Limit::Budget) || run.fault == Some(Fault::AgentBudget) {
            ResultSubtype::ErrorMaxBudgetUsd
        } else {
            ResultSubtype::ErrorDuringExecution
        }
    }
}

/// Adds up the usage of all attempts, reviews and summaries by model.
fn model_usage(report: &RunReport) -> BTreeMap<String, ResultModelUsage> {
    let usage = |(model, spend): (String, LedgerSpend)| {
        let usage = ResultModelUsage {
            input_tokens: spend.tokens.input,
            output_tokens: spend.tokens.output,
            cache_read_input_tokens: spend.tokens.cache_read,
            cache_creation_input_tokens: spend.tokens.cache_write,
            cost_usd: (spend.cost + spend.estimated_cost).into(),
        };
        (model, usage)
    };
    let dir = RunDir::from_path(report.dir.clone());
    dir.iter().flat_map(spend_by_model).map(usage).collect()
}

#[cfg(test)]
mod tests {
    use super::{ResultEvent, ResultSubtype};
    use crate::output::envelope::{Envelope, RunInfo};
    use expect_test::expect;
    use longhaul_core::{Fault, Limit, OutcomeKind};

    #[test]
    fn subtype_is_success_only_for_finished_work() {
        let subtype = |outcome, fault, limit| {
            ResultSubtype::new(&RunInfo { outcome, fault, limit, ..RunInfo::default() })
        };
        for outcome in OutcomeKind::ALL.iter().copied() {
            let is_success = subtype(outcome, None, None) == ResultSubtype::Success;
            assert_eq!(is_success, outcome == OutcomeKind::Done, "{outcome}");
        }
        for (limit, expected) in [
            (Limit::Budget, ResultSubtype::ErrorMaxBudgetUsd),
            (Limit::Turns, ResultSubtype::ErrorMaxTurns),
            (Limit::Tokens, ResultSubtype::ErrorDuringExecution),
            (Limit::Wall, ResultSubtype::ErrorDuringExecution),
        ] {
            assert_eq!(subtype(limit.outcome(), None, Some(limit)), expected, "{limit}");
        }
        let of_agent = |fault| subtype(OutcomeKind::Failed, Some(fault), None);
        assert_eq!(of_agent(Fault::TurnLimit), ResultSubtype::ErrorMaxTurns);
        assert_eq!(of_agent(Fault::AgentBudget), ResultSubtype::ErrorMaxBudgetUsd);
    }

    #[test]
    fn result_without_a_run_is_an_error_that_cost_nothing() {
        let envelope = Envelope::without_run(OutcomeKind::NotStarted, 25, None, "no agent".to_owned());
        let event = serde_json::to_value(ResultEvent::from_envelope(envelope)).expect("string keys");
        let shown = ["type", "subtype", "is_error", "errors", "total_cost_usd", "num_turns", "session_id"]
            .map(|key| format!("{key} {}\n", event[key]));
        expect![[r#"
            type "result"
            subtype "error_during_execution"
            is_error true
            errors ["no agent"]
            total_cost_usd 0.0
            num_turns 0
            session_id null
        "#]]
        .assert_eq(&shown.concat());
        assert_eq!(
            (&event["run"]["outcome"], &event["run"]["exit_code"]),
            (&"not_started".into(), &25.into())
        );
    }
}
