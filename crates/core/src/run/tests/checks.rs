//! Work that is judged by commands before it counts as done.

use super::trace::{check_rest_with, check_run_with, plain};
use crate::{CheckPolicy, Limits, Policy, Span};
use expect_test::expect;

fn checked(attempts_max: u32) -> Policy {
    Policy {
        check: Some(CheckPolicy { failures_max: attempts_max, timeout: Some(Span::from_mins(10)) }),
        ..plain()
    }
}

const DONE: &str = "start; spawn; open; turn; ends ok; idle; exit 0; swept";

#[test]
fn work_that_does_not_pass_goes_on_until_it_does() {
    check_run_with(
        &checked(10),
        "start; spawn; open; turn; ends ok; idle; exit 0; swept; check fails; spawn; turn; ends ok; idle; exit 0; swept; \
         check passes",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            turn             -
            ends ok          progress
            idle             input ended; > end input
            exit 0           well -> check; > sweep
            swept            swept 0; check ordered; > check 1
            check fails      check failed; attempt 2 resume s1, check 1 failed; > spawn 2
            spawn            spawned 7
            turn             -
            ends ok          progress
            idle             input ended; > end input
            exit 0           well -> check; > sweep
            swept            swept 0; check ordered; > check 2
            check passes     check passed; done; > finish 0
        "#]],
    );
}

#[test]
fn work_that_never_passes_ends_as_that() {
    check_rest_with(
        &checked(2),
        DONE,
        "check fails; spawn; turn; ends ok; idle; exit 0; swept; check fails",
        expect![[r#"
            check fails      check failed; attempt 2 resume s1, check 1 failed; > spawn 2
            spawn            spawned 7
            turn             -
            ends ok          progress
            idle             input ended; > end input
            exit 0           well -> check; > sweep
            swept            swept 0; check ordered; > check 2
            check fails      check failed; check_failed; > finish 24
        "#]],
    );
    // A person who lets it go on gives it as many tries again.
    check_rest_with(
        &checked(1),
        "start; spawn; open; turn; ends ok; idle; exit 0; swept; check fails",
        "reopen; spawn; turn; ends ok; idle; exit 0; swept; check fails",
        expect![[r#"
            reopen           goes on; attempt 2 resume s1, check 1 failed; > spawn 2
            spawn            spawned 7
            turn             -
            ends ok          progress
            idle             input ended; > end input
            exit 0           well -> check; > sweep
            swept            swept 0; check ordered; > check 2
            check fails      check failed; check_failed; > finish 24
        "#]],
    );
}

#[test]
fn an_attempt_that_failed_is_not_judged() {
    check_rest_with(
        &checked(10),
        "start; spawn; open; turn",
        "ends 401; idle; exit 1; swept",
        expect![[r#"
            ends 401         -
            idle             input ended; > end input
            exit 1           auth -> needs_person by auth; > sweep
            swept            swept 0; needs_person by auth; > finish 23
        "#]],
    );
}

#[test]
fn a_check_that_hangs_is_ended_and_counts_as_failed() {
    check_rest_with(
        &checked(10),
        DONE,
        "tick; check stopped",
        expect![[r#"
        tick             check stopped (attempt_timeout); > end check
        check stopped    check stopped; attempt 2 resume s1, check 1 failed; > spawn 2
    "#]],
    );
}

#[test]
fn a_cancel_ends_a_check() {
    check_rest_with(
        &checked(10),
        DONE,
        "cancel person; check stopped",
        expect![[r#"
        cancel person    cancel by person; check stopped (cancelled); > end check
        check stopped    check stopped; cancelled; > finish 130
    "#]],
    );
    // Work that is found to be done at the same moment is done.
    check_rest_with(
        &checked(10),
        DONE,
        "cancel person; check passes",
        expect![[r#"
        cancel person    cancel by person; check stopped (cancelled); > end check
        check passes     check passed; done; > finish 0
    "#]],
    );
    check_rest_with(
        &checked(10),
        "start; spawn; open; turn; ends ok; idle; exit 0",
        "cancel person; swept",
        expect![[r#"
            cancel person    cancel by person
            swept            swept 0; cancelled; > finish 130
        "#]],
    );
}

#[test]
fn a_new_supervisor_judges_anew() {
    check_rest_with(
        &checked(10),
        DONE,
        "recover never; check passes",
        expect![[r#"
            recover never    recovered (checking); > check 1
            check passes     check passed; done; > finish 0
        "#]],
    );
    check_rest_with(
        &checked(10),
        DONE,
        "cancel term; recover never",
        expect![[r#"
            cancel term      suspend by sigterm; check stopped (suspended); > end check
            recover never    recovered (checking); > check 1
        "#]],
    );
}

#[test]
fn a_check_ends_with_the_time() {
    let limits = Limits { time: Some(Span::from_mins(5)), ..Limits::default() };
    check_rest_with(
        &Policy { limits, ..checked(10) },
        DONE,
        "tick; check stopped",
        expect![[r#"
        tick             all of time; check stopped (limit_reached); > end check
        check stopped    check stopped; out_of_time by limit of time; > finish 22
    "#]],
    );
    // What is left is for saving the work.
    check_rest_with(
        &Policy { limits, ..checked(10) },
        DONE,
        "+280s; check fails; spawn; turn; ends ok; idle; exit 0; swept",
        expect![[r#"
            check fails      check failed; reserve of time; attempt 2 resume s1, wrap up (time), left 20s; > spawn 2
            spawn            spawned 7
            turn             -
            ends ok          progress
            idle             input ended; > end input
            exit 0           well -> out_of_time by limit of time; > sweep
            swept            swept 0; out_of_time by limit of time; > finish 22
        "#]],
    );
}
