//! Background work that outlives an exchange: the wait for it, the prompt about it, and its stop.

use super::trace::{check_rest, check_rest_with, plain};
use crate::{KeepGoing, Limits, Policy, Span, Usd, WrapUp};
use expect_test::{Expect, expect};

const STARTED: &str = "start; spawn; open; exchange; shells 1";

/// The exchange ended, and the agent waits for its background work.
const WAITING: &str = "start; spawn; open; exchange; shells 1; ends ok; idle";

fn with_keep_going(limits: Limits) -> Policy {
    let keep_going = KeepGoing { status_every: 0, idle_stops_max: 2, ..KeepGoing::DEFAULT };
    Policy { keep_going: Some(keep_going), limits, wrap_up: Some(WrapUp { reserve: None }), ..plain() }
}

fn hours(hours: u64) -> Limits {
    Limits { time: Some(Span::from_hours(hours)), ..Limits::default() }
}

fn check(rest: &str, expected: Expect) {
    check_rest_with(&with_keep_going(hours(5)), STARTED, rest, expected);
}

#[test]
fn keep_going_waits_hours_for_background_work() {
    check(
        "ends ok; workspace 1; idle; +9m; shells 0; exchange; stops 1",
        expect![[r#"
            ends ok          progress
            workspace 1      -
            idle             -
            shells 0         -
            exchange         -
            stops 1          agent stopped, workspace 1; sent continue after stop 1, remaining 4h 51m; > send continue after stop 1
        "#]],
    );
    // The agent is prompted about it once, and then the run waits.
    check(
        "ends ok; workspace 1; idle; tick; exchange; stops 1; +4h; shells 0; exchange; stops 1; exchange; shells 1; stops 1; tick",
        expect![[r#"
            ends ok          progress
            workspace 1      -
            idle             -
            tick             agent stopped, workspace 1, 1 running; sent continue after stop 1, remaining 4h 50m; > send continue after stop 1
            exchange         -
            stops 1          -
            shells 0         -
            exchange         -
            stops 1          agent stopped, workspace 1; sent continue after stop 2, remaining 50m; > send continue after stop 2
            exchange         -
            shells 1         -
            stops 1          -
            tick             agent stopped, workspace 1, 1 running; sent continue after stop 3, remaining 40m; > send continue after stop 3
        "#]],
    );
}

#[test]
fn keep_going_wraps_up_and_stops_background_work_at_limit() {
    check(
        "ends ok; idle; tick; exchange; ends ok; idle; tick; exchange; ends ok; idle; tick; exit 143; swept 1",
        expect![[r#"
            ends ok          progress
            idle             -
            tick             agent stopped, 1 running; sent continue after stop 1, remaining 4h 50m; > send continue after stop 1
            exchange         -
            ends ok          -
            idle             -
            tick             limit time: reserve; sent wrap up (time), remaining 5m; > send wrap up (time)
            exchange         -
            ends ok          -
            idle             -
            tick             stop background_stopped term; > term
            exit 143         ok -> out_of_time by limit of time; > sweep
            swept 1          swept 1; out_of_time by limit of time; > finish 22
        "#]],
    );
    let no_wrap_up = Policy { wrap_up: None, ..with_keep_going(hours(5)) };
    check_rest_with(
        &no_wrap_up,
        &format!("{WAITING}; tick; exchange"),
        "ends ok; idle; tick; exit 143; swept 1",
        expect![[r#"
            ends ok          -
            idle             -
            tick             stop background_stopped term; > term
            exit 143         agent stopped; ok -> out_of_time by limit of time; > sweep
            swept 1          swept 1; out_of_time by limit of time; > finish 22
        "#]],
    );
    let budget = Limits { budget: Some(Usd(1_000_000)), ..Limits::default() };
    check_rest_with(
        &with_keep_going(budget),
        STARTED,
        "usage 900000; ends aborted; exchange; ends ok; idle; tick; exit 143; swept 1",
        expect![[r#"
            usage 900000     limit budget: reserve; stop wrap_up interrupt; > interrupt
            ends aborted     sent wrap up (budget), remaining 100000 of budget; > send wrap up (budget)
            exchange         -
            ends ok          progress
            idle             -
            tick             stop background_stopped term; > term
            exit 143         ok -> over_budget by limit of budget; > sweep
            swept 1          swept 1; over_budget by limit of budget; > finish 21
        "#]],
    );
}

#[test]
fn confirms_done_claim_despite_background_work() {
    check(
        "claims; ends ok; idle; exchange; claims; ends ok; idle; tick; exit 143; swept 1",
        expect![[r#"
            claims           -
            ends ok          progress
            idle             agent stopped, claims done, 1 running; sent confirm, remaining 5h; > send confirm
            exchange         -
            claims           -
            ends ok          -
            idle             agent stopped, claims done, 1 running
            tick             stop background_stopped term; > term
            exit 143         ok -> done; > sweep
            swept 1          swept 1; done; > finish 0
        "#]],
    );
    check(
        "claims; ends ok; idle; exchange; shells 0; claims; ends ok; idle; exit 0",
        expect![[r#"
            claims           -
            ends ok          progress
            idle             agent stopped, claims done, 1 running; sent confirm, remaining 5h; > send confirm
            exchange         -
            shells 0         -
            claims           -
            ends ok          -
            idle             agent stopped, claims done; input closed; > close input
            exit 0           ok -> done; > sweep; done; > finish 0
        "#]],
    );
}

#[test]
fn failed_exchange_waits_for_policy_timeout() {
    check(
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

/// The wait for background work is no idle stop, and neither is its death.
#[test]
fn background_work_prevents_idle_stop() {
    check_rest_with(
        &with_keep_going(Limits::default()),
        STARTED,
        "ends ok; workspace 1; idle; signal 9; swept 1; tick; spawn; open; shells 1; ends ok; workspace 1; idle; tick; exchange; stops 1; shells 0; exchange; stops 1",
        expect![[r#"
            ends ok          progress
            workspace 1      -
            idle             -
            signal 9         crashed -> resume in 2s: 2 resume s1, continue (crashed); > sweep
            swept 1          swept 1
            tick             attempt 2 resume s1, continue (crashed); > spawn 2
            spawn            spawned 7
            open             -
            shells 1         -
            ends ok          progress
            workspace 1      -
            idle             -
            tick             agent stopped, workspace 1, 1 running; sent continue after stop 1; > send continue after stop 1
            exchange         -
            stops 1          -
            shells 0         -
            exchange         -
            stops 1          agent stopped, workspace 1; sent continue after stop 2; > send continue after stop 2
        "#]],
    );
}

#[test]
fn work_that_died_with_its_agent_is_continued() {
    check_rest(
        WAITING,
        "signal 9; swept 1; tick",
        expect![[r#"
            signal 9         crashed -> resume in 2s: 2 resume s1, continue (crashed); > sweep
            swept 1          swept 1
            tick             attempt 2 resume s1, continue (crashed); > spawn 2
        "#]],
    );
    check_rest(
        WAITING,
        "cancel term; exit 143; swept 1",
        expect![[r#"
            cancel term      suspend by sigterm; stop suspended term; > term
            exit 143         interrupted -> resume in 0s: 2 resume s1, continue (interrupted); > sweep
            swept 1          swept 1; suspended; > finish 143
        "#]],
    );
}

#[test]
fn stop_of_an_agent_that_waits_for_background_work_is_not_done() {
    let timed = Policy { attempt_timeout: Some(Span::from_mins(20)), ..plain() };
    check_rest_with(
        &timed,
        WAITING,
        "cancel person; exit 143",
        expect![[r#"
            cancel person    cancel by person; stop cancelled term; > term
            exit 143         interrupted -> cancelled; > sweep; cancelled; > finish 130
        "#]],
    );
    check_rest_with(
        &Policy { background_wait: Span::from_hours(1), ..timed },
        WAITING,
        "tick; exit 143",
        expect![[r#"
            tick             stop timed_out term; > term
            exit 143         attempt_timeout -> resume_while_progressing in 0s: 2 resume s1, continue (attempt_timeout); > sweep; attempt 2 resume s1, continue (attempt_timeout); > spawn 2
        "#]],
    );
}

#[test]
fn agent_is_prompted_again_about_background_work_that_no_time_limit_ends() {
    let budget = Limits { budget: Some(Usd(10_000_000)), ..Limits::default() };
    check_rest_with(
        &with_keep_going(budget),
        WAITING,
        "tick; exchange; ends ok; idle; tick",
        expect![[r#"
            tick             agent stopped, 1 running; sent continue after stop 1, remaining 10000000 of budget; > send continue after stop 1
            exchange         -
            ends ok          -
            idle             -
            tick             agent stopped, 1 running; sent continue after stop 2, remaining 10000000 of budget; > send continue after stop 2
        "#]],
    );
}

/// The exchange ended, and the agent waits for a sub-agent.
const DELEGATED: &str = "start; spawn; open; exchange; sub-agents 1; ends ok; idle";

#[test]
fn sub_agents_work_as_long_as_the_agent_may() {
    check_rest(
        DELEGATED,
        "+9m; message; +9m; message; +9m; message; sub-agents 0; exchange; ends ok; idle; exit 0",
        expect![[r#"
            message          -
            message          -
            message          -
            sub-agents 0     -
            exchange         -
            ends ok          -
            idle             input closed; > close input
            exit 0           ok -> done; > sweep; done; > finish 0
        "#]],
    );
    check_rest(
        DELEGATED,
        "tick; probe idle 0 of 0; exit 143; swept 1",
        expect![[r#"
            tick             > probe
            probe idle 0 of 0 stop stalled term (idle, 0 of 0 busy); > term
            exit 143         stalled -> resume in 2s: 2 resume s1, continue (stalled); > sweep
            swept 1          swept 1
        "#]],
    );
    let no_wrap_up = Policy { wrap_up: None, limits: hours(1), ..plain() };
    check_rest_with(
        &no_wrap_up,
        DELEGATED,
        "+9m; message; +9m; message; +9m; message; +9m; message; +9m; message; +9m; message; tick; exit 143; swept 1",
        expect![[r#"
            message          -
            message          -
            message          -
            message          -
            message          -
            message          -
            tick             limit time: exhausted; stop limit_reached term; > term
            exit 143         ok -> out_of_time by limit of time; > sweep
            swept 1          swept 1; out_of_time by limit of time; > finish 22
        "#]],
    );
    // They stop at the end of the wrap-up, although time is left until the timeout.
    let wrap_up = Policy {
        wrap_up: Some(WrapUp { reserve: None }),
        attempt_timeout: Some(Span::from_mins(57)),
        ..no_wrap_up
    };
    check_rest_with(
        &wrap_up,
        DELEGATED,
        "+9m; message; +9m; message; +9m; message; +9m; message; +9m; message; +9m; message; tick; exchange; ends ok; idle; tick; exit 143; swept 1",
        expect![[r#"
            message          -
            message          -
            message          -
            message          -
            message          -
            message          -
            tick             limit time: reserve; sent wrap up (time), remaining 5m; > send wrap up (time)
            exchange         -
            ends ok          -
            idle             -
            tick             stop background_stopped term; > term
            exit 143         ok -> out_of_time by limit of time; > sweep
            swept 1          swept 1; out_of_time by limit of time; > finish 22
        "#]],
    );
}

/// The agent stops its sub-agents, and starts no further exchange.
#[test]
fn sub_agents_that_the_agent_stops_are_unfinished_work() {
    const STOPPED: &str = "kills-sub-agents; idle; exit 0; swept 0";
    check_rest(
        DELEGATED,
        STOPPED,
        expect![[r#"
            kills-sub-agents -
            idle             input closed; > close input
            exit 0           interrupted -> resume in 2s: 2 resume s1, continue (interrupted); > sweep
            swept 0          swept 0
        "#]],
    );
    let limits = Limits { budget: Some(Usd(10_000_000)), ..Limits::default() };
    check_rest_with(
        &Policy { limits, ..plain() },
        DELEGATED,
        STOPPED,
        expect![[r#"
            kills-sub-agents -
            idle             input closed; > close input
            exit 0           interrupted -> over_budget by limit of budget; > sweep
            swept 0          swept 0; over_budget by limit of budget; > finish 21
        "#]],
    );
}
