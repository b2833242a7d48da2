//! Phases, items, iterations and the condition.

use super::trace::{check, check_rest, policy, replay, statuses, with_first_phase, workflow_after};
use crate::{ItemStatus, PhaseStatus, Span, WorkflowPolicy};
use expect_test::expect;

fn repeated(phases: &str, iterations_max: u32, until_after: usize) -> WorkflowPolicy {
    WorkflowPolicy { iterations_max, until_after: Some(until_after), ..policy(phases) }
}

#[test]
fn serial_phases_run_in_order() {
    check(
        &policy("plan work"),
        "starts plan; ends plan done 1; ends work done 2",
        expect![[r#"
            ends plan done 1           plan done -> complete; plan ended done; phase work; run work; > start work
            ends work done 2           work done -> complete; work ended done; done; > finish 0
        "#]],
    );
}

#[test]
fn independent_phases_run_together() {
    check(
        &policy("plan< docs< work<plan+docs"),
        "start; ends docs done; ends plan done; finishes work",
        expect![[r#"
            start                      started; iteration 1; phase plan; phase docs; run plan; > start plan; run docs; > start docs
            ends docs done             docs done -> complete; docs ended done
            ends plan done             plan done -> complete; plan ended done; phase work; run work; > start work
        "#]],
    );
}

#[test]
fn items_run_in_parallel_up_to_the_maximum() {
    check(
        &WorkflowPolicy { parallel_max: 2, ..policy("work*") },
        "lists work; items work a b c; ends work2 done; completes work1; finishes work3",
        expect![[r#"
            items work a b c           items a b c; run work1; > start work1; run work2; > start work2
            ends work2 done            work2 done -> complete; run work3; > start work3
        "#]],
    );
}

#[test]
fn phase_limits_its_own_runs() {
    check(
        &with_first_phase(policy("work*< docs<"), |work| work.parallel_max = 1),
        "start; items work a b; ends work1 done; ends docs done; finishes work2",
        expect![[r#"
            start                      started; iteration 1; phase work; phase docs; > list work; run docs; > start docs
            items work a b             items a b; run work1; > start work1
            ends work1 done            work1 done -> complete; run work2; > start work2
            ends docs done             docs done -> complete; docs ended done
        "#]],
    );
}

#[test]
fn items_above_the_maximum_are_deferred() {
    check(
        &with_first_phase(policy("work*"), |work| work.items_max = 1),
        "lists work; items work a b c; ends work1 done; reopen - -; items work a b c; ends work2 done",
        expect![[r#"
            items work a b c           items a, 2 deferred; run work1; > start work1
            ends work1 done            work1 done -> complete; work ended done; partial; > finish 27
            reopen - -                 reopened; phase work; > list work
            items work a b c           items a b, 1 deferred; run work2; > start work2
            ends work2 done            work2 done -> complete; work ended done; partial; > finish 27
        "#]],
    );
}

#[test]
fn reopened_phase_waits_for_its_needs_and_lists_again() {
    check_rest(
        &with_first_phase(policy("work* sum*"), |work| work.items_max = 1),
        "start; items work a b; ends work1 done; items sum x; ends sum1 failed",
        "reopen - -; items work a b; ends work2 done; items sum x y",
        expect![[r#"
            reopen - -                 reopened; phase work; > list work
            items work a b             items a b; run work2; > start work2
            ends work2 done            work2 done -> complete; work ended done; phase sum; > list sum
            items sum x y              items x y; run sum1r1; > start sum1r1; run sum2; > start sum2
        "#]],
    );
}

#[test]
fn empty_list_is_a_warning() {
    check(
        &policy("work* review"),
        "lists work; items work; finishes review",
        expect![[r#"
            items work                 items ; work ended done (no items); phase review; run review; > start review
        "#]],
    );
}

#[test]
fn failed_list_stops() {
    check(
        &policy("work* review"),
        "lists work; items work error; reopen - -; items work a",
        expect![[r#"
            items work error           work ended failed (exit 1), stops; failed; > finish 20
            reopen - -                 reopened; phase work; > list work
            items work a               items a; run work1; > start work1
        "#]],
    );
}

#[test]
fn starts_have_a_gap() {
    check(
        &WorkflowPolicy { start_gap: Span::from_secs(2), ..policy("work*") },
        "lists work; items work a b; +1s; tick; completes work1; finishes work2",
        expect![[r#"
            items work a b             items a b; run work1; > start work1
            tick (start_gap 2s)        run work2; > start work2
        "#]],
    );
}

#[test]
fn short_memory_delays_all_but_the_first_run() {
    check(
        &policy("work*"),
        "lists work; items work a b; memory short; memory short; tick; memory short; tick; memory enough; completes work1",
        expect![[r#"
            items work a b             items a b; > measure
            memory short               run work1; > start work1; > measure
            memory short               -
            tick (memory 5s)           > measure
            memory short               -
            tick (memory 10s)          > measure
            memory enough              run work2; > start work2
        "#]],
    );
}

#[test]
fn until_ends_the_workflow() {
    check(
        &repeated("work review", 3, 1),
        "starts work; ends work done; ends review done; until no; ends work done; ends review done; until yes",
        expect![[r#"
            ends work done             work done -> complete; work ended done; phase review; run review; > start review
            ends review done           review done -> complete; review ended done; until; > check until
            until no                   until false; iteration 2; phase work; run work; > start work
            ends work done             work done -> complete; work ended done; phase review; run review; > start review
            ends review done           review done -> complete; review ended done; until; > check until
            until yes                  until true; done; > finish 0
        "#]],
    );
}

#[test]
fn iterations_run_out() {
    check(
        &repeated("work", 1, 0),
        "starts work; ends work done; until no; reopen - 2; until no",
        expect![[r#"
            ends work done             work done -> complete; work ended done; until; > check until
            until no                   until false; partial; > finish 27
            reopen - 2                 reopened; until; > check until
            until no                   until false; iteration 2; phase work; run work; > start work
        "#]],
    );
}

#[test]
fn until_waits_for_live_runs_of_other_phases() {
    check(
        &repeated("work< docs<work slow<work", 2, 1),
        "starts work; ends work done; ends docs done; until yes; ends slow failed",
        expect![[r#"
            ends work done             work done -> complete; work ended done; phase docs; phase slow; run docs; > start docs; run slow; > start slow
            ends docs done             docs done -> complete; docs ended done; until; > check until
            until yes                  until true
            ends slow failed           slow failed -> continue; slow ended failed; done; > finish 0
        "#]],
    );
}

#[test]
fn until_that_cannot_be_evaluated_stops() {
    check_rest(
        &repeated("work", 2, 0),
        "start; ends work done",
        "until exit-127",
        expect![[r#"
            until exit-127             until exit-127; failed; > finish 20
        "#]],
    );
}

#[test]
fn every_iteration_takes_place_without_until() {
    check(
        &WorkflowPolicy { iterations_max: 2, ..policy("work") },
        "starts work; ends work done; finishes work",
        expect![[r#"
            ends work done             work done -> complete; work ended done; iteration 2; phase work; run work; > start work
        "#]],
    );
}

#[test]
fn from_skips_phases_of_the_first_iteration() {
    check(
        &WorkflowPolicy { iterations_max: 2, from: Some(1), ..policy("plan work") },
        "starts work; ends work done; ends plan done; finishes work",
        expect![[r#"
            ends work done             work done -> complete; work ended done; iteration 2; phase plan; run plan; > start plan
            ends plan done             plan done -> complete; plan ended done; phase work; run work; > start work
        "#]],
    );
}

#[test]
fn only_runs_one_phase() {
    check(
        &WorkflowPolicy { only: Some(1), ..repeated("plan work review", 2, 2) },
        "starts work; ends work done; until no; ends work done",
        expect![[r#"
            ends work done             work done -> complete; work ended done; until; > check until
            until no                   until false; iteration 2; phase work; run work; > start work
            ends work done             work done -> complete; work ended done; until; > check until
        "#]],
    );
}

#[test]
fn worktrees_are_merged() {
    check(
        &with_first_phase(policy("work* review"), |work| work.has_worktrees = true),
        "starts work a b; completes work1; ends work2 done; merged work; finishes review",
        expect![[r#"
            ends work2 done            work2 done -> complete; merge work; > merge work
            merged work                work ended done; phase review; run review; > start review
        "#]],
    );
}

#[test]
fn finished_items_are_merged_when_the_condition_holds() {
    let mut policy = WorkflowPolicy { until_after: Some(1), parallel_max: 2, ..policy("work* check") };
    policy.phases[0].has_worktrees = true;
    policy.phases[1].needs.clear();
    check_rest(
        &policy,
        "start; items work a b c",
        "ends check done; until yes; ends work1 done; merged work",
        expect![[r#"
            ends check done            check done -> complete; check ended done; until; > check until
            until yes                  until true
            ends work1 done            work1 done -> complete; merge work; > merge work
            merged work                work ended partial; done; > finish 0
        "#]],
    );
    // A suspended workflow merges once it continues.
    check_rest(
        &policy,
        "start; items work a b c; ends check done; until yes",
        "suspend term; ends work1 done; taken 1m",
        expect![[r#"
            suspend term               suspend by sigterm; > stop work1 sigterm
            ends work1 done            work1 done -> complete; suspended; > finish 143
            taken 1m                   taken over; merge work; > merge work
        "#]],
    );
}

#[test]
fn conflicts_need_a_person() {
    check_rest(
        &with_first_phase(policy("work* review"), |work| work.has_worktrees = true),
        "start; items work a; ends work1 done",
        "merged work conflict; reopen - -; merged work",
        expect![[r#"
            merged work conflict       work ended needs_person (conflict), stops; needs_person; > finish 23
            reopen - -                 reopened; phase work; merge work; > merge work
            merged work                work ended done; phase review; run review; > start review
        "#]],
    );
}

#[test]
fn state_describes_phases_and_items() {
    let policy = WorkflowPolicy { from: Some(1), parallel_max: 1, ..policy("plan work* review") };
    let (workflow, journal) = workflow_after(&policy, "start; items work a b");
    let status = |phase| workflow.state().phase_status(&policy, phase);
    assert_eq!(
        [status(0), status(1), status(2)],
        [PhaseStatus::Skipped, PhaseStatus::Running, PhaseStatus::Pending]
    );
    assert_eq!(statuses(&workflow, 1), [ItemStatus::Live, ItemStatus::Pending]);
    assert_eq!(replay(&journal).state(), workflow.state());
}

#[test]
fn skipped_phase_keeps_the_order_of_the_others() {
    check(
        &WorkflowPolicy { skipped: vec![1], ..policy("build polish publish") },
        "starts build; ends build done; ends publish done",
        expect![[r#"
            ends build done            build done -> complete; build ended done; phase publish; run publish; > start publish
            ends publish done          publish done -> complete; publish ended done; done; > finish 0
        "#]],
    );
}
