//! Whether an attempt and a run end as what they truly were.

use super::{Oracle, OracleResult, Violation, ensure};
use crate::world::{EndedAttempt, World};
use longhaul_core::{
    ApiError, CancelSource, CheckResult, Event, Evidence, Exit, Fault, Limit, Moment, Notice, Now, Outcome,
    OutcomeKind, Policy, ProcessId, Run, SessionFileState, SessionLoss, Span, SpawnError, StopCause,
    SummaryReport,
};

/// The fault decided is the one that was, or the one for which we stopped the agent ourselves.
pub(crate) fn check_truth(
    ended: &EndedAttempt,
    stopped: Option<StopCause>,
    fault: Option<Fault>,
) -> OracleResult {
    let ours = match stopped {
        Some(StopCause::Stalled | StopCause::NoProgress) => Some(Fault::Stalled),
        Some(StopCause::TimedOut) => Some(Fault::AttemptTimeout),
        Some(StopCause::AuthRejected) => Some(Fault::Auth),
        Some(StopCause::WrongSession) => Some(Fault::SessionLost),
        Some(StopCause::MemoryLimit) => Some(Fault::OutOfMemory),
        // A process that our KILL ended did not crash.
        Some(StopCause::Suspended) if matches!(ended.truth, Some(Fault::Crashed | Fault::OutOfMemory)) => {
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
    let right = match ended.truth {
        None => fault.is_none(),
        // A guard that did not run outlasts everything; else nothing failed where the run had used what it may.
        Some(Fault::GuardLapsed) => fault == ended.truth,
        Some(truth) if stopped == Some(StopCause::LimitReached) => {
            // But what was done in another conversation was not this run's.
            fault.is_none() || truth == Fault::SessionLost && fault == Some(truth)
        }
        // Quota outlasts a stop of ours: nothing may be started before its reset.
        Some(truth @ Fault::UsageLimit) => fault == Some(truth),
        // And what was done in another conversation was not this run's.
        Some(truth @ Fault::SessionLost) if ended.evidence.startup.is_none() => fault == Some(truth),
        Some(truth) => fault == Some(ours.unwrap_or(truth)),
    };
    let word = |fault: Option<Fault>| fault.map_or("nothing", Fault::word);
    ensure(right, Oracle::Truth, || {
        format!("an attempt that failed by {} counts as failed by {}", word(ended.truth), word(fault))
    })
}

/// What the documentation says a run ends as when this fault decides it.
fn ends_as(fault: Fault) -> OutcomeKind {
    match fault {
        Fault::RateLimited | Fault::Overloaded | Fault::ServerError | Fault::Network | Fault::UsageLimit => {
            OutcomeKind::RetryLater
        }
        Fault::Crashed
        | Fault::Interrupted
        | Fault::OutOfMemory
        | Fault::Stalled
        | Fault::SessionLost
        | Fault::SessionExists
        | Fault::ContextFull
        | Fault::OutputLimit
        | Fault::Unfinished
        | Fault::ModelUnknown
        | Fault::Refused
        | Fault::BadRequest => OutcomeKind::Failed,
        Fault::AttemptTimeout | Fault::TurnLimit => OutcomeKind::OutOfTime,
        Fault::AgentBudget => OutcomeKind::OverBudget,
        Fault::GuardLapsed | Fault::Permission | Fault::Auth | Fault::Billing | Fault::Unknown => {
            OutcomeKind::NeedsPerson
        }
        Fault::SessionBusy | Fault::AgentMissing | Fault::AgentUnusable => OutcomeKind::NotStarted,
    }
}

/// What the documentation says a run ends as by a limit.
fn ends_by(limit: Limit) -> OutcomeKind {
    match limit {
        Limit::Budget | Limit::Tokens => OutcomeKind::OverBudget,
        Limit::Time | Limit::Wall | Limit::Turns => OutcomeKind::OutOfTime,
        Limit::Attempts => OutcomeKind::Failed,
    }
}

/// The run's outcome is what its last attempt and its cancels make it.
pub(crate) fn check_ending(
    outcome: &Outcome,
    world: &World,
    policy: &Policy,
    asked_by_them: bool,
) -> OracleResult {
    let ended = world.finished.as_ref();
    let truth = ended.map(|ended| ended.truth);
    let done = truth == Some(None) || truth == Some(Some(Fault::Permission)) && policy.allow_denials;
    ensure(outcome.kind != OutcomeKind::Done || done, Oracle::NoFalseSuccess, || {
        format!("done, while the last attempt failed: {truth:?}")
    })?;
    ensure(
        (outcome.exit_code() == 0) == (outcome.kind == OutcomeKind::Done),
        Oracle::NoFalseSuccess,
        || format!("{} exits with {}", outcome.kind, outcome.exit_code()),
    )?;
    match (outcome.kind, outcome.fault) {
        (OutcomeKind::Done, _) => Ok(()),
        (OutcomeKind::Bug, _) => {
            ensure(world.undying, Oracle::GivesUp, || "bug, while every process could be ended".to_owned())
        }
        // Whether it was judged so often is for those who count.
        (OutcomeKind::CheckFailed, _) => ensure(done, Oracle::GivesUp, || {
            format!("check_failed, while the last attempt failed: {truth:?}")
        }),
        (OutcomeKind::Cancelled, _) => check_cancelled(outcome, asked_by_them),
        // Whether it was reached is for those who count.
        (kind, _) if outcome.limit.is_some() => {
            let right = outcome.limit.map(ends_by) == Some(kind);
            ensure(right, Oracle::GivesUp, || format!("{:?} ends as {kind}", outcome.limit))
        }
        (_, None) => Err(Violation::new(Oracle::GivesUp, format!("{} without a fault", outcome.kind))),
        (kind, Some(fault)) => {
            let expected = ends_as(fault);
            ensure(kind == expected || exception(fault, kind, ended, policy), Oracle::GivesUp, || {
                format!("{fault} ends as {kind}, not {expected}")
            })?;
            let late = kind != OutcomeKind::RetryLater || outcome.retry_at.is_some();
            ensure(late, Oracle::GivesUp, || "retry later, and nobody says when".to_owned())
        }
    }
}

/// The two faults that may end differently by circumstance.
fn exception(fault: Fault, kind: OutcomeKind, ended: Option<&EndedAttempt>, policy: &Policy) -> bool {
    let Some(ended) = ended else { return false };
    let portal =
        ended.evidence.result.as_ref().is_some_and(|result| result.api_error == Some(ApiError::Malformed));
    let named = ended.attempt == 1 && policy.session_loss == SessionLoss::FallBack;
    fault == Fault::Network && portal && kind == OutcomeKind::NeedsPerson
        || fault == Fault::SessionLost && named && kind == OutcomeKind::NotStarted
}

fn check_cancelled(outcome: &Outcome, asked_by_them: bool) -> OracleResult {
    ensure(asked_by_them, Oracle::Cancels, || {
        format!("cancelled by {:?}, who did not ask for it", outcome.cancelled_by)
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

/// After the end no event changes or orders anything.
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
        Event::Exited(Evidence::of_exit(Exit::Code(0))),
        Event::CheckEnded(CheckResult::Failed),
        Event::Swept(0),
        Event::Downtime(Span(7)),
        Event::Cancelled(CancelSource::Person),
        Event::Cancelled(CancelSource::Sigterm),
    ];
    ensure(run.deadline(policy).is_none(), Oracle::Stable, || "a deadline after the end".to_owned())?;
    for event in events {
        let step = run.step(policy, now, event);
        let quiet = step.records.is_empty() && step.actions.is_empty();
        ensure(quiet, Oracle::Stable, || format!("after the end something does {step:?}"))?;
    }
    ensure(*run.state() == state, Oracle::Stable, || format!("after the end, {:?}", run.state()))
}
