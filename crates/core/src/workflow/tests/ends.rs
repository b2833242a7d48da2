//! Reactions to outcomes, and reopening.

use super::trace::{
    check, check_rest, dollars, policy, replay, with_first_phase, with_reaction, workflow_after,
};
use crate::{OutcomeKind, PhaseStatus, Reaction, WorkflowPolicy, WorkflowRecord};
use expect_test::expect;

const FAILED: &str = "start; items work a b; ends work1 failed; ends work2 done";

#[test]
fn failed_run_stops_after_the_live_runs() {
    check(
        &policy("work*"),
        "starts work a b; ends work1 failed 1; ends work2 needs_person 1",
        expect![[r#"
            ends work1 failed 1        work1 failed -> stop
            ends work2 needs_person 1  work2 needs_person -> stop; work ended failed; failed; > finish 20
        "#]],
    );
}

#[test]
fn no_run_starts_after_a_failure() {
    check(
        &WorkflowPolicy { parallel_max: 1, ..policy("work* review") },
        "lists work; items work a b; ends work1 failed",
        expect![[r#"
            items work a b             items a b; run work1; > start work1
            ends work1 failed          work1 failed -> stop; failed; > finish 20
        "#]],
    );
}

#[test]
fn continue_leads_to_partial() {
    check(
        &with_reaction(policy("work* review"), OutcomeKind::Failed, Reaction::Continue),
        "starts work a b; ends work1 failed; ends work2 done; ends review done",
        expect![[r#"
            ends work1 failed          work1 failed -> continue
            ends work2 done            work2 done -> complete; work ended failed; phase review; run review; > start review
            ends review done           review done -> complete; review ended done; partial; > finish 27
        "#]],
    );
}

#[test]
fn retry_starts_a_new_run() {
    check(
        &with_reaction(policy("work"), OutcomeKind::CheckFailed, Reaction::Retry(1)),
        "starts work; ends work check_failed 1; ends work check_failed 1",
        expect![[r#"
            ends work check_failed 1   work check_failed -> retry; run workr1; > start workr1
            ends work check_failed 1   workr1 check_failed -> stop; work ended check_failed; check_failed; > finish 24
        "#]],
    );
}

#[test]
fn reopening_repeats_failed_items() {
    check_rest(
        &policy("work* review"),
        FAILED,
        "reopen - -; ends work1 done; finishes review",
        expect![[r#"
            reopen - -                 reopened; phase work; run work1r1; > start work1r1
            ends work1 done            work1r1 done -> complete; work ended done; phase review; run review; > start review
        "#]],
    );
}

#[test]
fn reopening_keeps_a_run_that_the_user_continued() {
    check_rest(
        &policy("work* review"),
        FAILED,
        "reopen - - work1; ends work1 done",
        expect![[r#"
            reopen - - work1           reopened; phase work; resume work1; > resume work1 1
            ends work1 done            work1 done -> complete; work ended done; phase review; run review; > start review
        "#]],
    );
    // Its limit does not matter any more.
    check(
        &with_first_phase(policy("work"), |work| work.budget = Some(dollars(1.0))),
        "start; ends work over_budget 1; reopen - - work; finishes work 2",
        expect![[r#"
            start                      started; iteration 1; phase work; run work $1.00; > start work
            ends work over_budget 1    work over_budget -> stop; work ended over_budget; over_budget; > finish 21
            reopen - - work            reopened; phase work; resume work $1.00; > resume work 1
        "#]],
    );
}

#[test]
fn reopening_resumes_cancelled_runs() {
    check(
        &policy("work"),
        "starts work; cancel person; ends work cancelled 1; reopen - -; finishes work 2",
        expect![[r#"
            cancel person              cancel by person; > stop work person
            ends work cancelled 1      work cancelled -> stop; work ended cancelled; cancelled; > finish 130
            reopen - -                 reopened; phase work; resume work; > resume work 1
        "#]],
    );
}

#[test]
fn run_suspended_by_others_does_not_suspend_the_workflow() {
    check(
        &policy("work"),
        "starts work; ends work suspended",
        expect![[r#"
            ends work suspended        work suspended -> stop; work ended suspended; incomplete; > finish 26
        "#]],
    );
}

#[test]
fn events_of_other_runs_are_ignored() {
    check(
        &policy("work"),
        "starts work; finishes work; items work a; merged work; until yes; memory enough; start",
        expect![[r#"
            items work a               -
            merged work                -
            until yes                  -
            memory enough              -
            start                      -
        "#]],
    );
}

#[test]
fn reopening_repeats_phases_that_ran_before_one_that_they_need() {
    let continues = |phases| with_reaction(policy(phases), OutcomeKind::CheckFailed, Reaction::Continue);
    check_rest(
        &continues("translate* compare note< sum<compare"),
        "start; items translate a b; ends translate1 done; ends translate2 check_failed; ends compare done; ends note done; ends sum done",
        "reopen - -; ends translate2 done; ends compare done; ends sum done",
        expect![[r#"
            reopen - -                 reopened; phase translate; run translate2r1; > start translate2r1
            ends translate2 done       translate2r1 done -> complete; translate ended done; phase compare; run comparer1; > start comparer1
            ends compare done          comparer1 done -> complete; compare ended done; phase sum; run sumr1; > start sumr1
            ends sum done              sumr1 done -> complete; sum ended done; done; > finish 0
        "#]],
    );
    // Items of a list run again too, and a skipped phase hides nothing.
    check_rest(
        &WorkflowPolicy { skipped: vec![1], ..continues("plan polish work*") },
        "start; ends plan check_failed; items work a b; ends work1 done; ends work2 done",
        "reopen - -; ends plan done; items work a c; ends work1 done; ends work2 done",
        expect![[r#"
            reopen - -                 reopened; phase plan; run planr1; > start planr1
            ends plan done             planr1 done -> complete; plan ended done; phase work; > list work
            items work a c             items a c; run work1r1; > start work1r1; run work2r2; > start work2r2
            ends work1 done            work1r1 done -> complete
            ends work2 done            work2r2 done -> complete; work ended done; done; > finish 0
        "#]],
    );
}

#[test]
fn reopening_repeats_phases_that_ran_before_deferred_items() {
    let mut policy = policy("work* sum");
    policy.phases[0].items_max = 1;
    check_rest(
        &policy,
        "start; items work a b; ends work1 done; ends sum done",
        "reopen - -; items work a b; ends work2 done; ends sum done",
        expect![[r#"
            reopen - -                 reopened; phase work; > list work
            items work a b             items a b; run work2; > start work2
            ends work2 done            work2 done -> complete; work ended done; phase sum; run sumr1; > start sumr1
            ends sum done              sumr1 done -> complete; sum ended done; done; > finish 0
        "#]],
    );
}

#[test]
fn journal_of_an_older_version_repeats_no_phase() {
    let policy = with_reaction(policy("work sum"), OutcomeKind::Failed, Reaction::Continue);
    let (_, mut journal) = workflow_after(&policy, "start; ends work failed; ends sum done; reopen - -");
    for (_, record) in &mut journal {
        if let WorkflowRecord::WorkflowReopened { repeated, .. } = record {
            assert_eq!(*repeated, [1]);
            repeated.clear();
        }
    }
    let workflow = replay(&journal);
    assert_eq!(workflow.state().phase_status(&policy, 1), PhaseStatus::Ended);
}
