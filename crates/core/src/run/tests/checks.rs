//! Checks that verify the work after a done claim.

use super::trace::{check_rest_with, check_run_with, plain};
use crate::{Checks, Limits, Policy, Span};
use expect_test::{Expect, expect};

fn with_checks(failures_max: u32) -> Policy {
    let checks = Checks::new(vec!["true".to_owned()]);
    Policy { checks: Some(Checks { failures_max, timeout: Some(Span::from_mins(10)), ..checks }), ..plain() }
}

const DONE: &str = "start; spawn; open; exchange; ends ok; idle; exit 0; swept";

fn check(rest: &str, expected: Expect) {
    check_rest_with(&with_checks(10), DONE, rest, expected);
}

#[test]
fn resumes_until_check_passes() {
    check_run_with(
        &with_checks(10),
        "working; completes; check fails; resumed; completes; check passes",
        expect![[r#"
            completes        ok -> check; > sweep; check started; > check 1
            check fails      check failed; attempt 2 resume s1, check 1 failed; > spawn 2
            completes        ok -> check; > sweep; check started; > check 2
            check passes     check passed; done; > finish 0
        "#]],
    );
}

#[test]
fn finishes_after_too_many_failed_checks() {
    check_rest_with(
        &with_checks(2),
        &format!("{DONE}; check fails; resumed; completes"),
        "check fails",
        expect![[r#"
            check fails      check failed; check_failed; > finish 24
        "#]],
    );
    // A user who resumes the run grants the same number of checks again.
    check_rest_with(
        &with_checks(1),
        &format!("{DONE}; check fails; reopen; resumed; completes"),
        "check fails",
        expect![[r#"
            check fails      check failed; check_failed; > finish 24
        "#]],
    );
}

#[test]
fn skips_check_after_failed_attempt() {
    check_run_with(
        &with_checks(10),
        "working; fails 401",
        expect![[r#"
            fails 401        auth -> needs_person by auth; > sweep; needs_person by auth; > finish 23
        "#]],
    );
}

#[test]
fn hanging_check_counts_as_failed() {
    check(
        "tick; check stopped",
        expect![[r#"
            tick             stop check (timed_out); > stop check
            check stopped    check timed_out; attempt 2 resume s1, check 1 failed; > spawn 2
        "#]],
    );
}

#[test]
fn cancel_stops_check() {
    check(
        "cancel person; check stopped",
        expect![[r#"
            cancel person    cancel by person; stop check (cancelled); > stop check
            check stopped    check stopped; cancelled; > finish 130
        "#]],
    );
    // If the check passes at the same moment, the work is done.
    check_rest_with(
        &with_checks(10),
        &format!("{DONE}; cancel person"),
        "check passes",
        expect![[r#"
            check passes     check passed; done; > finish 0
        "#]],
    );
    check_rest_with(
        &with_checks(10),
        "start; spawn; open; exchange; ends ok; idle; exit 0",
        "cancel person; swept",
        expect![[r#"
            cancel person    cancel by person
            swept            swept 0; cancelled; > finish 130
        "#]],
    );
}

#[test]
fn new_supervisor_reruns_check() {
    // The repeated commands have their whole timeout, so that the time limit ends them first.
    let limits = Limits { time: Some(Span::from_mins(15)), ..Limits::default() };
    check_rest_with(
        &Policy { limits, ..with_checks(10) },
        DONE,
        "+8m; recover never; tick",
        expect![[r#"
        recover never    recovered (checking); > check 1
        tick             limit time: exhausted; stop check (limit_reached); > stop check
    "#]],
    );
    check(
        "recover never; check passes",
        expect![[r#"
            recover never    recovered (checking); > check 1
            check passes     check passed; done; > finish 0
        "#]],
    );
    check(
        "cancel term; recover never",
        expect![[r#"
            cancel term      suspend by sigterm; stop check (suspended); > stop check
            recover never    recovered (checking); > check 1
        "#]],
    );
}

#[test]
fn time_limit_stops_check() {
    let limits = Limits { time: Some(Span::from_mins(5)), ..Limits::default() };
    check_rest_with(
        &Policy { limits, ..with_checks(10) },
        DONE,
        "tick; check stopped",
        expect![[r#"
            tick             limit time: exhausted; stop check (limit_reached); > stop check
            check stopped    check stopped; out_of_time by limit of time; > finish 22
        "#]],
    );
    // The reserve is kept for the wrap-up.
    check_rest_with(
        &Policy { limits, ..with_checks(10) },
        DONE,
        "+280s; check fails; resumed; completes",
        expect![[r#"
            check fails      check failed; limit time: reserve; attempt 2 resume s1, wrap up (time), remaining 20s; > spawn 2
            completes        ok -> out_of_time by limit of time; > sweep; out_of_time by limit of time; > finish 22
        "#]],
    );
}
