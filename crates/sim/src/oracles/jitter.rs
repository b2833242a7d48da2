//! Checks that a wait has real jitter: with other rolls, the same step must decide other moments.

use super::{Oracle, OracleResult, ensure};
use longhaul_core::{AfterAttempt, Event, Moment, Now, Policy, Record, Run, Span};

// A smaller spread may draw the same moment several times.
const SPREAD_MIN: Span = Span(1_000);
// Nine equal draws out of a thousand occur by chance once in 10^24.
const ROLLS: u64 = 8;

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
            matches!(record, Record::AttemptEnded { next: AfterAttempt::Attempt { at: other, .. }, .. } if *other == at)
        })
    };
    ensure(spread < SPREAD_MIN || (1..=ROLLS).any(differs), Oracle::Jitter, || {
        format!("the wait is {} with every roll, although its jitter is {spread} wide", at.since(now.at))
    })
}
