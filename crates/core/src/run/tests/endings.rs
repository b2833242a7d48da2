//! Faults that finish a run at once, and their outcomes.

use super::trace::{check_run, check_run_with, plain};
use crate::Policy;
use expect_test::expect;

#[test]
fn lapsed_guard_needs_person() {
    check_run(
        "start; spawn; open; exchange; guard-lapses; ends ok; idle; exit 0; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            exchange         -
            ends ok          progress
            idle             input closed; > close input
            exit 0           guard_lapsed -> needs_person by guard_lapsed; > sweep
            swept            swept 0; needs_person by guard_lapsed; > finish 23
        "#]],
    );
}

#[test]
fn denied_tools_need_person_unless_accepted() {
    check_run(
        "start; spawn; open; exchange; ends denied; idle; exit 0; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            exchange         -
            ends denied      progress
            idle             input closed; > close input
            exit 0           permission -> needs_person by permission; > sweep
            swept            swept 0; needs_person by permission; > finish 23
        "#]],
    );
    check_run_with(
        &Policy { allow_denials: true, ..plain() },
        "start; spawn; open; exchange; ends denied; idle; exit 0; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            exchange         -
            ends denied      progress
            idle             input closed; > close input
            exit 0           permission -> done; > sweep
            swept            swept 0; done; > finish 0
        "#]],
    );
}

#[test]
fn rejected_credentials_finish_at_once() {
    check_run(
        "start; spawn; open; exchange; ends 401; exit 1; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            exchange         -
            ends 401         -
            exit 1           auth -> needs_person by auth; > sweep
            swept            swept 0; needs_person by auth; > finish 23
        "#]],
    );
    check_run(
        "start; spawn; open; exchange; ends 403; exit 1; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            exchange         -
            ends 403         -
            exit 1           auth -> needs_person by auth; > sweep
            swept            swept 0; needs_person by auth; > finish 23
        "#]],
    );
}

#[test]
fn second_auth_retry_stops_agent() {
    check_run(
        "start; spawn; open; exchange; retrying 1 401; retrying 1 401; retrying 2 401; exit 143; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            exchange         -
            retrying 1 401   -
            retrying 1 401   -
            retrying 2 401   stop auth_rejected term; > term
            exit 143         auth -> needs_person by auth; > sweep
            swept            swept 0; needs_person by auth; > finish 23
        "#]],
    );
    check_run(
        "start; spawn; open; exchange; retrying 1 529; retrying 2 401; retrying 3 529; ends ok; idle; exit 0; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            exchange         -
            retrying 1 529   -
            retrying 2 401   -
            retrying 3 529   -
            ends ok          progress
            idle             input closed; > close input
            exit 0           ok -> done; > sweep
            swept            swept 0; done; > finish 0
        "#]],
    );
}

#[test]
fn billing_fault_finishes_at_once() {
    check_run(
        "start; spawn; open; exchange; ends credit; exit 1; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            exchange         -
            ends credit      -
            exit 1           billing -> needs_person by billing; > sweep
            swept            swept 0; needs_person by billing; > finish 23
        "#]],
    );
}

#[test]
fn unknown_model_finishes_at_once() {
    check_run(
        "start; spawn; open; exchange; ends model; exit 1; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            exchange         -
            ends model       -
            exit 1           model_unknown -> failed by model_unknown; > sweep
            swept            swept 0; failed by model_unknown; > finish 20
        "#]],
    );
}

#[test]
fn refusal_finishes_at_once() {
    check_run(
        "start; spawn; open; exchange; ends refusal; exit 1; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            exchange         -
            ends refusal     -
            exit 1           refused -> failed by refused; > sweep
            swept            swept 0; failed by refused; > finish 20
        "#]],
    );
}

#[test]
fn missing_or_unusable_agent_is_not_started() {
    check_run(
        "start; spawn-fails missing; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn-fails missing agent_missing -> not_started by agent_missing; > sweep
            swept            swept 0; not_started by agent_missing; > finish 25
        "#]],
    );
    check_run(
        "start; spawn-fails unusable; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn-fails unusable agent_unusable, evidence kept -> not_started by agent_unusable; > sweep
            swept            swept 0; not_started by agent_unusable; > finish 25
        "#]],
    );
    check_run(
        "start; spawn; refuses unusable; exit 1; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            exit 1           agent_unusable, evidence kept -> not_started by agent_unusable; > sweep
            swept            swept 0; not_started by agent_unusable; > finish 25
        "#]],
    );
}

#[test]
fn agents_own_limits_finish_run() {
    check_run(
        "start; spawn; open; exchange; ends turns; exit 1; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            exchange         -
            ends turns       -
            exit 1           turn_limit -> out_of_time by turn_limit; > sweep
            swept            swept 0; out_of_time by turn_limit; > finish 22
        "#]],
    );
    check_run(
        "start; spawn; open; exchange; ends budget; exit 1; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            exchange         -
            ends budget      -
            exit 1           agent_budget -> over_budget by agent_budget; > sweep
            swept            swept 0; over_budget by agent_budget; > finish 21
        "#]],
    );
}
