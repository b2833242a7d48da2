//! Limits of a run: the wrap-up at the reserve, and the end.

use super::trace::{check_rest_with, check_run_with, plain};
use crate::{Limits, Policy, Span, Usd, WrapUp};
use expect_test::{Expect, expect};

fn with_limits(limits: Limits) -> Policy {
    Policy { limits, ..plain() }
}

fn budget() -> Policy {
    with_limits(Limits { budget: Some(Usd(1_000_000)), ..Limits::default() })
}

fn time() -> Policy {
    with_limits(Limits { time: Some(Span::from_mins(10)), ..Limits::default() })
}

const WORKING: &str = "start; spawn; open; exchange";

fn check_with_budget(rest: &str, expected: Expect) {
    check_rest_with(&budget(), WORKING, rest, expected);
}

fn check_with_time(rest: &str, expected: Expect) {
    check_rest_with(&time(), WORKING, rest, expected);
}

/// The agent wraps up at the reserve of `budget` or `time`.
const BUDGET_WRAP_UP: &str = "usage 960000; ends aborted; exchange";
const TIME_WRAP_UP: &str = "+5m; activity; tick; ends aborted; exchange";

#[test]
fn wraps_up_before_budget_is_exhausted() {
    check_run_with(
        &budget(),
        "start; spawn; open; exchange; usage 300000; tool; usage 300000; tool-ends; usage 200000; ends aborted; exchange; usage 9000; ends ok; idle; exit 0",
        expect![[r#"
            start            run started; attempt 1 new s1, task, remaining 1000000 of budget; > spawn 1
            spawn            spawned 7
            open             opened s1
            exchange         -
            usage 300000     -
            tool             -
            usage 300000     -
            tool-ends        progress
            usage 200000     limit budget: reserve; stop wrap_up interrupt; > interrupt
            ends aborted     sent wrap up (budget), remaining 200000 of budget; > send wrap up (budget)
            exchange         -
            usage 9000       -
            ends ok          -
            idle             input closed; > close input
            exit 0           ok -> over_budget by limit of budget; > sweep; over_budget by limit of budget; > finish 21
        "#]],
    );
}

#[test]
fn time_limit_counts_only_active_time() {
    check_run_with(
        &time(),
        "start; spawn; open; exchange; +8m; ends 529; idle; exit 1; sweeping; +1s; swept; tick; resumed; +10s; sleep 3h; tick; ends aborted; exchange; completes",
        expect![[r#"
            start            run started; attempt 1 new s1, task, remaining 10m; > spawn 1
            spawn            spawned 7
            open             opened s1
            exchange         -
            ends 529         -
            idle             input closed; > close input
            exit 1           overloaded -> wait_out in 2s: 2 resume s1, continue (overloaded); > sweep
            swept            swept 0
            tick             attempt 2 resume s1, continue (overloaded), remaining 1m 59s; > spawn 2
            sleep 3h         downtime 3h
            tick             limit time: reserve; stop wrap_up interrupt; > interrupt
            ends aborted     sent wrap up (time), remaining 1m; > send wrap up (time)
            exchange         -
            completes        ok -> out_of_time by limit of time; > sweep; out_of_time by limit of time; > finish 22
        "#]],
    );
    // The wall limit includes downtime.
    let wall = with_limits(Limits { wall: Some(Span::from_mins(10)), ..Limits::default() });
    check_run_with(
        &wall,
        "start",
        expect![[r#"
            start            run started; attempt 1 new s1, task, remaining 10m; > spawn 1
        "#]],
    );
    check_rest_with(
        &wall,
        WORKING,
        "+1m; sleep 3h; tick; swept; +1m; exit 143",
        expect![[r#"
            sleep 3h         downtime 3h
            tick             limit wall: exhausted; stop limit_reached term; > term
            swept            -
            exit 143         ok -> out_of_time by limit of wall; > sweep; out_of_time by limit of wall; > finish 22
        "#]],
    );
}

#[test]
fn finishes_with_retry_at_if_wait_exceeds_wall_limit() {
    check_rest_with(
        &with_limits(Limits { wall: Some(Span::from_hours(2)), ..Limits::default() }),
        WORKING,
        "limit until +5h; fails usage",
        expect![[r#"
            limit until +5h  -
            fails usage      usage_limit -> retry_later by usage_limit in 5h; > sweep; retry_later by usage_limit in 5h; > finish 75
        "#]],
    );
}

#[test]
fn reserve_bounds_wrap_up() {
    check_with_budget(
        &format!("{BUDGET_WRAP_UP}; usage 50000; tick; exit 143"),
        expect![[r#"
            usage 960000     limit budget: reserve; stop wrap_up interrupt; > interrupt
            ends aborted     sent wrap up (budget), remaining 40000 of budget; > send wrap up (budget)
            exchange         -
            usage 50000      limit budget: exhausted; stop limit_reached term; > term
            tick             stop limit_reached kill; > kill
            exit 143         ok -> over_budget by limit of budget; > sweep; over_budget by limit of budget; > finish 21
        "#]],
    );
    check_with_time(
        &format!("{TIME_WRAP_UP}; activity; tick; exit 143"),
        expect![[r#"
            activity         -
            tick             limit time: reserve; stop wrap_up interrupt; > interrupt
            ends aborted     sent wrap up (time), remaining 1m; > send wrap up (time)
            exchange         -
            activity         -
            tick             limit time: exhausted; stop limit_reached term; > term
            exit 143         ok -> out_of_time by limit of time; > sweep; out_of_time by limit of time; > finish 22
        "#]],
    );
    // Nothing remains once the interrupted exchange is counted.
    check_with_budget(
        "usage 960000; usage 50000; ends aborted; exit 0",
        expect![[r#"
            usage 960000     limit budget: reserve; stop wrap_up interrupt; > interrupt
            usage 50000      limit budget: exhausted; stop limit_reached term; > term
            ends aborted     -
            exit 0           ok -> over_budget by limit of budget; > sweep; over_budget by limit of budget; > finish 21
        "#]],
    );
}

#[test]
fn wraps_up_in_next_attempt_after_ignored_interrupt() {
    check_with_budget(
        "usage 960000; tick; exit 143; tick; resumed; completes",
        expect![[r#"
            usage 960000     limit budget: reserve; stop wrap_up interrupt; > interrupt
            tick             stop wrap_up term; > term
            exit 143         interrupted -> resume in 2s: 2 resume s1, wrap up (budget); > sweep
            tick             attempt 2 resume s1, wrap up (budget), remaining 40000 of budget; > spawn 2
            completes        ok -> over_budget by limit of budget; > sweep; over_budget by limit of budget; > finish 21
        "#]],
    );
    // There is no third wrap-up.
    check_rest_with(
        &time(),
        &format!("{WORKING}; {TIME_WRAP_UP}"),
        "signal 9; tick; resumed; signal 9",
        expect![[r#"
            signal 9         crashed -> resume in 2s: 2 resume s1, wrap up (time); > sweep
            tick             attempt 2 resume s1, wrap up (time), remaining 1m; > spawn 2
            signal 9         crashed -> out_of_time by limit of time by crashed; > sweep; out_of_time by limit of time by crashed; > finish 22
        "#]],
    );
}

#[test]
fn work_finished_at_the_limit_is_done() {
    check_with_budget(
        "usage 960000; ends ok; idle; exit 0",
        expect![[r#"
            usage 960000     limit budget: reserve; stop wrap_up interrupt; > interrupt
            ends ok          input closed; > close input
            idle             -
            exit 0           progress; ok -> done; > sweep; done; > finish 0
        "#]],
    );
    // Background work stops at the limit.
    check_with_time(
        "shells 1; +9m; ends ok; idle; tick; exit 143",
        expect![[r#"
            shells 1         -
            ends ok          progress
            idle             -
            tick             stop background_stopped term; > term
            exit 143         ok -> done; > sweep; done; > finish 0
        "#]],
    );
}

#[test]
fn turn_counts_once_its_tools_end() {
    check_rest_with(
        &with_limits(Limits { turns: Some(3), ..Limits::default() }),
        WORKING,
        "tool; usage 1; tool-ends; tool; usage 1; tool-ends; ends aborted; exchange; tool; usage 1; tool-ends; exit 143",
        expect![[r#"
            tool             -
            usage 1          -
            tool-ends        progress
            tool             -
            usage 1          -
            tool-ends        limit turns: reserve; stop wrap_up interrupt; > interrupt
            ends aborted     sent wrap up (turns), remaining 1 turns; > send wrap up (turns)
            exchange         -
            tool             -
            usage 1          -
            tool-ends        limit turns: exhausted; stop limit_reached term; > term
            exit 143         ok -> out_of_time by limit of turns; > sweep; out_of_time by limit of turns; > finish 22
        "#]],
    );
}

#[test]
fn answer_of_the_last_turn_is_not_cut_off() {
    let check = |rest: &str, expected| {
        check_rest_with(
            &with_limits(Limits { turns: Some(1), ..Limits::default() }),
            WORKING,
            rest,
            expected,
        );
    };
    check(
        "usage 1; ends ok; idle; exit 0",
        expect![[r#"
        usage 1          -
        ends ok          progress
        idle             input closed; > close input
        exit 0           ok -> done; > sweep; done; > finish 0
    "#]],
    );
    // The agent asks for more after a message without tools.
    check(
        "usage 1; usage 1; exit 143",
        expect![[r#"
        usage 1          -
        usage 1          limit turns: exhausted; stop limit_reached term; > term
        exit 143         ok -> out_of_time by limit of turns; > sweep; out_of_time by limit of turns; > finish 22
    "#]],
    );
    // A turn whose usage arrives after its exchange is over.
    check(
        "sub-agents 1; ends ok; idle; usage 1; exit 143",
        expect![[r#"
        sub-agents 1     -
        ends ok          progress
        idle             -
        usage 1          limit turns: exhausted; stop limit_reached term; > term
        exit 143         ok -> out_of_time by limit of turns; > sweep; out_of_time by limit of turns; > finish 22
    "#]],
    );
}

#[test]
fn stops_agent_without_wrap_up() {
    check_rest_with(
        &Policy { wrap_up: None, ..budget() },
        WORKING,
        "usage 999999; usage 2; exit 143",
        expect![[r#"
            usage 999999     -
            usage 2          limit budget: exhausted; stop limit_reached term; > term
            exit 143         ok -> over_budget by limit of budget; > sweep; over_budget by limit of budget; > finish 21
        "#]],
    );
    // A configured reserve.
    check_rest_with(
        &Policy { wrap_up: Some(WrapUp { reserve: Some(Span::from_mins(2)) }), ..time() },
        &format!("{WORKING}; +6m; activity"),
        "tick; ends aborted; exchange; completes",
        expect![[r#"
            tick             limit time: reserve; stop wrap_up interrupt; > interrupt
            ends aborted     sent wrap up (time), remaining 2m; > send wrap up (time)
            exchange         -
            completes        ok -> out_of_time by limit of time; > sweep; out_of_time by limit of time; > finish 22
        "#]],
    );
}

#[test]
fn starts_nothing_beyond_a_limit() {
    check_with_budget(
        "bill 1000000; signal 9",
        expect![[r#"
        signal 9         crashed -> over_budget by limit of budget by crashed; > sweep; over_budget by limit of budget by crashed; > finish 21
    "#]],
    );
    // If the user resumes the run without raising the limit, the reserve is used for a wrap-up.
    check_rest_with(
        &budget(),
        &format!("{WORKING}; {BUDGET_WRAP_UP}; ends ok; idle; exit 0; swept"),
        "+1h; reopen; resumed; completes; reopen",
        expect![[r#"
            reopen           reopened; limit budget: reserve; attempt 2 resume s1, wrap up (budget), remaining 40000 of budget; > spawn 2
            completes        ok -> over_budget by limit of budget; > sweep; over_budget by limit of budget; > finish 21
            reopen           reopened; limit budget: reserve; attempt 3 resume s1, wrap up (budget), remaining 40000 of budget; > spawn 3
        "#]],
    );
}

#[test]
fn agents_own_limit_ends_run_unless_run_limit_is_higher() {
    check_rest_with(
        &plain(),
        WORKING,
        "works; fails budget",
        expect![[r#"
        fails budget     agent_budget -> over_budget by agent_budget; > sweep; over_budget by agent_budget; > finish 21
    "#]],
    );
    check_with_budget(
        "works; fails budget",
        expect![[r#"
        fails budget     agent_budget -> resume_within_limit in 0s: 2 resume s1, continue (agent_budget); > sweep; attempt 2 resume s1, continue (agent_budget), remaining 1000000 of budget; > spawn 2
    "#]],
    );
    check_with_budget(
        "fails budget",
        expect![[r#"
        fails budget     agent_budget -> over_budget by agent_budget; > sweep; over_budget by agent_budget; > finish 21
    "#]],
    );
    check_with_budget(
        "bill 1000000; works; fails budget",
        expect![[r#"
        fails budget     agent_budget -> over_budget by limit of budget by agent_budget; > sweep; over_budget by limit of budget by agent_budget; > finish 21
    "#]],
    );
}

#[test]
fn resumes_once_after_memory_limit() {
    check_rest_with(
        &plain(),
        WORKING,
        "memory-exceeded; exit 143; retry; exchange; memory-exceeded; exit 143",
        expect![[r#"
            memory-exceeded  stop memory_limit term; > term
            exit 143         out_of_memory -> resume_once in 32s: 2 resume s1, continue (out_of_memory); > sweep
            exchange         -
            memory-exceeded  stop memory_limit term; > term
            exit 143         out_of_memory -> failed by out_of_memory; > sweep; failed by out_of_memory; > finish 20
        "#]],
    );
}

#[test]
fn cancel_during_wrap_up_ends_run() {
    check_with_budget(
        "usage 960000; cancel person; ends aborted; exit 0",
        expect![[r#"
            usage 960000     limit budget: reserve; stop wrap_up interrupt; > interrupt
            cancel person    cancel by person
            ends aborted     input closed; > close input
            exit 0           interrupted -> cancelled; > sweep; cancelled; > finish 130
        "#]],
    );
    check_rest_with(
        &budget(),
        &format!("{WORKING}; {BUDGET_WRAP_UP}"),
        "cancel term; exit 143",
        expect![[r#"
            cancel term      suspend by sigterm; stop suspended interrupt; > interrupt
            exit 143         interrupted -> resume in 0s: 2 resume s1, wrap up (budget); > sweep; suspended; > finish 143
        "#]],
    );
}

#[test]
fn new_supervisor_counts_unsupervised_usage() {
    check_with_budget(
        "usage 100; recover live; usage 960000; recover live; ends aborted; exchange; completes",
        expect![[r#"
            usage 100        -
            recover live     recovered (agent_running)
            usage 960000     limit budget: reserve; stop wrap_up interrupt; > interrupt
            recover live     recovered (agent_running); > interrupt
            ends aborted     sent wrap up (budget), remaining 1000000 of budget; > send wrap up (budget)
            exchange         -
            completes        ok -> over_budget by limit of budget; > sweep; over_budget by limit of budget; > finish 21
        "#]],
    );
    // The prompt was sent, but the agent died before receiving it.
    check_rest_with(
        &budget(),
        &format!("{WORKING}; usage 960000; ends aborted"),
        "recover gone; tick; resumed; completes",
        expect![[r#"
            recover gone     recovered (agent_gone); interrupted -> resume in 2s: 2 resume s1, wrap up (budget); > sweep
            tick             attempt 2 resume s1, wrap up (budget), remaining 40000 of budget; > spawn 2
            completes        ok -> over_budget by limit of budget; > sweep; over_budget by limit of budget; > finish 21
        "#]],
    );
}

/// The new supervisor reads the whole stream before it enforces a time limit that has passed meanwhile.
#[test]
fn unsupervised_result_counts_after_time_limit() {
    let wall = with_limits(Limits { wall: Some(Span::from_mins(10)), ..Limits::default() });
    let check = |rest: &str, expected| check_rest_with(&wall, WORKING, rest, expected);
    check(
        "+11m; recover live; open; exchange; works; completes",
        expect![[r#"
            recover live     recovered (agent_running)
            open             -
            exchange         -
            completes        ok -> done; > sweep; done; > finish 0
        "#]],
    );
    check(
        "+11m; recover live; open; exchange; tick; exit 143",
        expect![[r#"
            recover live     recovered (agent_running)
            open             -
            exchange         -
            tick             limit wall: exhausted; stop limit_reached term; > term
            exit 143         ok -> out_of_time by limit of wall; > sweep; out_of_time by limit of wall; > finish 22
        "#]],
    );
}

#[test]
fn sends_no_prompt_after_input_close() {
    check_run_with(
        &budget(),
        "start; spawn; open; exchange; shells 1; usage 960000; ends ok; shells 0; exchange; ends aborted; exit 0",
        expect![[r#"
            start            run started; attempt 1 new s1, task, remaining 1000000 of budget; > spawn 1
            spawn            spawned 7
            open             opened s1
            exchange         -
            shells 1         -
            usage 960000     limit budget: reserve; stop wrap_up interrupt; > interrupt
            ends ok          input closed; > close input
            shells 0         -
            exchange         -
            ends aborted     -
            exit 0           progress; interrupted -> resume in 2s: 2 resume s1, wrap up (budget); > sweep
        "#]],
    );
}

#[test]
fn attempt_limit_applies_despite_progress() {
    check_run_with(
        &Policy { attempts_max: 2, ..plain() },
        "working; works; exit 1; +1m; retry; open; exchange; works; exit 1; reopen; spawn; exit 1; +1m; retry; exit 1",
        expect![[r#"
            exit 1           crashed -> resume in 2s: 2 resume s1, continue (crashed); > sweep
            open             -
            exchange         -
            exit 1           crashed -> failed by limit of attempts by crashed; > sweep; failed by limit of attempts by crashed; > finish 20
            reopen           reopened; attempt 3 resume s1, continue (crashed); > spawn 3
            spawn            spawned 7
            exit 1           crashed -> resume in 2s: 4 resume s1, continue (crashed); > sweep
            exit 1           crashed -> failed by limit of attempts by crashed; > sweep; failed by limit of attempts by crashed; > finish 20
        "#]],
    );
}

#[test]
fn suspended_attempts_do_not_count() {
    check_run_with(
        &Policy { attempts_max: 1, ..plain() },
        "working; cancel term; exit 143; swept; recover; tick; spawn; exit 1",
        expect![[r#"
            cancel term      suspend by sigterm; stop suspended interrupt; > interrupt
            exit 143         interrupted -> resume in 0s: 2 resume s1, continue (interrupted); > sweep
            swept            swept 0; suspended; > finish 143
            recover          recovered (suspended)
            tick             attempt 2 resume s1, continue (interrupted); > spawn 2
            spawn            spawned 7
            exit 1           crashed -> failed by limit of attempts by crashed; > sweep; failed by limit of attempts by crashed; > finish 20
        "#]],
    );
}
