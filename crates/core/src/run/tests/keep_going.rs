//! Keep-going: agents that stop on their own.

use super::trace::{check_rest_with, check_run_with, plain};
use crate::{KeepGoing, Limits, Policy, Span, Usd, WrapUp};
use expect_test::expect;

fn with_keep_going() -> Policy {
    let keep_going = KeepGoing { keep_improving: false, status_every: 2, idle_stops_max: 2 };
    Policy { keep_going: Some(keep_going), ..plain() }
}

const FIRST: &str = "start; spawn; open; turn; ends ok; surveyed 1; idle";

#[test]
fn prompts_until_done_claim_is_confirmed() {
    check_run_with(
        &with_keep_going(),
        "start; spawn; open; turn; ends ok; surveyed 1; idle; turn; ends ok; surveyed 2; idle; \
         turn; claims; ends ok; surveyed 2; idle; turn; claims; ends ok; surveyed 2; idle; exit 0; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            turn             -
            ends ok          progress
            surveyed 1       -
            idle             stopped at 1; said continue after stop 1; > say continue after stop 1
            turn             -
            ends ok          -
            surveyed 2       -
            idle             stopped at 2; said continue after stop 2, 0s worked; > say continue after stop 2, 0s worked
            turn             -
            claims           -
            ends ok          -
            surveyed 2       -
            idle             stopped at 2, finished; said confirm; > say confirm
            turn             -
            claims           -
            ends ok          -
            surveyed 2       -
            idle             stopped at 2, finished; input ended; > end input
            exit 0           well -> done; > sweep
            swept            swept 0; done; > finish 0
        "#]],
    );
}

