//! Shares of the budget and of the working time.

use super::trace::{
    check, check_rest, dollars, policy, with_budget, with_first_phase, with_reaction, with_time,
    workflow_after,
};
use crate::{OutcomeKind, Reaction, Usd, WorkflowPolicy};
use expect_test::expect;

const SHARE_USED_UP: &str = "start; items work a b; ends work1 over_budget 5";

fn with_two_slots(phases: &str) -> WorkflowPolicy {
    WorkflowPolicy { parallel_max: 2, ..with_budget(phases, 10.0) }
}

#[test]
fn budget_is_divided_among_the_free_slots() {
    check(
        &with_two_slots("work*"),
        "lists work; items work a b c; ends work1 done 1; completes work2 1; finishes work3 1",
        expect![[r#"
            items work a b c           items a b c; run work1 $5.00; > start work1; run work2 $5.00; > start work2
            ends work1 done 1          work1 done -> complete; run work3 $4.00; > start work3
        "#]],
    );
}

#[test]
fn phase_budget_caps_the_share() {
    check(
        &with_first_phase(with_budget("work", 10.0), |work| work.budget = Some(dollars(2.0))),
        "start; ends work over_budget 2",
        expect![[r#"
            start                      started; iteration 1; phase work; run work $2.00; > start work
            ends work over_budget 2    work over_budget -> stop; work ended over_budget; over_budget; > finish 21
        "#]],
    );
}

#[test]
fn share_that_is_used_up_is_raised() {
    check(
        &with_two_slots("work*"),
        &format!("{SHARE_USED_UP}; ends work2 done 1; ends work1 done 8"),
        expect![[r#"
            start                      started; iteration 1; phase work; > list work
            items work a b             items a b; run work1 $5.00; > start work1; run work2 $5.00; > start work2
            ends work1 over_budget 5   work1 over_budget -> raise
            ends work2 done 1          work2 done -> complete; resume work1 $9.00; > resume work1 1
            ends work1 done 8          work1 done -> complete; work ended done; done; > finish 0
        "#]],
    );
}

#[test]
fn slightly_larger_share_is_refused() {
    check_rest(
        &with_two_slots("work*"),
        SHARE_USED_UP,
        "ends work2 done 3",
        expect![[r#"
            ends work2 done 3          work2 done -> complete; work1 refused -> stop; work ended over_budget; over_budget; > finish 21
        "#]],
    );
}

#[test]
fn refused_share_can_continue() {
    check_rest(
        &with_reaction(with_two_slots("work* review"), OutcomeKind::OverBudget, Reaction::Continue),
        SHARE_USED_UP,
        "ends work2 done 3; ends review done 1",
        expect![[r#"
            ends work2 done 3          work2 done -> complete; work1 refused -> continue; work ended over_budget; phase review; run review $2.00; > start review
            ends review done 1         review done -> complete; review ended done; partial; > finish 27
        "#]],
    );
}

#[test]
fn exhausted_budget_finishes() {
    check(
        &with_budget("plan work", 10.0),
        "start; ends plan done 10.1; reopen 20 -; finishes work 1",
        expect![[r#"
            start                      started; iteration 1; phase plan; run plan $10.00; > start plan
            ends plan done 10.1        plan done -> complete; plan ended done; phase work; over_budget; > finish 21
            reopen 20 -                reopened; phase work; run work $9.90; > start work
        "#]],
    );
}

#[test]
fn retries_share_the_budget() {
    check(
        &with_reaction(with_budget("work", 10.0), OutcomeKind::Failed, Reaction::Retry(2)),
        "start; ends work failed 4; ends work failed 4",
        expect![[r#"
            start                      started; iteration 1; phase work; run work $10.00; > start work
            ends work failed 4         work failed -> retry; run workr1 $6.00; > start workr1
            ends work failed 4         workr1 failed -> retry; run workr2 $2.00; > start workr2
        "#]],
    );
}

#[test]
fn exhausted_time_finishes() {
    check_rest(
        &with_time("plan work", 1),
        "start; +1h",
        "ends plan done; reopen - -",
        expect![[r#"
            ends plan done             plan done -> complete; plan ended done; phase work; time exhausted; out_of_time; > finish 22
            reopen - -                 reopened; phase work; time exhausted; out_of_time; > finish 22
        "#]],
    );
}

#[test]
fn time_in_which_every_run_waits_does_not_count() {
    check_rest(
        &with_time("work* review", 2),
        "start; items work a b",
        "+1h; waits work1; waits work2; +5h; works work1; +30m; ends work1 done; ends work2 done",
        expect![[r#"
            waits work1                -
            waits work2                clock stopped
            works work1                clock started
            ends work1 done            work1 done -> complete; clock stopped
            ends work2 done            work2 done -> complete; work ended done; phase review; run review 30m; > start review
        "#]],
    );
}

#[test]
fn run_that_waited_is_cancelled_at_the_limit() {
    check_rest(
        &with_time("work*", 1),
        "start; items work a b",
        "waits work2; +59m; works work2; tick; ends work1 out_of_time; ends work2 cancelled",
        expect![[r#"
            waits work2                -
            works work2                -
            tick (time 1h 1m)          time exhausted; > stop work1 person; > stop work2 person
            ends work1 out_of_time     work1 out_of_time -> stop
            ends work2 cancelled       work2 cancelled -> stop; work ended out_of_time; out_of_time; > finish 22
        "#]],
    );
}

#[test]
fn sleep_and_downtime_do_not_count() {
    check(
        &with_time("work review", 2),
        "start; +30m; sleep 8h; +30m; +3h; taken 3h; +30m; ends work done",
        expect![[r#"
            start                      started; iteration 1; phase work; run work 2h; > start work
            sleep 8h                   downtime 8h
            taken 3h                   taken over; > start work
            ends work done             work done -> complete; work ended done; phase review; run review 30m; > start review
        "#]],
    );
}

#[test]
fn cost_of_a_phase_includes_replaced_runs() {
    let policy = with_reaction(policy("work sum"), OutcomeKind::CheckFailed, Reaction::Retry(1));
    let (workflow, _) = workflow_after(
        &policy,
        "start; ends work check_failed 2; ends work done 1; ends sum check_failed 4; ends sum done 8",
    );
    let state = workflow.state();
    let costs: Vec<Usd> = state.phases.iter().map(|phase| phase.cost).collect();
    assert_eq!((costs, state.cost), (vec![dollars(3.0), dollars(12.0)], dollars(15.0)));
}

#[test]
fn cost_of_a_run_that_the_user_resumed_counts_once() {
    let policy = policy("plan work");
    let cost_after = |script: &str| workflow_after(&policy, script).0.state().cost;
    const FAILED: &str = "start; ends plan done 1; ends work failed 2";
    assert_eq!(cost_after(FAILED), dollars(3.0));
    let reopened = format!("{FAILED}; reopen-costs work 5");
    assert_eq!(cost_after(&reopened), dollars(6.0));
    assert_eq!(cost_after(&format!("{reopened}; ends work done 1")), dollars(7.0));
    assert_eq!(cost_after(&format!("{FAILED}; reopen-costs plan 4; ends work done 1")), dollars(7.0));
}
