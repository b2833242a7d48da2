//! Keep-going: agents that stop on their own.

use super::trace::{check_rest_with, check_run_with, plain};
use crate::{KeepGoing, Limits, Policy, Span, Usd, WrapUp};
use expect_test::{Expect, expect};

fn with_keep_going() -> Policy {
    let keep_going = KeepGoing { status_every: 2, idle_stops_max: 2, ..KeepGoing::DEFAULT };
    Policy { keep_going: Some(keep_going), ..plain() }
}

fn with_limits(limits: Limits) -> Policy {
    Policy { limits, wrap_up: Some(WrapUp { reserve: None }), ..with_keep_going() }
}

const FIRST: &str = "start; spawn; open; exchange; ends ok; workspace 1; idle";

fn check(rest: &str, expected: Expect) {
    check_rest_with(&with_keep_going(), FIRST, rest, expected);
}

#[test]
fn prompts_until_done_claim_is_confirmed() {
    check_run_with(
        &with_keep_going(),
        "working; ends ok; workspace 1; idle; exchange; stops 2; exchange; claims; stops 2; exchange; claims; stops 2; exit 0",
        expect![[r#"
            ends ok          progress
            workspace 1      -
            idle             agent stopped, workspace 1; sent continue after stop 1; > send continue after stop 1
            exchange         -
            stops 2          agent stopped, workspace 2; sent continue after stop 2, 0s worked; > send continue after stop 2, 0s worked
            exchange         -
            claims           -
            stops 2          agent stopped, workspace 2, claims done; sent confirm; > send confirm
            exchange         -
            claims           -
            stops 2          agent stopped, workspace 2, claims done; input closed; > close input
            exit 0           ok -> done; > sweep; done; > finish 0
        "#]],
    );
}

#[test]
fn unconfirmed_done_claim_continues() {
    check(
        "exchange; claims; stops 1; exchange; stops 2; exchange; claims; stops 2",
        expect![[r#"
            exchange         -
            claims           -
            stops 1          agent stopped, workspace 1, claims done; sent confirm; > send confirm
            exchange         -
            stops 2          agent stopped, workspace 2; sent continue after stop 3; > send continue after stop 3
            exchange         -
            claims           -
            stops 2          agent stopped, workspace 2, claims done; sent confirm; > send confirm
        "#]],
    );
}

#[test]
fn finishes_after_idle_stops() {
    check(
        "exchange; stops 1; exchange; stops 1; exit 0",
        expect![[r#"
            exchange         -
            stops 1          agent stopped, workspace 1; sent continue after stop 2, 0s worked; > send continue after stop 2, 0s worked
            exchange         -
            stops 1          agent stopped, workspace 1; input closed; > close input
            exit 0           ok -> failed by unfinished; > sweep; failed by unfinished; > finish 20
        "#]],
    );
}

#[test]
fn continues_in_new_process_after_exit() {
    check_run_with(
        &with_keep_going(),
        "working; ends ok; workspace 1; exit 0; resumed; ends ok; workspace 2; +5s; tick; exit 0",
        expect![[r#"
            ends ok          progress
            workspace 1      -
            exit 0           agent stopped, workspace 1; ok -> keep_going in 0s: 2 resume s1, continue after stop 1; > sweep; attempt 2 resume s1, continue after stop 1; > spawn 2
            ends ok          progress
            workspace 2      -
            tick             agent stopped, workspace 2; sent continue after stop 2, 10s worked; > send continue after stop 2, 10s worked
            exit 0           ok -> keep_going in 0s: 3 resume s1, continue after stop 2, 10s worked; > sweep; attempt 3 resume s1, continue after stop 2, 10s worked; > spawn 3
        "#]],
    );
    // The prompt was sent, but the agent exited before receiving it.
    check(
        "exit 0",
        expect![[r#"
        exit 0           ok -> keep_going in 0s: 2 resume s1, continue after stop 1; > sweep; attempt 2 resume s1, continue after stop 1; > spawn 2
    "#]],
    );
}

#[test]
fn handles_faults_as_without_keep_going() {
    check(
        "exchange; exit 1",
        expect![[r#"
        exchange         -
        exit 1           crashed -> resume in 2s: 2 resume s1, continue (crashed); > sweep
    "#]],
    );
    check(
        "cancel person; exchange; ends aborted; exit 0",
        expect![[r#"
        cancel person    cancel by person; stop cancelled interrupt; > interrupt
        exchange         -
        ends aborted     input closed; > close input
        exit 0           interrupted -> cancelled; > sweep; cancelled; > finish 130
    "#]],
    );
}

#[test]
fn warns_once_near_limit_and_finishes_at_limit() {
    let policy = with_limits(Limits { budget: Some(Usd(1_000_000)), ..Limits::default() });
    check_run_with(
        &policy,
        "start; spawn; open; exchange; usage 100000; usage 100000; usage 100000; usage 100000; usage 100000; usage 100000; ends ok; workspace 1; idle; exchange; usage 100000; stops 2; exchange; usage 50000; stops 3; exchange; usage 150000; ends aborted; idle; exchange; ends ok; idle; exit 0",
        expect![[r#"
            start            run started; attempt 1 new s1, task, remaining 1000000 of budget; > spawn 1
            spawn            spawned 7
            open             opened s1
            exchange         -
            usage 100000     -
            usage 100000     -
            usage 100000     -
            usage 100000     -
            usage 100000     -
            usage 100000     -
            ends ok          progress
            workspace 1      -
            idle             agent stopped, workspace 1; sent continue after stop 1, remaining 400000 of budget; > send continue after stop 1
            exchange         -
            usage 100000     -
            stops 2          agent stopped, workspace 2; sent continue after stop 2, 0s worked, limit near, remaining 300000 of budget; > send continue after stop 2, 0s worked, limit near
            exchange         -
            usage 50000      -
            stops 3          agent stopped, workspace 3; sent continue after stop 3, remaining 250000 of budget; > send continue after stop 3
            exchange         -
            usage 150000     limit budget: reserve; stop wrap_up interrupt; > interrupt
            ends aborted     sent wrap up (budget), remaining 100000 of budget; > send wrap up (budget)
            idle             -
            exchange         -
            ends ok          -
            idle             input closed; > close input
            exit 0           ok -> over_budget by limit of budget; > sweep; over_budget by limit of budget; > finish 21
        "#]],
    );
    let policy = with_limits(Limits { time: Some(Span::from_mins(10)), ..Limits::default() });
    check_rest_with(
        &policy,
        FIRST,
        "exchange; +595s; stops 2",
        expect![[r#"
        exchange         -
        stops 2          agent stopped, workspace 2; limit time: reserve; sent wrap up (time), remaining 5s; > send wrap up (time)
    "#]],
    );
}

#[test]
fn confirms_done_claim_once_after_idle_stop() {
    // The answer to the confirmation prompt counts regardless of the process that gives it.
    check(
        "exchange; stops 1; exchange; claims; stops 1; exit 0; resumed; claims; ends ok; workspace 1; exit 0",
        expect![[r#"
            exchange         -
            stops 1          agent stopped, workspace 1; sent continue after stop 2, 0s worked; > send continue after stop 2, 0s worked
            exchange         -
            claims           -
            stops 1          agent stopped, workspace 1, claims done; sent confirm; > send confirm
            exit 0           ok -> keep_going in 0s: 2 resume s1, confirm; > sweep; attempt 2 resume s1, confirm; > spawn 2
            claims           -
            ends ok          progress
            workspace 1      -
            exit 0           agent stopped, workspace 1, claims done; ok -> done; > sweep; done; > finish 0
        "#]],
    );
}

#[test]
fn failed_exchange_is_not_a_stop() {
    check_rest_with(
        &with_keep_going(),
        "start; spawn; open",
        "exchange; ends denied; idle; exit 0",
        expect![[r#"
        exchange         -
        ends denied      progress
        idle             input closed; > close input
        exit 0           permission -> needs_person by permission; > sweep; needs_person by permission; > finish 23
    "#]],
    );
    check_rest_with(
        &with_keep_going(),
        "start; spawn; open",
        "exchange; ends paused; idle; exit 0",
        expect![[r#"
            exchange         -
            ends paused      -
            idle             input closed; > close input
            exit 0           unfinished -> nudge answer in 0s: 2 resume s1, nudge to answer; > sweep; attempt 2 resume s1, nudge to answer; > spawn 2
        "#]],
    );
    // If denied tools are accepted, an exchange with a denial is a stop like any other.
    let policy = Policy { allow_denials: true, ..with_keep_going() };
    check_rest_with(
        &policy,
        "start; spawn; open",
        "exchange; ends denied; idle",
        expect![[r#"
        exchange         -
        ends denied      progress
        idle             agent stopped; sent continue after stop 1; > send continue after stop 1
    "#]],
    );
    check_rest_with(
        &policy,
        "start; spawn; open",
        "exchange; ends denied; exit 0",
        expect![[r#"
        exchange         -
        ends denied      progress
        exit 0           agent stopped; permission -> keep_going in 0s: 2 resume s1, continue after stop 1; > sweep; attempt 2 resume s1, continue after stop 1; > spawn 2
    "#]],
    );
}

#[test]
fn stop_during_cancel_is_not_done() {
    check_rest_with(
        &with_keep_going(),
        &format!("{FIRST}; exchange"),
        "cancel person; ends ok; workspace 2; idle; exit 0",
        expect![[r#"
            cancel person    cancel by person; stop cancelled interrupt; > interrupt
            ends ok          input closed; > close input
            workspace 2      -
            idle             -
            exit 0           agent stopped, workspace 2; ok -> cancelled; > sweep; cancelled; > finish 130
        "#]],
    );
}

#[test]
fn sends_no_prompt_after_exit_at_limit() {
    let policy = with_limits(Limits { budget: Some(Usd(1_000_000)), ..Limits::default() });
    // The exchange ended before the interrupt. The work is saved in another process.
    check_rest_with(
        &policy,
        FIRST,
        "exchange; usage 900000; ends ok; workspace 2; exit 0",
        expect![[r#"
            exchange         -
            usage 900000     limit budget: reserve; stop wrap_up interrupt; > interrupt
            ends ok          input closed; > close input
            workspace 2      -
            exit 0           agent stopped, workspace 2; ok -> keep_going in 0s: 2 resume s1, wrap up (budget); > sweep; attempt 2 resume s1, wrap up (budget), remaining 100000 of budget; > spawn 2
        "#]],
    );
    let policy = with_limits(Limits { time: Some(Span::from_mins(10)), ..Limits::default() });
    check_rest_with(
        &policy,
        FIRST,
        "exchange; +600s; ends ok; workspace 2; exit 0",
        expect![[r#"
        exchange         -
        ends ok          -
        workspace 2      -
        exit 0           agent stopped, workspace 2; ok -> out_of_time by limit of time; > sweep; out_of_time by limit of time; > finish 22
    "#]],
    );
}
