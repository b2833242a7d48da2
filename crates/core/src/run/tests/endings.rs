//! Faults that finish a run at once, and their outcomes.

use super::trace::{check_built_run, check_run, check_run_with, plain};
use crate::{Policy, Preset};
use expect_test::expect;

#[test]
fn lapsed_guard_needs_person() {
    check_run(
        "working; guard-lapses; completes",
        expect![[r#"
            completes        guard_lapsed -> needs_person by guard_lapsed; > sweep; needs_person by guard_lapsed; > finish 23
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
fn some_results_finish_run_at_once() {
    let rows = [
        ("401", "auth", "needs_person", 23),
        ("403", "auth", "needs_person", 23),
        ("credit", "billing", "needs_person", 23),
        ("model", "model_unknown", "failed", 20),
        ("refusal", "refused", "failed", 20),
        ("turns", "turn_limit", "out_of_time", 22),
        ("budget", "agent_budget", "over_budget", 21),
    ];
    for (result, fault, outcome, exit_code) in rows {
        let outcome = format!("{outcome} by {fault}");
        check_built_run(
            &format!("working; ends {result}; exit 1"),
            &[
                format!("ends {result:<11} -"),
                format!("exit 1           {fault} -> {outcome}; > sweep; {outcome}; > finish {exit_code}"),
            ],
        );
    }
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
        "working; retrying 1 529; retrying 2 401; retrying 3 529; completes",
        expect![[r#"
            retrying 1 529   -
            retrying 2 401   -
            retrying 3 529   -
            completes        ok -> done; > sweep; done; > finish 0
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

/// An update may take most of a minute. Therefore the waits have no jitter.
#[test]
fn agent_that_vanishes_during_the_run_is_retried_for_a_minute() {
    check_run_with(
        &Preset::Default.policy(),
        "opened; fails 529; swept; tick; spawn-fails missing; swept; tick; spawn-fails unusable; swept; tick; \
         spawn-fails missing; swept; tick; spawn-fails missing; swept; tick; spawn-fails missing; swept; tick; \
         spawn-fails missing",
        expect![[r#"
            fails 529        overloaded -> wait_out in 1.7s: 2 resume s1, continue (overloaded); > sweep
            swept            swept 0
            tick             attempt 2 resume s1, continue (overloaded); > spawn 2
            spawn-fails missing agent_missing -> resume in 2s: 3 resume s1, continue (agent_missing); > sweep
            swept            swept 0
            tick             attempt 3 resume s1, continue (agent_missing); > spawn 3
            spawn-fails unusable agent_unusable, evidence kept -> resume in 4s: 4 resume s1, continue (agent_unusable); > sweep
            swept            swept 0
            tick             attempt 4 resume s1, continue (agent_unusable); > spawn 4
            spawn-fails missing agent_missing -> resume in 8s: 5 resume s1, continue (agent_missing); > sweep
            swept            swept 0
            tick             attempt 5 resume s1, continue (agent_missing); > spawn 5
            spawn-fails missing agent_missing -> resume in 16s: 6 resume s1, continue (agent_missing); > sweep
            swept            swept 0
            tick             attempt 6 resume s1, continue (agent_missing); > spawn 6
            spawn-fails missing agent_missing -> resume in 32s: 7 resume s1, continue (agent_missing); > sweep
            swept            swept 0
            tick             attempt 7 resume s1, continue (agent_missing); > spawn 7
            spawn-fails missing agent_missing -> failed by agent_missing; > sweep; failed by agent_missing; > finish 20
        "#]],
    );
}

#[test]
fn agent_that_vanishes_after_its_session_was_lost_is_retried() {
    check_run(
        "opened; bill 9; fails full; spawn-fails missing; swept; tick; spawn; open",
        expect![[r#"
            fails full       context_full -> replace_full_session in 0s: 2 new s2, task after loss (context_full); > sweep; attempt 2 new s2, task after loss (context_full); strategy handoff (context_full); > spawn 2
            spawn-fails missing agent_missing -> resume in 2s: 3 new s3, task after loss (context_full); > sweep
            swept            swept 0
            tick             attempt 3 new s3, task after loss (context_full); strategy handoff (context_full); > spawn 3
            spawn            spawned 7
            open             opened s3
        "#]],
    );
}

/// The program that never worked since the user resumed the run is not awaited.
#[test]
fn agent_that_is_missing_when_the_run_is_resumed_ends_it_at_once() {
    check_run(
        "opened; bill 9; cancels; reopen; spawn-fails missing",
        expect![[r#"
            cancels          interrupted -> cancelled; > sweep; cancelled; > finish 130
            reopen           reopened; attempt 2 resume s1, continue (interrupted); > spawn 2
            spawn-fails missing agent_missing -> failed by agent_missing; > sweep; failed by agent_missing; > finish 20
        "#]],
    );
}

/// A gateway that fails may answer 404 for a while.
#[test]
fn model_that_answered_before_is_retried() {
    check_run(
        "working; bill 9; fails model; retry; fails model; retry; fails model; retry; fails model; retry; \
         fails model; retry; fails model",
        expect![[r#"
            fails model      model_unknown -> resume in 32s: 2 resume s1, continue (model_unknown); > sweep
            fails model      model_unknown -> resume in 1m 4s: 3 resume s1, continue (model_unknown); > sweep
            fails model      model_unknown -> resume in 2m 8s: 4 resume s1, continue (model_unknown); > sweep
            fails model      model_unknown -> resume in 4m 16s: 5 resume s1, continue (model_unknown); > sweep
            fails model      model_unknown -> resume in 5m: 6 resume s1, continue (model_unknown); > sweep
            fails model      model_unknown -> failed by model_unknown; > sweep; failed by model_unknown; > finish 20
        "#]],
    );
    // The user resumed the run with another model, which never answered.
    check_run(
        "working; bill 9; cancels; reopen; spawn; fails model",
        expect![[r#"
            cancels          interrupted -> cancelled; > sweep; cancelled; > finish 130
            reopen           reopened; attempt 2 resume s1, continue (interrupted); > spawn 2
            spawn            spawned 7
            fails model      model_unknown -> failed by model_unknown; > sweep; failed by model_unknown; > finish 20
        "#]],
    );
}
