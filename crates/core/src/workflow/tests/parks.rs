//! Parks of runs whose API fails.

use super::trace::{check, check_rest, dollars, policy, with_reaction};
use crate::{OutcomeKind, Reaction, Span, WorkflowLimits, WorkflowPolicy};
use expect_test::expect;

#[test]
fn parked_run_is_resumed_at_its_time() {
    check(
        &policy("work"),
        "starts work; ends work retry_later@1h 1; tick; ends work done 2",
        expect![[r#"
            ends work retry_later@1h 1 work retry_later -> park 1h
            tick (park 1h)             resume work; > resume work 1
            ends work done 2           work done -> complete; work ended done; done; > finish 0
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
        "lists work; items work a b c; ends work1 retry_later@1h; ends work2 done; tick; ends work3 done; ends work1 done",
        expect![[r#"
            items work a b c           items a b c; run work1; > start work1; run work2; > start work2
            ends work1 retry_later@1h  work1 retry_later -> park 1h
            ends work2 done            work2 done -> complete
            tick (park 1h)             resume work1; > resume work1 1; run work3; > start work3
            ends work3 done            work3 done -> complete
            ends work1 done            work1 done -> complete; work ended done; done; > finish 0
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
    let limits = WorkflowLimits { budget: Some(dollars(10.0)), time: None };
    check(
        &WorkflowPolicy { limits, ..policy("work") },
        "start; ends work retry_later@1h 10; reopen 20 -; ends work done 12",
        expect![[r#"
            start                      started; iteration 1; phase work; run work $10.0000; > start work
            ends work retry_later@1h 10 work retry_later -> park 1h; over_budget; > finish 21
            reopen 20 -                reopened; phase work; resume work $20.0000; > resume work 1
            ends work done 12          work done -> complete; work ended done; done; > finish 0
        "#]],
    );
}

#[test]
fn budget_that_a_live_run_may_release_keeps_a_park() {
    let limits = WorkflowLimits { budget: Some(dollars(10.0)), time: None };
    check(
        &WorkflowPolicy { limits, ..policy("work*") },
        "lists work; items work a b; ends work1 retry_later@1h 5; ends work2 done 1; tick; ends work1 done 6",
        expect![[r#"
            items work a b             items a b; run work1 $5.0000; > start work1; run work2 $5.0000; > start work2
            ends work1 retry_later@1h 5 work1 retry_later -> park 1h
            ends work2 done 1          work2 done -> complete
            tick (park 1h)             resume work1 $9.0000; > resume work1 1
            ends work1 done 6          work1 done -> complete; work ended done; done; > finish 0
        "#]],
    );
}

#[test]
fn used_up_time_ends_a_parked_workflow_at_once() {
    let limits = WorkflowLimits { budget: None, time: Some(Span::from_hours(1)) };
    check(
        &WorkflowPolicy { limits, ..policy("work") },
        "start; +1h; ends work retry_later@1h",
        expect![[r#"
            start                      started; iteration 1; phase work; run work 1h; > start work
            ends work retry_later@1h   work retry_later -> park 1h; time exhausted; out_of_time; > finish 22
        "#]],
    );
}
