//! Whether a wait lies within its schedule: bounds computed anew from the policy's documentation.

use super::bounds::{AttemptCase, Bounds};
use super::{Oracle, Violation, ensure};
use longhaul_core::{
    Backoff, Fault, Jitter, Moment, RateLimitStatus, Remedy, SessionLoss, Span, TimeoutAction,
};

// An unknown fault and one of memory are retried from this step of the schedule on.
const CAREFUL_STEP: u32 = 4;

/// The wait lies in the reach of its schedule. Returns over how much chance should spread it.
pub(crate) fn check_wait(
    bounds: &Bounds,
    case: &AttemptCase<'_>,
    remedy: Remedy,
    at: Moment,
) -> Result<Span, Violation> {
    let (earliest, latest) = reach(bounds, case);
    ensure((earliest..=latest).contains(&at), Oracle::Waits, || {
        format!(
            "{remedy:?} after {} at {} starts {} later, not between {} and {} later",
            case.fault,
            case.now.0,
            at.since(case.now),
            earliest.since(case.now),
            latest.since(case.now)
        )
    })?;
    // Behind a hint's floor most draws land in a spread of their own.
    let floored = case.evidence.retry_after.is_some();
    Ok(if floored { Span::ZERO } else { latest.since(earliest) })
}

/// The earliest and the latest moment for the next attempt.
fn reach(bounds: &Bounds, case: &AttemptCase<'_>) -> (Moment, Moment) {
    let policy = case.policy;
    let used = bounds.used(policy, case.fault);
    let by_schedule = |backoff: &Backoff, step| {
        let (shortest, longest) = scheduled(backoff, step, case.evidence.retry_after);
        (case.now + shortest, case.now + longest)
    };
    let at_once = (case.now, case.now);
    match case.fault {
        Fault::RateLimited | Fault::ServerError | Fault::Network => by_schedule(&policy.backoff, used),
        Fault::Overloaded => {
            let young = bounds.wall_age(case.now) < policy.early_overload_period;
            let cap = if young {
                policy.backoff.cap.at_most(policy.early_overload_cap)
            } else {
                policy.backoff.cap
            };
            by_schedule(&Backoff { cap, ..policy.backoff }, used)
        }
        Fault::UsageLimit => {
            match case.evidence.rate_limit.and_then(|limit| limit.resets_at).filter(|at| *at > case.now) {
                Some(reset) => (reset, reset + policy.reset_jitter),
                None => {
                    let backoff = Backoff { jitter: Jitter::Percent(25), ..policy.backoff };
                    by_schedule(&backoff, CAREFUL_STEP + bounds.parks)
                }
            }
        }
        Fault::Crashed | Fault::Interrupted | Fault::Stalled => by_schedule(&policy.backoff, used),
        Fault::OutOfMemory | Fault::Unknown => by_schedule(&policy.backoff, CAREFUL_STEP),
        Fault::AttemptTimeout if policy.attempt_timeout_action == TimeoutAction::Retry => {
            by_schedule(&policy.backoff, used)
        }
        Fault::SessionLost if policy.session_loss == SessionLoss::SpendAttempt => {
            let (earliest, latest) = by_schedule(&policy.backoff, used);
            let (opens, opens_latest) = when_open(case);
            (earliest.max(opens), latest.max(opens_latest))
        }
        Fault::SessionLost | Fault::ContextFull => when_open(case),
        Fault::AttemptTimeout
        | Fault::SessionExists
        | Fault::SessionBusy
        | Fault::OutputLimit
        | Fault::Unfinished
        | Fault::GuardLapsed
        | Fault::Permission
        | Fault::Auth
        | Fault::Billing
        | Fault::ModelUnknown
        | Fault::Refused
        | Fault::BadRequest
        | Fault::AgentMissing
        | Fault::AgentUnusable
        | Fault::TurnLimit
        | Fault::AgentBudget => at_once,
    }
}

/// Now, or when a usage window opens that is stated to be closed.
fn when_open(case: &AttemptCase<'_>) -> (Moment, Moment) {
    let closed = case.evidence.rate_limit.filter(|limit| limit.status == RateLimitStatus::Rejected);
    match closed.and_then(|limit| limit.resets_at).filter(|reset| *reset > case.now) {
        Some(reset) => (reset, reset + case.policy.reset_jitter),
        None => (case.now, case.now),
    }
}

/// The shortest and the longest wait that a schedule may draw.
fn scheduled(backoff: &Backoff, step: u32, hint: Option<Span>) -> (Span, Span) {
    let factor = 1_u64.checked_shl(step).unwrap_or(u64::MAX);
    let whole = backoff.base.0.saturating_mul(factor).min(backoff.cap.0);
    let (shortest, longest) = match backoff.jitter {
        Jitter::Full => (0, whole),
        Jitter::None => (whole, whole),
        Jitter::Percent(percent) => {
            let part = whole.saturating_mul(u64::from(percent)) / 100;
            (whole.saturating_sub(part), whole.saturating_add(part))
        }
    };
    let floor = hint.map_or(0, |hint| hint.0);
    let late = if floor > shortest { floor.saturating_add(backoff.base.0.min(backoff.cap.0)) } else { 0 };
    (Span(shortest.max(floor)), Span(longest.max(late)))
}
