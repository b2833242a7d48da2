//! Checks that attempts end with their true fault, and runs with the matching outcome.

use super::promises::is_promised;
use super::{Oracle, OracleResult, Violation, ensure};
use crate::world::{EndedAttempt, World};
use longhaul_core::{
    ApiError, CancelSource, CheckResult, Event, Evidence, Exit, Fault, Limit, Moment, Notice, Now, Outcome,
    OutcomeKind, Policy, ProcessId, Run, SessionFileState, SessionLoss, Span, SpawnError, StopCause,
    SummaryReport,
};

/// Checks that the decided fault is the true one, or the one for which the supervisor stopped the agent.
pub(crate) fn check_truth(
    ended: &EndedAttempt,
    stopped: Option<StopCause>,
    fault: Option<Fault>,
) -> OracleResult {
    let stop_fault = match stopped {
        Some(StopCause::Stalled | StopCause::NoProgress) => Some(Fault::Stalled),
        Some(StopCause::TimedOut) => Some(Fault::AttemptTimeout),
        Some(StopCause::AuthRejected) => Some(Fault::Auth),
        Some(StopCause::WrongSession) => Some(Fault::SessionLost),
        Some(StopCause::MemoryLimit) => Some(Fault::OutOfMemory),
        // A process that the supervisor killed did not crash.
        Some(StopCause::Suspended) if matches!(ended.truth, Some(Fault::Crashed | Fault::OutOfMemory)) => {
            Some(Fault::Interrupted)
        }
        // A cancelled attempt that did not start, or whose exit nothing observed, did not crash.
        Some(StopCause::Cancelled)
            if matches!(ended.evidence.exit, Exit::NeverSpawned | Exit::Unobserved)
                && ended.truth == Some(Fault::Crashed) =>
        {
            Some(Fault::Interrupted)
        }
        Some(
            StopCause::DidNotExit
            | StopCause::BackgroundStopped
            | StopCause::Cancelled
            | StopCause::Suspended
            | StopCause::WrapUp
            | StopCause::LimitReached,
        )
        | None => None,
    };
    let correct = match ended.truth {
        None => fault.is_none(),
        // A lapsed guard outranks everything. Otherwise an attempt that a limit stopped has no fault.
        Some(Fault::GuardLapsed) => fault == ended.truth,
        Some(truth) if stopped == Some(StopCause::LimitReached) => {
            // Exception: work in another session does not belong to this run.
            fault.is_none() || truth == Fault::SessionLost && fault == Some(truth)
        }
        // The supervisor stopped the sub-agents on purpose: the result before them counts, unless it is an error.
        Some(Fault::Interrupted | Fault::Crashed)
            if stopped == Some(StopCause::BackgroundStopped)
                && ended.evidence.background > 0
                && ended.evidence.result.is_some_and(|result| !result.is_error) =>
        {
            fault.is_none()
        }
        // A usage limit outranks a stop by the supervisor, because no attempt may start before its reset.
        Some(truth @ Fault::UsageLimit) => fault == Some(truth),
        // Work in another session does not belong to this run.
        Some(truth @ Fault::SessionLost) if ended.evidence.startup.is_none() => fault == Some(truth),
        Some(truth) => fault == Some(stop_fault.unwrap_or(truth)),
    };
    let fault_word = |fault: Option<Fault>| fault.map_or("none", Fault::as_str);
    ensure(correct, Oracle::Truth, || {
        format!("the decided fault is {1}, the true fault is {0}", fault_word(ended.truth), fault_word(fault))
    })
}

fn outcome_of_limit(limit: Limit) -> OutcomeKind {
    match limit {
        Limit::Budget | Limit::Tokens => OutcomeKind::OverBudget,
        Limit::Time | Limit::Wall | Limit::Turns => OutcomeKind::OutOfTime,
        Limit::Attempts => OutcomeKind::Failed,
    }
}

