//! Describes for people why a run did not finish its work. It reads vendor fields and records, never the
//! agent's prose.

use crate::file_end::tail;
use longhaul_agent::{AttemptSnapshot, for_user};
use longhaul_core::{CancelSource, Fault, Outcome, OutcomeKind, Policy, State, WaitBound};
use longhaul_store::RunDir;
use std::path::PathBuf;

// The end of a test report: the failures and the totals.
const LINES_MAX: usize = 20;
// Enough for 20 lines of ordinary length. It also limits a single endless line.
const BYTES_MAX: u64 = 4 << 10;

/// The check that failed last, that needs a person, or whose reviewer gave no verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedCheck {
    /// Its ordinal in the run, from 1.
    pub number: u32,
    /// The absolute path of its log, which contains the commands and their output.
    pub log: PathBuf,
    /// The last lines of the log, at most 20.
    pub tail: String,
}

impl FailedCheck {
    pub(super) fn read(dir: &RunDir, state: &State, outcome: Outcome) -> Option<FailedCheck> {
        if !state.is_ended_by_check() && !lacks_verdict(state, outcome) {
            return None;
        }
        let path = dir.check_output_path(state.checks);
        let text = tail(&path, BYTES_MAX).unwrap_or_default();
        let lines: Vec<&str> = text.trim_end().lines().collect();
        let tail = lines[lines.len().saturating_sub(LINES_MAX)..].join("\n");
        let log = std::path::absolute(&path).unwrap_or(path);
        Some(FailedCheck { number: state.checks, log, tail })
    }
}

/// Returns the errors of a run with this outcome: the reason, the last lines of a failed check, and the
/// agent's messages.
pub(super) fn errors(
    state: &State,
    policy: &Policy,
    outcome: Outcome,
    check: Option<&FailedCheck>,
    snapshot: &AttemptSnapshot,
    stderr: Option<&str>,
) -> Vec<String> {
    if outcome.kind == OutcomeKind::Done {
        return Vec::new();
    }
    let bound = WaitBound::from_state(state, policy);
    let bound = bound.map_or_else(String::new, |bound| format!("; the next retry would exceed {bound}"));
    let mut errors = vec![reason(state, outcome, check) + &bound];
    errors.extend(check.map(|check| check.tail.clone()).filter(|tail| !tail.is_empty()));
    errors.extend(snapshot.errors.iter().cloned());
    errors.extend(stderr.map(for_user).filter(|text| !text.is_empty()));
    errors.dedup();
    errors
}

/// Returns why the run did not finish its work, as a clause without a period.
fn reason(state: &State, outcome: Outcome, check: Option<&FailedCheck>) -> String {
    let fault = outcome.fault.map(|fault| describe(state, fault));
    if let Some(limit) = outcome.limit {
        let fault = fault.map(|fault| format!("; the last attempt failed: {fault}")).unwrap_or_default();
        return format!("{}{fault}", limit.describe_stop());
    }
    if let Some(FailedCheck { number, log, .. }) = check {
        if lacks_verdict(state, outcome) {
            // The log says what was wrong with the answer.
            let is_answered = outcome.fault == Some(Fault::Unfinished);
            let cause =
                fault.filter(|_| !is_answered).map_or_else(String::new, |fault| format!(", because {fault}"));
            return format!("check {number}: the reviewer gave no verdict{cause}; see {}", log.display());
        }
        let result = if outcome.kind == OutcomeKind::NeedsPerson { "needs a person" } else { "failed" };
        return format!("check {number} {result}; its output is in {}", log.display());
    }
    let clause = match outcome.kind {
        OutcomeKind::Done => "the work is done",
        OutcomeKind::Failed => "the agent gave up or made no progress",
        OutcomeKind::OverBudget => "the budget is exhausted",
        OutcomeKind::OutOfTime => "the time limit is exhausted",
        OutcomeKind::NeedsPerson => "the run needs a person",
        OutcomeKind::CheckFailed => "the check failed",
        OutcomeKind::NotStarted => "the run was not started",
        OutcomeKind::Incomplete => "Longhaul could not continue the run",
        OutcomeKind::Partial => "some of the work is not done",
        OutcomeKind::Bug => "the agent could not be stopped, even by SIGKILL",
        OutcomeKind::RetryLater => "the API is not available",
        OutcomeKind::Cancelled => return format!("{} cancelled the run", actor(outcome.cancelled_by)),
        OutcomeKind::Suspended => return format!("{} suspended the run", actor(outcome.cancelled_by)),
    };
    fault.unwrap_or_else(|| clause.to_owned())
}

fn lacks_verdict(state: &State, outcome: Outcome) -> bool {
    state.no_verdict.is_some() && outcome.fault == state.no_verdict
}

fn actor(source: Option<CancelSource>) -> &'static str {
    source.unwrap_or(CancelSource::Person).actor()
}

fn describe(state: &State, fault: Fault) -> String {
    let described = fault.describe_with(state.result.as_ref());
    // What the result says is more precise than the number of stops.
    match (fault, state.idle_stops) {
        (Fault::Unfinished, 1) if described == fault.describe() => {
            "the agent stopped without changing anything".to_owned()
        }
        (Fault::Unfinished, stops @ 2..) if described == fault.describe() => {
            format!("the agent stopped {stops} times in a row without changing anything")
        }
        _ => described.to_owned(),
    }
}
