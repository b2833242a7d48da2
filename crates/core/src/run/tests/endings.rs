//! Faults that finish a run at once, and their outcomes.

use super::trace::{check_run, check_run_with, plain};
use crate::Policy;
use expect_test::expect;

#[test]
fn lapsed_guard_needs_person() {
    check_run(
        "working; guard-lapses; ends ok; idle; exit 0",
        expect![[r#"
            ends ok          progress
            idle             input closed; > close input
            exit 0           guard_lapsed -> needs_person by guard_lapsed; > sweep; needs_person by guard_lapsed; > finish 23
        "#]],
    );
}

#[test]
fn denied_tools_need_person_unless_accepted() {
    check_run(
        "working; ends denied; idle; exit 0",
        expect![[r#"
            ends denied      progress
            idle             input closed; > close input
            exit 0           permission -> needs_person by permission; > sweep; needs_person by permission; > finish 23
        "#]],
    );
    check_run_with(
        &Policy { allow_denials: true, ..plain() },
        "working; ends denied; idle; exit 0",
        expect![[r#"
            ends denied      progress
            idle             input closed; > close input
            exit 0           permission -> done; > sweep; done; > finish 0
        "#]],
    );
}

#[test]
fn rejected_credentials_finish_at_once() {
    check_run(
        "working; ends 401; exit 1",
        expect![[r#"
            ends 401         -
            exit 1           auth -> needs_person by auth; > sweep; needs_person by auth; > finish 23
        "#]],
    );
    check_run(
        "working; ends 403; exit 1",
        expect![[r#"
            ends 403         -
            exit 1           auth -> needs_person by auth; > sweep; needs_person by auth; > finish 23
        "#]],
    );
}

#[test]
fn second_auth_retry_stops_agent() {
    check_run(
        "working; retrying 1 401; retrying 1 401; retrying 2 401; exit 143",
        expect![[r#"
            retrying 1 401   -
            retrying 1 401   -
            retrying 2 401   stop auth_rejected term; > term
            exit 143         auth -> needs_person by auth; > sweep; needs_person by auth; > finish 23
        "#]],
    );
    check_run(
        "working; retrying 1 529; retrying 2 401; retrying 3 529; ends ok; idle; exit 0",
        expect![[r#"
            retrying 1 529   -
            retrying 2 401   -
            retrying 3 529   -
            ends ok          progress
            idle             input closed; > close input
            exit 0           ok -> done; > sweep; done; > finish 0
        "#]],
    );
}

#[test]
fn billing_fault_finishes_at_once() {
    check_run(
        "working; ends credit; exit 1",
        expect![[r#"
            ends credit      -
            exit 1           billing -> needs_person by billing; > sweep; needs_person by billing; > finish 23
        "#]],
    );
}

#[test]
fn unknown_model_finishes_at_once() {
    check_run(
        "working; ends model; exit 1",
        expect![[r#"
            ends model       -
            exit 1           model_unknown -> failed by model_unknown; > sweep; failed by model_unknown; > finish 20
        "#]],
    );
}

#[test]
fn refusal_finishes_at_once() {
    check_run(
        "working; ends refusal; exit 1",
        expect![[r#"
            ends refusal     -
            exit 1           refused -> failed by refused; > sweep; failed by refused; > finish 20
        "#]],
    );
}

#[test]
fn missing_or_unusable_agent_is_not_started() {
    check_run(
        "start; spawn-fails missing",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn-fails missing agent_missing -> not_started by agent_missing; > sweep; not_started by agent_missing; > finish 25
        "#]],
    );
    check_run(
        "start; spawn-fails unusable",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn-fails unusable agent_unusable, evidence kept -> not_started by agent_unusable; > sweep; not_started by agent_unusable; > finish 25
        "#]],
    );
    check_run(
        "start; spawn; refuses unusable; exit 1",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            exit 1           agent_unusable, evidence kept -> not_started by agent_unusable; > sweep; not_started by agent_unusable; > finish 25
        "#]],
    );
}

#[test]
fn agents_own_limits_finish_run() {
    check_run(
        "working; ends turns; exit 1",
        expect![[r#"
            ends turns       -
            exit 1           turn_limit -> out_of_time by turn_limit; > sweep; out_of_time by turn_limit; > finish 22
        "#]],
    );
    check_run(
        "working; ends budget; exit 1",
        expect![[r#"
            ends budget      -
            exit 1           agent_budget -> over_budget by agent_budget; > sweep; over_budget by agent_budget; > finish 21
        "#]],
    );
}