/// Checks that the run's outcome follows from its last attempt and its cancels.
pub(crate) fn check_ending(
    outcome: &Outcome,
    world: &World,
    policy: &Policy,
    was_requested: bool,
) -> OracleResult {
    let ended = world.ended_attempt.as_ref();
    let truth = ended.map(|ended| ended.truth);
    let done = truth == Some(None) || truth == Some(Some(Fault::Permission)) && policy.allow_denials;
    ensure(outcome.kind != OutcomeKind::Done || done, Oracle::NoFalseSuccess, || {
        format!("done, although the last attempt failed: {truth:?}")
    })?;
    ensure(
        (outcome.exit_code() == 0) == (outcome.kind == OutcomeKind::Done),
        Oracle::NoFalseSuccess,
        || format!("{} exits with {}", outcome.kind, outcome.exit_code()),
    )?;
    match (outcome.kind, outcome.fault) {
        (OutcomeKind::Done, _) => Ok(()),
        (OutcomeKind::Bug, _) => ensure(world.has_unkillable, Oracle::GivesUp, || {
            "bug, although every process could be stopped".to_owned()
        }),
        // Another oracle counts the checks.
        (OutcomeKind::CheckFailed, _) | (OutcomeKind::NeedsPerson, None) => {
            let promised = outcome.fault.is_some_and(|fault| is_promised(fault, outcome.kind));
            let by_fault = promised && truth == Some(outcome.fault);
            ensure(done || by_fault, Oracle::GivesUp, || {
                format!("{}, although the last attempt failed: {truth:?}", outcome.kind)
            })
        }
        (OutcomeKind::Cancelled, _) => check_cancelled(outcome, was_requested),
        // Another oracle decides whether the limit was reached.
        (kind, _) if outcome.limit.is_some() => {
            let correct = outcome.limit.map(outcome_of_limit) == Some(kind);
            ensure(correct, Oracle::GivesUp, || format!("{:?} ends as {kind}", outcome.limit))
        }
        (_, None) => Err(Violation::new(Oracle::GivesUp, format!("{} without a fault", outcome.kind))),
        (kind, Some(fault)) => {
            let correct = is_promised(fault, kind) || is_exception(fault, kind, ended, policy);
            ensure(correct, Oracle::GivesUp, || format!("{fault} ends as {kind}"))?;
            let has_retry_time = kind != OutcomeKind::RetryLater || outcome.retry_at.is_some();
            ensure(has_retry_time, Oracle::GivesUp, || "retry_later without a time".to_owned())
        }
    }
}

/// Returns whether this is one of the three documented exceptions to the outcome of a fault.
fn is_exception(fault: Fault, kind: OutcomeKind, ended: Option<&EndedAttempt>, policy: &Policy) -> bool {
    let Some(ended) = ended else { return false };
    let portal =
        ended.evidence.result.as_ref().is_some_and(|result| result.api_error == Some(ApiError::Malformed));
    let requested_session = ended.attempt == 1 && policy.session_loss == SessionLoss::FallBack;
    fault == Fault::Network && portal && kind == OutcomeKind::NeedsPerson
        || fault == Fault::SessionLost && requested_session && kind == OutcomeKind::NotStarted
        || kind == OutcomeKind::Failed && ended.attempt > 1 && is_promised(fault, OutcomeKind::NotStarted)
}

fn check_cancelled(outcome: &Outcome, was_requested: bool) -> OracleResult {
    ensure(was_requested, Oracle::Cancels, || {
        format!("cancelled by {:?} without such a request", outcome.cancelled_by)
    })?;
    let code = match outcome.cancelled_by {
        Some(CancelSource::Person | CancelSource::PersonNow) | None => 130,
        Some(CancelSource::Sigterm) => 143,
        Some(CancelSource::Sighup) => 129,
    };
    ensure(outcome.exit_code() == code, Oracle::Cancels, || {
        format!("cancelled by {:?} exits with {}", outcome.cancelled_by, outcome.exit_code())
    })
}

/// Checks that events after the finish neither change the run nor cause actions.
pub(crate) fn check_stable(run: &mut Run, policy: &Policy, at: Moment) -> OracleResult {
    let state = run.state().clone();
    let now = Now { at: at + Span::from_hours(1), roll: 7 };
    let events: [Event; 12] = [
        Event::Ticked,
        Event::SessionInspected(SessionFileState::Missing),
        Event::SummaryEnded(SummaryReport::NotNeeded),
        Event::Spawned(ProcessId { pid: 7, start_ticks: 7 }),
        Event::SpawnFailed(SpawnError::NoResources),
        Event::Noticed(Notice::ToolEnded),
        Event::Exited(Evidence::from_exit(Exit::Code(0))),
        Event::CheckEnded(CheckResult::Failed),
        Event::Swept(0),
        Event::Downtime(Span(7)),
        Event::Cancelled(CancelSource::Person),
        Event::Cancelled(CancelSource::Sigterm),
    ];
    ensure(run.deadline(policy).is_none(), Oracle::Stable, || "a deadline after the finish".to_owned())?;
    for event in events {
        let step = run.step(policy, now, event);
        let unchanged = step.records.is_empty() && step.actions.is_empty();
        ensure(unchanged, Oracle::Stable, || format!("an event after the finish leads to {step:?}"))?;
    }
    ensure(*run.state() == state, Oracle::Stable, || {
        format!("events after the finish changed the state to {:?}", run.state())
    })
}
