//! Parks of runs whose API fails.

use super::trace::{check, check_rest, policy, with_budget, with_reaction, with_time};
use crate::{OutcomeKind, Reaction, WorkflowPolicy};
use expect_test::expect;

#[test]
fn parked_run_is_resumed_at_its_time() {
    check(
        &policy("work"),
        "starts work; ends work retry_later@1h 1; tick; finishes work 2",
        expect![[r#"
            ends work retry_later@1h 1 work retry_later -> park 1h
            tick (park 1h)             resume work; > resume work 1
        "#]],
    );
}

#[test]
fn unknown_time_parks_for_half_an_hour() {
    check(
        &policy("work"),
        "starts work; ends work retry_later; tick",
        expect![[r#"
            ends work retry_later      work retry_later -> park 30m 20s
            tick (park 30m 20s)        resume work; > resume work 1
        "#]],
    );
}

#[test]
fn no_run_starts_while_one_is_parked() {
    check(
        &WorkflowPolicy { parallel_max: 2, ..policy("work*") },
        "starts work a b c; ends work1 retry_later@1h; ends work2 done; tick; completes work3; finishes work1",
        expect![[r#"
            ends work1 retry_later@1h  work1 retry_later -> park 1h
            ends work2 done            work2 done -> complete
            tick (park 1h)             resume work1; > resume work1 1; run work3; > start work3
        "#]],
    );
}

#[test]
fn parks_are_bounded() {
    let parks = "tick; ends work retry_later; ".repeat(10);
    check_rest(
        &policy("work"),
        &format!("start; ends work retry_later; {parks}"),
        "reopen - -",
        expect![[r#"
            reopen - -                 reopened; phase work; resume work; > resume work 11
        "#]],
    );
}

#[test]
fn retry_later_can_stop() {
    check(
        &with_reaction(policy("work"), OutcomeKind::RetryLater, Reaction::Stop),
        "starts work; ends work retry_later@1h; reopen - -",
        expect![[r#"
            ends work retry_later@1h   work retry_later -> stop; work ended retry_later; retry_later; > finish 75
            reopen - -                 reopened; phase work; resume work; > resume work 1
        "#]],
    );
}

#[test]
fn parks_end_with_the_workflow() {
    check(
        &policy("work*"),
        "starts work a b; ends work1 retry_later@1h; ends work2 failed",
        expect![[r#"
            ends work1 retry_later@1h  work1 retry_later -> park 1h
            ends work2 failed          work2 failed -> stop; failed; > finish 20
        "#]],
    );
}

#[test]
fn used_up_budget_ends_a_parked_workflow_at_once() {
    check_rest(
        &with_budget("work", 10.0),
        "start",
        "ends work retry_later@1h 10; reopen 20 -; finishes work 12",
        expect![[r#"
            ends work retry_later@1h 10 work retry_later -> park 1h; over_budget; > finish 21
            reopen 20 -                reopened; phase work; resume work $20.00; > resume work 1
        "#]],
    );
}

#[test]
fn budget_that_a_live_run_may_release_keeps_a_park() {
    check(
        &with_budget("work*", 10.0),
        "lists work; items work a b; ends work1 retry_later@1h 5; completes work2 1; tick; finishes work1 6",
        expect![[r#"
            items work a b             items a b; run work1 $5.00; > start work1; run work2 $5.00; > start work2
            ends work1 retry_later@1h 5 work1 retry_later -> park 1h
            tick (park 1h)             resume work1 $9.00; > resume work1 1
        "#]],
    );
}

#[test]
fn used_up_time_ends_a_parked_workflow_at_once() {
    check_rest(
        &with_time("work", 1),
        "start; +1h",
        "ends work retry_later@1h",
        expect![[r#"
            ends work retry_later@1h   work retry_later -> park 1h; time exhausted; out_of_time; > finish 22
        "#]],
    );
}
