//! Background work that outlives an exchange: the wait for it, the prompt about it, and its stop.

use super::trace::{check_rest_with, plain};
use crate::{KeepGoing, Limits, Policy, Span, Usd, WrapUp};
use expect_test::expect;

const STARTED: &str = "start; spawn; open; turn; shells 1";

fn with_keep_going(limits: Limits) -> Policy {
    let keep_going = KeepGoing { keep_improving: false, status_every: 0, idle_stops_max: 2 };
    Policy { keep_going: Some(keep_going), limits, wrap_up: Some(WrapUp { reserve: None }), ..plain() }
}

fn hours(hours: u64) -> Limits {
    Limits { time: Some(Span::from_hours(hours)), ..Limits::default() }
}

#[test]
fn keep_going_waits_hours_for_background_work() {
    check_rest_with(
        &with_keep_going(hours(5)),
        STARTED,
        "ends ok; surveyed 1; idle; +9m; shells 0; turn; ends ok; surveyed 1; idle",
        expect![[r#"
            ends ok          progress
            surveyed 1       -
            idle             -
            shells 0         -
            turn             -
            ends ok          -
            surveyed 1       -
            idle             stopped at 1; said continue after stop 1, left 4h 51m; > say continue after stop 1
        "#]],
    );
    // The agent is prompted about it once, and then the run waits.
    check_rest_with(
        &with_keep_going(hours(5)),
        STARTED,
        "ends ok; surveyed 1; idle; tick; turn; ends ok; surveyed 1; idle; +4h; shells 0; turn; ends ok; surveyed 1; idle; \
         turn; shells 1; ends ok; surveyed 1; idle; tick",
        expect![[r#"
            ends ok          progress
            surveyed 1       -
            idle             -
            tick             stopped at 1, 1 running; said continue after stop 1, left 4h 50m; > say continue after stop 1
            turn             -
            ends ok          -
            surveyed 1       -
            idle             -
            shells 0         -
            turn             -
            ends ok          -
            surveyed 1       -
            idle             stopped at 1; said continue after stop 2, left 50m; > say continue after stop 2
            turn             -
            shells 1         -
            ends ok          -
            surveyed 1       -
            idle             -
            tick             stopped at 1, 1 running; said continue after stop 3, left 40m; > say continue after stop 3
        "#]],
    );
}

#[test]
fn keep_going_wraps_up_and_stops_background_work_at_limit() {
    check_rest_with(
        &with_keep_going(hours(5)),
        STARTED,
        "ends ok; idle; tick; turn; ends ok; idle; tick; turn; ends ok; idle; tick; exit 143; swept 1",
        expect![[r#"
            ends ok          progress
            idle             -
            tick             stopped, 1 running; said continue after stop 1, left 4h 50m; > say continue after stop 1
            turn             -
            ends ok          -
            idle             -
            tick             reserve of time; said wrap up (time), left 5m; > say wrap up (time)
            turn             -
            ends ok          -
            idle             -
            tick             stop background_stopped term; > term
            exit 143         well -> out_of_time by limit of time; > sweep
            swept 1          swept 1; out_of_time by limit of time; > finish 22
        "#]],
    );
    let no_wrap_up = Policy { wrap_up: None, ..with_keep_going(hours(5)) };
    check_rest_with(
        &no_wrap_up,
        STARTED,
        "ends ok; idle; tick; turn; ends ok; idle; tick; exit 143; swept 1",
        expect![[r#"
            ends ok          progress
            idle             -
            tick             stopped, 1 running; said continue after stop 1, left 4h 50m; > say continue after stop 1
            turn             -
            ends ok          -
            idle             -
            tick             stop background_stopped term; > term
            exit 143         stopped; well -> out_of_time by limit of time; > sweep
            swept 1          swept 1; out_of_time by limit of time; > finish 22
        "#]],
    );
    let budget = Limits { budget: Some(Usd(1_000_000)), ..Limits::default() };
    check_rest_with(
        &with_keep_going(budget),
        STARTED,
        "used 900000; ends aborted; turn; ends ok; idle; tick; exit 143; swept 1",
        expect![[r#"
            used 900000      reserve of budget; stop wrap_up interrupt; > interrupt
            ends aborted     said wrap up (budget), left 100000 of money; > say wrap up (budget)
            turn             -
            ends ok          progress
            idle             -
            tick             stop background_stopped term; > term
            exit 143         well -> over_budget by limit of budget; > sweep
            swept 1          swept 1; over_budget by limit of budget; > finish 21
        "#]],
    );
}

#[test]
fn confirms_done_claim_despite_background_work() {
    check_rest_with(
        &with_keep_going(hours(5)),
        STARTED,
        "claims; ends ok; idle; turn; claims; ends ok; idle; tick; exit 143; swept 1",
        expect![[r#"
            claims           -
            ends ok          progress
            idle             stopped, finished, 1 running; said confirm, left 5h; > say confirm
            turn             -
            claims           -
            ends ok          -
            idle             stopped, finished, 1 running
            tick             stop background_stopped term; > term
            exit 143         well -> done; > sweep
            swept 1          swept 1; done; > finish 0
        "#]],
    );
    check_rest_with(
        &with_keep_going(hours(5)),
        STARTED,
        "claims; ends ok; idle; turn; shells 0; claims; ends ok; idle; exit 0",
        expect![[r#"
            claims           -
            ends ok          progress
            idle             stopped, finished, 1 running; said confirm, left 5h; > say confirm
            turn             -
            shells 0         -
            claims           -
            ends ok          -
            idle             stopped, finished; input ended; > end input
            exit 0           well -> done; > sweep
        "#]],
    );
}

#[test]
fn failed_exchange_waits_for_policy_timeout() {
    check_rest_with(
        &with_keep_going(hours(5)),
        STARTED,
        "ends 529; idle; tick; exit 143; swept 1",
        expect![[r#"
            ends 529         -
            idle             -
            tick             stop background_stopped term; > term
            exit 143         overloaded -> wait_out in 2s: 2 resume s1, continue (overloaded); > sweep
            swept 1          swept 1
        "#]],
    );
}

#[test]
fn background_work_prevents_idle_stop() {
    check_rest_with(
        &with_keep_going(Limits::default()),
        STARTED,
        "ends ok; surveyed 1; idle; signal 9; swept 1; spawn; turn; shells 1; ends ok; surveyed 1; idle; tick; turn; ends ok; surveyed 1; \
         idle; shells 0; turn; ends ok; surveyed 1; idle",
        expect![[r#"
            ends ok          progress
            surveyed 1       -
            idle             -
            signal 9         stopped at 1; well -> keep_going in 0s: 2 resume s1, continue after stop 1; > sweep
            swept 1          swept 1; attempt 2 resume s1, continue after stop 1; > spawn 2
            spawn            spawned 7
            turn             -
            shells 1         -
            ends ok          progress
            surveyed 1       -
            idle             -
            tick             stopped at 1, 1 running; said continue after stop 2; > say continue after stop 2
            turn             -
            ends ok          -
            surveyed 1       -
            idle             -
            shells 0         -
            turn             -
            ends ok          -
            surveyed 1       -
            idle             stopped at 1; said continue after stop 3; > say continue after stop 3
        "#]],
    );
}