#[test]
fn unconfirmed_done_claim_continues() {
    check_rest_with(
        &with_keep_going(),
        FIRST,
        "turn; claims; ends ok; surveyed 1; idle; turn; ends ok; surveyed 2; idle; turn; claims; ends ok; surveyed 2; idle",
        expect![[r#"
            turn             -
            claims           -
            ends ok          -
            surveyed 1       -
            idle             stopped at 1, finished; said confirm; > say confirm
            turn             -
            ends ok          -
            surveyed 2       -
            idle             stopped at 2; said continue after stop 3; > say continue after stop 3
            turn             -
            claims           -
            ends ok          -
            surveyed 2       -
            idle             stopped at 2, finished; said confirm; > say confirm
        "#]],
    );
}

#[test]
fn finishes_after_idle_stops() {
    check_rest_with(
        &with_keep_going(),
        FIRST,
        "turn; ends ok; surveyed 1; idle; turn; ends ok; surveyed 1; idle; exit 0; swept",
        expect![[r#"
            turn             -
            ends ok          -
            surveyed 1       -
            idle             stopped at 1; said continue after stop 2, 0s worked; > say continue after stop 2, 0s worked
            turn             -
            ends ok          -
            surveyed 1       -
            idle             stopped at 1; input ended; > end input
            exit 0           well -> failed by unfinished; > sweep
            swept            swept 0; failed by unfinished; > finish 20
        "#]],
    );
}

#[test]
fn continues_in_new_process_after_exit() {
    check_run_with(
        &with_keep_going(),
        "start; spawn; open; turn; ends ok; surveyed 1; exit 0; swept; spawn; turn; ends ok; surveyed 2; +5s; tick; exit 0; \
         swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            turn             -
            ends ok          progress
            surveyed 1       -
            exit 0           stopped at 1; well -> keep_going in 0s: 2 resume s1, continue after stop 1; > sweep
            swept            swept 0; attempt 2 resume s1, continue after stop 1; > spawn 2
            spawn            spawned 7
            turn             -
            ends ok          progress
            surveyed 2       -
            tick             stopped at 2; said continue after stop 2, 10s worked; > say continue after stop 2, 10s worked
            exit 0           well -> keep_going in 0s: 3 resume s1, continue after stop 2, 10s worked; > sweep
            swept            swept 0; attempt 3 resume s1, continue after stop 2, 10s worked; > spawn 3
        "#]],
    );
    // The prompt was sent, but the agent exited before receiving it.
    check_rest_with(
        &with_keep_going(),
        FIRST,
        "exit 0; swept",
        expect![[r#"
        exit 0           well -> keep_going in 0s: 2 resume s1, continue after stop 1; > sweep
        swept            swept 0; attempt 2 resume s1, continue after stop 1; > spawn 2
    "#]],
    );
}

#[test]
fn handles_faults_as_without_keep_going() {
    check_rest_with(
        &with_keep_going(),
        FIRST,
        "turn; exit 1; swept",
        expect![[r#"
        turn             -
        exit 1           crashed -> resume in 2s: 2 resume s1, continue (crashed); > sweep
        swept            swept 0
    "#]],
    );
    check_rest_with(
        &with_keep_going(),
        FIRST,
        "cancel person; turn; ends aborted; exit 0; swept",
        expect![[r#"
        cancel person    cancel by person; stop cancelled interrupt; > interrupt
        turn             -
        ends aborted     input ended; > end input
        exit 0           interrupted -> cancelled; > sweep
        swept            swept 0; cancelled; > finish 130
    "#]],
    );
}

#[test]
fn warns_once_near_limit_and_finishes_at_limit() {
    let limits = Limits { budget: Some(Usd(1_000_000)), ..Limits::default() };
    let policy = Policy { limits, wrap_up: Some(WrapUp { reserve: None }), ..with_keep_going() };
    check_run_with(
        &policy,
        "start; spawn; open; turn; used 100000; used 100000; used 100000; used 100000; used 100000; used 100000; ends ok; \
         surveyed 1; idle; turn; used 100000; ends ok; surveyed 2; idle; turn; used 50000; ends ok; surveyed 3; idle; \
         turn; used 150000; ends aborted; idle; turn; ends ok; idle; exit 0; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task, left 1000000 of money; > spawn 1
            spawn            spawned 7
            open             opened s1
            turn             -
            used 100000      -
            used 100000      -
            used 100000      -
            used 100000      -
            used 100000      -
            used 100000      -
            ends ok          progress
            surveyed 1       -
            idle             stopped at 1; said continue after stop 1, left 400000 of money; > say continue after stop 1
            turn             -
            used 100000      -
            ends ok          -
            surveyed 2       -
            idle             stopped at 2; said continue after stop 2, 0s worked, the last warning, left 300000 of money; > say continue after stop 2, 0s worked, the last warning
            turn             -
            used 50000       -
            ends ok          -
            surveyed 3       -
            idle             stopped at 3; said continue after stop 3, left 250000 of money; > say continue after stop 3
            turn             -
            used 150000      reserve of budget; stop wrap_up interrupt; > interrupt
            ends aborted     said wrap up (budget), left 100000 of money; > say wrap up (budget)
            idle             -
            turn             -
            ends ok          -
            idle             input ended; > end input
            exit 0           well -> over_budget by limit of budget; > sweep
            swept            swept 0; over_budget by limit of budget; > finish 21
        "#]],
    );
    let limits = Limits { time: Some(Span::from_mins(10)), ..Limits::default() };
    let policy = Policy { limits, wrap_up: Some(WrapUp { reserve: None }), ..with_keep_going() };
    check_rest_with(
        &policy,
        FIRST,
        "turn; +595s; ends ok; surveyed 2; idle",
        expect![[r#"
        turn             -
        ends ok          -
        surveyed 2       -
        idle             stopped at 2; reserve of time; said wrap up (time), left 5s; > say wrap up (time)
    "#]],
    );
}

#[test]
fn confirms_done_claim_once_after_idle_stop() {
    // Its answer counts regardless of the process that gives it.
    check_rest_with(
        &with_keep_going(),
        FIRST,
        "turn; ends ok; surveyed 1; idle; turn; claims; ends ok; surveyed 1; idle; exit 0; swept; spawn; turn; claims; \
         ends ok; surveyed 1; exit 0; swept",
        expect![[r#"
            turn             -
            ends ok          -
            surveyed 1       -
            idle             stopped at 1; said continue after stop 2, 0s worked; > say continue after stop 2, 0s worked
            turn             -
            claims           -
            ends ok          -
            surveyed 1       -
            idle             stopped at 1, finished; said confirm; > say confirm
            exit 0           well -> keep_going in 0s: 2 resume s1, confirm; > sweep
            swept            swept 0; attempt 2 resume s1, confirm; > spawn 2
            spawn            spawned 7
            turn             -
            claims           -
            ends ok          progress
            surveyed 1       -
            exit 0           stopped at 1, finished; well -> done; > sweep
            swept            swept 0; done; > finish 0
        "#]],
    );
}

#[test]
fn failed_exchange_is_not_a_stop() {
    check_rest_with(
        &with_keep_going(),
        "start; spawn; open",
        "turn; ends denied; idle; exit 0; swept",
        expect![[r#"
        turn             -
        ends denied      progress
        idle             input ended; > end input
        exit 0           permission -> needs_person by permission; > sweep
        swept            swept 0; needs_person by permission; > finish 23
    "#]],
    );
    check_rest_with(
        &with_keep_going(),
        "start; spawn; open",
        "turn; ends paused; idle; exit 0; swept",
        expect![[r#"
            turn             -
            ends paused      progress
            idle             input ended; > end input
            exit 0           unfinished -> nudge answer in 0s: 2 resume s1, nudge to answer; > sweep
            swept            swept 0; attempt 2 resume s1, nudge to answer; > spawn 2
        "#]],
    );
    // If denied tools are accepted, an exchange with a denial is a stop like any other.
    let policy = Policy { allow_denials: true, ..with_keep_going() };
    check_rest_with(
        &policy,
        "start; spawn; open",
        "turn; ends denied; idle",
        expect![[r#"
        turn             -
        ends denied      progress
        idle             stopped; said continue after stop 1; > say continue after stop 1
    "#]],
    );
    check_rest_with(
        &policy,
        "start; spawn; open",
        "turn; ends denied; exit 0; swept",
        expect![[r#"
        turn             -
        ends denied      progress
        exit 0           stopped; permission -> keep_going in 0s: 2 resume s1, continue after stop 1; > sweep
        swept            swept 0; attempt 2 resume s1, continue after stop 1; > spawn 2
    "#]],
    );
}

#[test]
fn stop_during_cancel_is_not_done() {
    check_rest_with(
        &with_keep_going(),
        FIRST,
        "turn; cancel person; ends ok; surveyed 2; idle; exit 0; swept",
        expect![[r#"
            turn             -
            cancel person    cancel by person; stop cancelled interrupt; > interrupt
            ends ok          input ended; > end input
            surveyed 2       -
            idle             -
            exit 0           stopped at 2; well -> cancelled; > sweep
            swept            swept 0; cancelled; > finish 130
        "#]],
    );
}

#[test]
fn sends_no_prompt_after_exit_at_limit() {
    let limits = Limits { budget: Some(Usd(1_000_000)), ..Limits::default() };
    let policy = Policy { limits, wrap_up: Some(WrapUp { reserve: None }), ..with_keep_going() };
    // The exchange ended before the interrupt. The work is saved in another process.
    check_rest_with(
        &policy,
        FIRST,
        "turn; used 900000; ends ok; surveyed 2; exit 0; swept",
        expect![[r#"
            turn             -
            used 900000      reserve of budget; stop wrap_up interrupt; > interrupt
            ends ok          input ended; > end input
            surveyed 2       -
            exit 0           stopped at 2; well -> keep_going in 0s: 2 resume s1, wrap up (budget); > sweep
            swept            swept 0; attempt 2 resume s1, wrap up (budget), left 100000 of money; > spawn 2
        "#]],
    );
    let limits = Limits { time: Some(Span::from_mins(10)), ..Limits::default() };
    let policy = Policy { limits, wrap_up: Some(WrapUp { reserve: None }), ..with_keep_going() };
    check_rest_with(
        &policy,
        FIRST,
        "turn; +600s; ends ok; surveyed 2; exit 0; swept",
        expect![[r#"
        turn             -
        ends ok          -
        surveyed 2       -
        exit 0           stopped at 2; well -> out_of_time by limit of time; > sweep
        swept            swept 0; out_of_time by limit of time; > finish 22
    "#]],
    );
}
