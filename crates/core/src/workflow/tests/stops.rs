//! Cancellation, suspension and takeover.

use super::trace::{check, check_rest, policy};
use crate::WorkflowPolicy;
use expect_test::expect;

#[test]
fn cancel_stops_live_runs() {
    check(
        &WorkflowPolicy { parallel_max: 2, ..policy("work*") },
        "starts work a b c; cancel person; cancel now; ends work1 cancelled; ends work2 done",
        expect![[r#"
            cancel person              cancel by person; > stop work1 person; > stop work2 person
            cancel now                 cancel by person_now; > stop work1 person_now; > stop work2 person_now
            ends work1 cancelled       work1 cancelled -> stop
            ends work2 done            work2 done -> complete; cancelled; > finish 130
        "#]],
    );
}

#[test]
fn cancel_by_a_signal_does_not_suspend_runs() {
    check(
        &policy("work"),
        "starts work; cancel term; ends work cancelled",
        expect![[r#"
            cancel term                cancel by sigterm; > stop work person
            ends work cancelled        work cancelled -> stop; work ended cancelled; cancelled; > finish 143
        "#]],
    );
}

#[test]
fn cancel_reaches_a_run_that_was_just_suspended() {
    check(
        &policy("work"),
        "starts work; suspend term; cancel person; ends work suspended 1; ends work cancelled 1",
        expect![[r#"
            suspend term               suspend by sigterm; > stop work sigterm
            cancel person              cancel by person; > stop work person
            ends work suspended 1      > start work; > stop work person
            ends work cancelled 1      work cancelled -> stop; work ended cancelled; cancelled; > finish 130
        "#]],
    );
}

#[test]
fn cancel_without_live_runs_finishes_at_once() {
    check(
        &policy("work*"),
        "lists work; cancel person; items work a",
        expect![[r#"
            cancel person              cancel by person; cancelled; > finish 130
            items work a               -
        "#]],
    );
}

#[test]
fn suspension_is_continued() {
    check(
        &policy("work* review"),
        "starts work a b; suspend term; ends work1 suspended 1; ends work2 done 1; +1h; taken 1h; ends work1 done 2; finishes review",
        expect![[r#"
            suspend term               suspend by sigterm; > stop work1 sigterm; > stop work2 sigterm
            ends work1 suspended 1     work1 suspended -> suspend
            ends work2 done 1          work2 done -> complete; suspended; > finish 143
            taken 1h                   taken over; > start work1
            ends work1 done 2          work1 done -> complete; work ended done; phase review; run review; > start review
        "#]],
    );
}

#[test]
fn suspension_ends_while_runs_are_parked() {
    check(
        &policy("work"),
        "starts work; ends work retry_later@1h; suspend hup; +2h; taken 2h; finishes work",
        expect![[r#"
            ends work retry_later@1h   work retry_later -> park 1h
            suspend hup                suspend by sighup; suspended; > finish 129
            taken 2h                   taken over; resume work; > resume work 1
        "#]],
    );
}

#[test]
fn takeover_repeats_orders() {
    check(
        &WorkflowPolicy { until_after: Some(0), ..policy("work list*< merge*<") },
        "start; items merge a; taken 1s; ends work done; taken 1s; until yes; ends merge done",
        expect![[r#"
            start                      started; iteration 1; phase work; phase list; phase merge; > list list; > list merge; run work; > start work
            items merge a              items a; run merge1; > start merge1
            taken 1s                   taken over; > list list; > start work; > start merge1
            ends work done             work done -> complete; work ended done; until; > check until
            taken 1s                   taken over; > list list; > start merge1; > check until
            until yes                  until true
            ends merge done            merge1 done -> complete; merge ended done; done; > finish 0
        "#]],
    );
}

#[test]
fn takeover_repeats_cancellation() {
    check(
        &policy("work"),
        "starts work; cancel person; taken 1s; ends work cancelled; taken 1s",
        expect![[r#"
            cancel person              cancel by person; > stop work person
            taken 1s                   taken over; > start work; > stop work person
            ends work cancelled        work cancelled -> stop; work ended cancelled; cancelled; > finish 130
            taken 1s                   taken over; > finish 130
        "#]],
    );
}

#[test]
fn takeover_repeats_resumes() {
    check_rest(
        &policy("work"),
        "start; ends work retry_later; tick",
        "taken 1s; finishes work",
        expect![[r#"
            taken 1s                   taken over; > resume work 1
        "#]],
    );
}

#[test]
fn takeover_measures_the_memory_again() {
    check(
        &policy("work"),
        "start; memory enough; taken 1s; finishes work",
        expect![[r#"
            start                      started; iteration 1; phase work; > measure
            memory enough              run work; > start work
            taken 1s                   taken over; > start work
        "#]],
    );
}

#[test]
fn cancel_during_a_suspension_cancels_suspended_runs() {
    check_rest(
        &policy("work*"),
        "start; items work a b; suspend term; ends work1 suspended 1",
        "cancel now; ends work2 cancelled; ends work1 cancelled 2",
        expect![[r#"
            cancel now                 cancel by person_now; > start work1; > stop work1 person_now; > stop work2 person_now
            ends work2 cancelled       work2 cancelled -> stop
            ends work1 cancelled 2     work1 cancelled -> stop; work ended cancelled; cancelled; > finish 130
        "#]],
    );
}
