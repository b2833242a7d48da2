//! Oracles of what follows a run, and of how a workflow finishes.

use super::model::{Facts, Model, ModelPhase};
use crate::oracles::{Oracle, OracleResult, ensure};
use longhaul_core::{AfterRun, Moment, Outcome, OutcomeKind, Reaction, RunEnd, RunKey, Span};

const PARKS_MAX: u32 = 10;
const PARK_DEFAULT: Span = Span::from_mins(30);
const PARK_JITTER: Span = Span::from_secs(30);

/// Checks what follows the end of a run against the policy.
pub(crate) fn check_reaction(
    model: &Model<'_>,
    key: &RunKey,
    end: &RunEnd,
    next: AfterRun,
    parked_until: Option<Moment>,
    at: Moment,
) -> OracleResult {
    let is_left = end.outcome.kind == OutcomeKind::Suspended && model.cancelled_by.is_some();
    ensure(!is_left, Oracle::Cancels, || format!("{key:?} stays suspended in a cancelled workflow"))?;
    let expected = expected_next(model, key, end);
    ensure(next == expected, Oracle::GivesUp, || {
        format!("{} of {key:?} is followed by {next:?}, not by {expected:?}", end.outcome.kind)
    })?;
    ensure(parked_until.is_some() == (next == AfterRun::Park), Oracle::Waits, || {
        format!("{next:?} parks until {parked_until:?}")
    })?;
    let Some(until) = parked_until else { return Ok(()) };
    let from = end.outcome.retry_at.unwrap_or(at + PARK_DEFAULT).max(at);
    ensure(until >= from && until <= from + PARK_JITTER, Oracle::Waits, || {
        format!("{key:?} is parked until {until:?}, not from {from:?}")
    })
}

fn expected_next(model: &Model<'_>, key: &RunKey, end: &RunEnd) -> AfterRun {
    let kind = end.outcome.kind;
    if kind == OutcomeKind::Done {
        return AfterRun::Complete;
    }
    if model.cancelled_by.is_some() {
        return AfterRun::Stop;
    }
    if kind == OutcomeKind::Suspended && model.suspended_by.is_some() {
        return AfterRun::Suspend;
    }
    if model.stop.is_some() {
        return AfterRun::Stop;
    }
    if model.holds == Some(true) {
        return AfterRun::Continue;
    }
    if model.is_limited_by_share(key, end) {
        return AfterRun::Raise;
    }
    let parks = model.runs.get(key).map_or(0, |run| run.parks);
    configured(model, key, kind, parks)
}

/// Returns the reaction that the policy configures, within its bounds.
fn configured(model: &Model<'_>, key: &RunKey, kind: OutcomeKind, parks: u32) -> AfterRun {
    let retries = model.retries.get(&(key.phase, key.item)).copied().unwrap_or_default();
    let reaction = model.policy.phases[key.phase].reactions.0.get(&kind).copied();
    match (reaction, kind) {
        (Some(Reaction::Continue), _) => AfterRun::Continue,
        (Some(Reaction::Retry(max)), _) if retries < max => AfterRun::Retry,
        (Some(Reaction::Park) | None, OutcomeKind::RetryLater) if parks < PARKS_MAX => AfterRun::Park,
        (Some(Reaction::Stop | Reaction::Retry(_) | Reaction::Park) | None, _) => AfterRun::Stop,
    }
}

/// Checks that the outcome of the workflow has its reason.
pub(crate) fn check_finish(model: &Model<'_>, outcome: &Outcome, facts: &Facts) -> OracleResult {
    let has_ended =
        model.is_iteration_complete() && model.iteration == model.iterations_max.max(model.iteration);
    let has_until = model.policy.until_after.is_some();
    let is_done = if has_until { model.holds == Some(true) } else { has_ended && model.is_iteration_done() };
    let kind = outcome.kind;
    if model.cancelled_by.is_some() {
        let is_cancelled = kind == OutcomeKind::Cancelled && outcome.cancelled_by == model.cancelled_by;
        return ensure(is_cancelled, Oracle::Cancels, || {
            format!("{kind} by {:?} after a cancellation by {:?}", outcome.cancelled_by, model.cancelled_by)
        });
    }
    ensure(kind != OutcomeKind::Done || is_done, Oracle::NoFalseSuccess, || {
        format!("done in iteration {}, the condition is {:?}", model.iteration, model.holds)
    })?;
    // The list of a phase that ended as failed could not be read.
    let is_unmerged = |(index, phase): (usize, &ModelPhase)| {
        let has_results =
            (0..phase.items.len() as u32).any(|item| model.end_of(index, item) == OutcomeKind::Done);
        let has_failed = phase.outcome.is_some_and(|outcome| outcome.kind == OutcomeKind::Failed);
        model.policy.phases[index].has_worktrees && has_results && !phase.is_merged && !has_failed
    };
    let is_lost = kind == OutcomeKind::Done && model.phases.iter().enumerate().any(is_unmerged);
    ensure(!is_lost, Oracle::NoFalseSuccess, || "done, but results are not merged".to_owned())?;
    let has_reason = match (model.stop, kind) {
        (Some(stop), _) => kind == stop,
        (None, OutcomeKind::Done) => is_done,
        (None, OutcomeKind::Partial) => !is_done && has_ended && (!has_until || model.holds == Some(false)),
        (None, OutcomeKind::OverBudget) => model.limits.budget.is_some_and(|limit| {
            // Less than a hundredth, or a cent, is not worth a run.
            let rest = limit.saturating_sub(model.committed());
            !is_done && rest.0 <= (limit.0 / 100).min(10_000)
        }),
        (None, _) => false,
    };
    ensure(has_reason, Oracle::GivesUp, || {
        format!("{kind} without a reason: stop {:?}, worked {:?}", model.stop, facts.worked)
    })
}
