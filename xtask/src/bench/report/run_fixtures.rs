//! The runs of a busy week. Most of them wait sometimes and finish as done.

use super::super::runs::{AttemptFixture, RunFixture};
use longhaul_core::{Fault, Limit, Moment, Outcome, OutcomeKind};

const TASKS: [&str; 6] = [
    "Fix the failing tests of the parser, and add one for the bug that was reported last week.",
    "Reproduce table 2 of the paper with three seeds, and write down in results.md where it differs.",
    "Migrate the HTTP client to the new API; no change in behavior, and every test passes.",
    "Find out why the nightly build takes twice as long since Tuesday.",
    "Translate the documentation to German, chapter by chapter, and keep the examples as they are.",
    "Search for a better bound: improve the construction in bound.py, verify it, and commit each that is better than the last.",
];

/// Creates the fixture of run `number`, started at `start_ms`, in milliseconds since 1970.
pub fn run_fixture(number: u64, start_ms: u64) -> RunFixture {
    let success = |seconds: u64| AttemptFixture {
        work_seconds: seconds + number % 7 * 60,
        fault: None,
        wait_seconds: 0,
    };
    let failure = |fault: Fault, seconds: u64, wait_seconds: u64| AttemptFixture {
        work_seconds: seconds + number % 5 * 20,
        fault: Some(fault),
        wait_seconds,
    };
    let storm = |attempts: u64| {
        (0..attempts).map(move |each| failure(Fault::Overloaded, 4, (8 << each.min(6)).min(300)))
    };
    let by_fault = |kind, fault| Some(Outcome::from_fault(kind, fault));
    let (attempts, outcome): (Vec<AttemptFixture>, _) = match number % 12 {
        0 => (vec![failure(Fault::UsageLimit, 1_500, 9_000), success(2_400)], Some(Outcome::DONE)),
        1 | 2 => (storm(6 + number % 5).chain([success(3_000)]).collect(), Some(Outcome::DONE)),
        3 => (
            vec![failure(Fault::Stalled, 1_900, 2), failure(Fault::Crashed, 300, 2), success(900)],
            Some(Outcome::DONE),
        ),
        4 => {
            let waits = (0..40).map(|_| failure(Fault::RateLimited, 300, 90));
            (waits.chain([success(600)]).collect(), Some(Outcome::DONE))
        }
        5 => (vec![failure(Fault::Network, 30, 15), success(1_200)], Some(Outcome::DONE)),
        6 => {
            let retry_at = Some(Moment(start_ms + 6 * 3_600_000));
            let outcome =
                Outcome { retry_at, ..Outcome::from_fault(OutcomeKind::RetryLater, Fault::UsageLimit) };
            (vec![failure(Fault::UsageLimit, 4_000, 0)], Some(outcome))
        }
        7 if number % 5 == 2 => {
            (vec![failure(Fault::Auth, 3, 0)], by_fault(OutcomeKind::NeedsPerson, Fault::Auth))
        }
        8 if number % 3 == 2 => (vec![success(7_200)], Some(Outcome::from_limit(Limit::Budget, None))),
        9 if number % 4 == 1 => {
            (vec![failure(Fault::Refused, 700, 0)], by_fault(OutcomeKind::Failed, Fault::Refused))
        }
        // Its supervisor died.
        10 if number % 7 == 3 => (vec![failure(Fault::ServerError, 80, 40), success(500)], None),
        _ => (vec![success(1_800)], Some(Outcome::DONE)),
    };
    RunFixture {
        number,
        start_ms,
        name: number.is_multiple_of(3).then_some("nightly"),
        task: TASKS[(number % 6) as usize].to_owned(),
        attempts,
        outcome,
        calls: 20 + number as u32 % 30,
    }
}
