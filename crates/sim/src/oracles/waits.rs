//! Checks that a wait is within its schedule, and that its jitter is real. The schedule is restated from the policy's
//! documentation.

use super::bounds::{AttemptCase, Bound, Bounds};
use super::{Oracle, OracleResult, Violation, ensure};
use longhaul_core::{
    AfterAttempt, AttemptEnd, Backoff, Event, Fault, Jitter, Moment, Now, Policy, RateLimitStatus, Record,
    Remedy, Run, SessionLoss, Span, TimeoutAction,
};

// Retries after an unknown fault, an unknown model or a lack of memory start at this step of the schedule.
const CAREFUL_STEP: u32 = 4;
// A smaller spread may draw the same moment several times.
const SPREAD_MIN: Span = Span(1_000);
// Nine equal draws out of a thousand occur by chance once in 10^24.
const ROLLS: u64 = 8;

/// Checks that the wait is within its schedule. Returns the width of its jitter.
pub(crate) fn check_wait(
    bounds: &Bounds,
    case: &AttemptCase<'_>,
    remedy: Remedy,
    at: Moment,
) -> Result<Span, Violation> {
    let (earliest, latest) = expected_interval(bounds, case);
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
    Ok(latest.since(earliest))
}

/// Checks that the step of `before` decides moments other than `at` with other rolls.
pub(crate) fn check_spread(
    before: &Run,
    policy: &Policy,
    now: Now,
    event: &Event,
    at: Moment,
    spread: Span,
) -> OracleResult {
    let differs = |index: u64| {
        let roll = now.roll.wrapping_add(index.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let step = before.clone().step(policy, Now { roll, ..now }, event.clone());
        !step.records.iter().any(|record| {
            matches!(record, Record::AttemptEnded(AttemptEnd { next: AfterAttempt::Attempt { at: other, .. }, .. }) if *other == at)
        })
    };
    ensure(spread < SPREAD_MIN || (1..=ROLLS).any(differs), Oracle::Jitter, || {
        format!("the wait is {} with every roll, although its jitter is {spread} wide", at.since(now.at))
    })
}

/// Returns the earliest and the latest moment of the next attempt.
fn expected_interval(bounds: &Bounds, case: &AttemptCase<'_>) -> (Moment, Moment) {
    let policy = case.policy;
    let used = bounds.retries_used(policy, case.fault);
    let by_schedule = |backoff: &Backoff, step| {
        let (shortest, longest) = scheduled(backoff, step);
        (case.now + shortest, case.now + longest)
    };
    let immediately = (case.now, case.now);
    match case.bound() {
        Bound::Server if case.fault == Fault::Overloaded => {
            let is_early = bounds.outage_age(case.now) < policy.early_overload_period;
            let early_cap = policy.backoff.cap.at_most(policy.early_overload_cap);
            let cap = if is_early { early_cap } else { policy.backoff.cap };
            by_schedule(&Backoff { cap, ..policy.backoff }, used)
        }
        // An update may take most of a minute. Therefore these waits have no jitter.
        Bound::Retries if matches!(case.fault, Fault::AgentMissing | Fault::AgentUnusable) => {
            by_schedule(&Backoff { jitter: Jitter::None, ..policy.backoff }, used)
        }
        Bound::Server | Bound::Retries => by_schedule(&policy.backoff, used),
        Bound::UsageLimit => match reset(case) {
            Some(reset) => (reset, reset + policy.reset_jitter),
            None => {
                let backoff = Backoff { jitter: Jitter::Percent(25), ..policy.backoff };
                by_schedule(&backoff, CAREFUL_STEP + bounds.parks)
            }
        },
        Bound::RetriesSlowly => by_schedule(&policy.backoff, CAREFUL_STEP + used),
        Bound::OnceSlowly => by_schedule(&policy.backoff, CAREFUL_STEP),
        Bound::Timeout if policy.attempt_timeout_action == TimeoutAction::Retry => {
            by_schedule(&policy.backoff, used)
        }
        Bound::SessionLost if policy.session_loss == SessionLoss::SpendAttempt => {
            let (earliest, latest) = by_schedule(&policy.backoff, used);
            let (opens, opens_latest) = after_reset(case);
            (earliest.max(opens), latest.max(opens_latest))
        }
        Bound::SessionLost | Bound::NewSession => after_reset(case),
        Bound::Timeout | Bound::Once | Bound::Fork | Bound::Nudge(_) | Bound::AgentLimit | Bound::Final => {
            immediately
        }
    }
}

/// Returns the reported reset of the usage window, if it is in the future.
fn reset(case: &AttemptCase<'_>) -> Option<Moment> {
    case.evidence.rate_limit.and_then(|limit| limit.resets_at).filter(|reset| *reset > case.now)
}

/// Returns the bounds of a start without a wait: now, or the reset if the usage window is known to be
/// exhausted.
fn after_reset(case: &AttemptCase<'_>) -> (Moment, Moment) {
    let is_rejected = case.evidence.rate_limit.is_some_and(|limit| limit.status == RateLimitStatus::Rejected);
    match reset(case).filter(|_| is_rejected) {
        Some(reset) => (reset, reset + case.policy.reset_jitter),
        None => (case.now, case.now),
    }
}

/// Returns the shortest and the longest wait that a schedule may draw.
fn scheduled(backoff: &Backoff, step: u32) -> (Span, Span) {
    let factor = 1_u64.checked_shl(step).unwrap_or(u64::MAX);
    let step_ms = backoff.base.0.saturating_mul(factor).min(backoff.cap.0);
    let (shortest, longest) = match backoff.jitter {
        Jitter::Full => (0, step_ms),
        Jitter::None => (step_ms, step_ms),
        Jitter::Percent(percent) => {
            let jitter_ms = step_ms.saturating_mul(u64::from(percent)) / 100;
            (step_ms.saturating_sub(jitter_ms), step_ms.saturating_add(jitter_ms))
        }
    };
    (Span(shortest), Span(longest))
}
