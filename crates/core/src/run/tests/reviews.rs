//! Reviews: a model reads the work as the last part of a check.

use super::trace::{check_rest_with, check_rest_with_both, plain, prompt_text, records_of, replay};
use crate::{
    Checks, Limits, Moment, OutageBound, Outcome, Policy, Record, Review, Span, Usd, Verified, WaitBound,
};
use expect_test::{Expect, expect};

fn reviewed() -> Policy {
    let checks = Checks { review: Some(Review::new(None)), failures_max: 2, ..Checks::new(Vec::new()) };
    Policy { checks: Some(checks), ..plain() }
}

const DONE: &str = "start; spawn; open; exchange; bill 9; ends ok; idle; exit 0";

fn check(then: &str, expected: Expect) {
    check_with(&reviewed(), then, expected);
}

fn check_with(policy: &Policy, then: &str, expected: Expect) {
    check_rest_with(policy, &format!("{DONE}; swept"), then, expected);
}

#[test]
fn reviews_after_commands() {
    check_rest_with(
        &reviewed(),
        DONE,
        "swept; review passes",
        expect![[r#"
        swept            swept 0; check started; review started; > review 1 of check 1
        review passes    review passed for 5 of 14; check passed; done; > finish 0
    "#]],
    );
    let mut policy = reviewed();
    policy.checks.as_mut().expect("the policy has checks").commands.push("true".to_owned());
    check_rest_with(
        &policy,
        DONE,
        "swept; check passes; review passes",
        expect![[r#"
        swept            swept 0; check started; > check 1
        check passes     review started after commands; > review 1 of check 1
        review passes    review passed for 5 of 14; check passed; done; > finish 0
    "#]],
    );
    // Work that fails its commands is not reviewed.
    check_rest_with(
        &policy,
        DONE,
        "swept; check fails",
        expect![[r#"
        swept            swept 0; check started; > check 1
        check fails      check failed; attempt 2 resume s1, check 1 failed; > spawn 2
    "#]],
    );
}

#[test]
fn findings_go_to_the_agent_within_the_bound() {
    check(
        "review finds 2; resumed; completes; review finds 1",
        expect![[r#"
            review finds 2   review found 2 for 5 of 14; check failed; attempt 2 resume s1, check 1 failed; > spawn 2
            completes        ok -> check; > sweep; check started; review started; > review 2 of check 2
            review finds 1   review found 1 for 5 of 19; check failed; check_failed; > finish 24
        "#]],
    );
    // An answer that contradicts itself does not pass, and neither does one without a finding.
    check(
        "review contradicts",
        expect![[r#"
        review contradicts review found 1 for 5 of 14; check failed; attempt 2 resume s1, check 1 failed; > spawn 2
    "#]],
    );
    check(
        "review finds 0",
        expect![[r#"
        review finds 0   review found 0 for 5 of 14; check failed; attempt 2 resume s1, check 1 failed; > spawn 2
    "#]],
    );
    // A reviewer that was not allowed to read a file has a verdict.
    check(
        "review denied",
        expect![[r#"
        review denied    review passed for 5 of 14; check passed; done; > finish 0
    "#]],
    );
}

#[test]
fn retries_reviewer_without_verdict() {
    check(
        "review killed; review again; review ok; review again; review killed",
        expect![[r#"
        review killed    no verdict (interrupted) for 5 of 14, again in 2s
        review ok        no verdict (unfinished) for 5 of 19, again in 4s
        review killed    no verdict (interrupted) for 5 of 24; check failed; check_failed by interrupted; > finish 24
    "#]],
    );
    check(
        "review 529; review again; review killed; review again; review 529; review again; review passes",
        expect![[r#"
        review 529       no verdict (overloaded) for 5 of 14, again in 2s
        review killed    no verdict (interrupted) for 5 of 19, again in 2s
        review 529       no verdict (overloaded) for 5 of 24, again in 4s
        review passes    review passed for 5 of 29; check passed; done; > finish 0
    "#]],
    );
    check(
        "review invalid; tick; review passes",
        expect![[r#"
            review invalid   no verdict (invalid_result) for 5 of 14, again in 2s
            tick             review started; > review 2 of check 1
            review passes    review passed for 5 of 19; check passed; done; > finish 0
        "#]],
    );
    // These faults would repeat.
    check(
        "review 401",
        expect![[r#"
        review 401       no verdict (auth) for 5 of 14; check failed; needs_person by auth; > finish 23
    "#]],
    );
    check(
        "review full",
        expect![[r#"
        review full      no verdict (context_full) for 5 of 14; check failed; check_failed by context_full; > finish 24
    "#]],
    );
    check(
        "review missing",
        expect![[r#"
        review missing   no verdict (agent_missing) for 0 of 9; check failed; check_failed by agent_missing; > finish 24
    "#]],
    );
}

#[test]
fn resumed_run_without_verdict_names_no_failure() {
    let prompts = [("review full", "nudge to answer"), ("review finds 1", "check 1 failed")];
    for (review, prompt) in prompts {
        let checks = Checks { review: Some(Review::new(None)), failures_max: 1, ..Checks::new(Vec::new()) };
        let policy = Policy { checks: Some(checks), ..plain() };
        let records = records_of(&policy, &format!("{DONE}; swept; {review}; reopen"));
        let started = records.iter().rev().find_map(|(_, record)| match record {
            Record::AttemptStarted { plan } => Some(prompt_text(plan.prompt)),
            _ => None,
        });
        assert_eq!(started.as_deref(), Some(prompt), "{review}");
    }
}

#[test]
fn outage_bounds_apply_to_reviews() {
    let brief = OutageBound::Time(Some(Span::from_secs(5)));
    check_rest_with_both(
        &[
            Policy { outage_bound: brief, ..reviewed() },
            Policy { outage_bound: OutageBound::Retries, retries_max: 1, ..reviewed() },
        ],
        &format!("{DONE}; swept"),
        "review 529; review again; review 529",
        expect![[r#"
            review 529       no verdict (overloaded) for 5 of 14, again in 2s
            review 529       no verdict (overloaded) for 5 of 19; check failed; retry_later by overloaded in 4s; > finish 75
        "#]],
    );
}

#[test]
fn reviewer_that_stops_waiting_has_its_bound() {
    let check = |policy: Policy, reviews: &str, bound: WaitBound| {
        let run = replay(&records_of(&policy, &format!("{DONE}; swept; {reviews}")));
        assert_eq!(WaitBound::from_state(run.state(), &policy), Some(bound), "{reviews}");
    };
    let (second, short, hour) = (Span::from_secs(1), Span::from_secs(5), Span::from_hours(1));
    let walled = Limits::default().with(|limits| limits.wall = Some(second));
    let outage = |bound| Policy { outage_bound: bound, retries_max: 1, ..reviewed() };
    let twice = "review 529; review again; review 529";
    check(outage(OutageBound::Time(Some(short))), twice, WaitBound::Outage(short));
    check(outage(OutageBound::Retries), twice, WaitBound::Retries(1));
    check(Policy { limits: walled, ..reviewed() }, "review 529", WaitBound::Wall(second));
    check(Policy { max_reset_wait: Some(hour), ..reviewed() }, "review usage +2h", WaitBound::Reset(hour));
}

#[test]
fn review_waits_for_the_reset_of_a_usage_limit() {
    check(
        "review usage +2h; review again; review passes",
        expect![[r#"
        review usage +2h no verdict (usage_limit) for 5 of 14, again in 2h
        review passes    review passed for 5 of 19; check passed; done; > finish 0
    "#]],
    );
    check(
        "review usage",
        expect![[r#"
            review usage     no verdict (usage_limit) for 5 of 14, again in 36s
        "#]],
    );
    // An outage after it has its own bound.
    check_with(
        &Policy { outage_bound: OutageBound::Time(Some(Span::from_hours(6))), ..reviewed() },
        "review 529; review again; review usage +7h; review again; review 529",
        expect![[r#"
            review 529       no verdict (overloaded) for 5 of 14, again in 2s
            review usage +7h no verdict (usage_limit) for 5 of 19, again in 7h
            review 529       no verdict (overloaded) for 5 of 24, again in 2s
        "#]],
    );
    check_with(
        &Policy { max_reset_wait: Some(Span::from_secs(45)), ..reviewed() },
        "review usage; review again; review usage",
        expect![[r#"
            review usage     no verdict (usage_limit) for 5 of 14, again in 36s
            review usage     no verdict (usage_limit) for 5 of 19; check failed; retry_later by usage_limit in 52s; > finish 75
        "#]],
    );
    let hour = Some(Span::from_hours(1));
    check_rest_with_both(
        &[
            Policy { max_reset_wait: hour, ..reviewed() },
            Policy { limits: Limits { wall: hour, ..Limits::default() }, ..reviewed() },
        ],
        &format!("{DONE}; swept"),
        "review usage +2h",
        expect![[r#"
            review usage +2h no verdict (usage_limit) for 5 of 14; check failed; retry_later by usage_limit in 2h; > finish 75
        "#]],
    );
}

#[test]
fn hanging_reviewer_is_stopped() {
    check(
        "tick; review killed; review again",
        expect![[r#"
        tick             stop check (timed_out); > stop check
        review killed    no verdict (attempt_timeout) for 5 of 14, again in 2s
    "#]],
    );
    // A verdict that arrives just before the stop counts.
    check(
        "+9m; sleep 1h; +59s; tick; review passes",
        expect![[r#"
        sleep 1h         downtime 1h
        tick             stop check (timed_out); > stop check
        review passes    review passed for 5 of 14; check passed; done; > finish 0
    "#]],
    );
}

#[test]
fn limits_bound_reviews() {
    let limited = |limits| Policy { limits, ..reviewed() };
    let time = limited(Limits { time: Some(Span::from_mins(5)), ..Limits::default() });
    check_with(
        &time,
        "tick; review killed",
        expect![[r#"
        tick             limit time: exhausted; stop check (limit_reached); > stop check
        review killed    no verdict (interrupted) for 5 of 14; check stopped; out_of_time by limit of time; > finish 22
    "#]],
    );
    // The attempt used 9 micro-dollars, and a reviewer uses 5.
    let budget = |usd| limited(Limits { budget: Some(Usd(usd)), ..Limits::default() });
    check_with(
        &budget(14),
        "review killed",
        expect![[r#"
        review killed    no verdict (interrupted) for 5 of 14; limit budget: exhausted; check stopped; over_budget by limit of budget; > finish 21
    "#]],
    );
    check_with(
        &budget(14),
        "review finds 1",
        expect![[r#"
        review finds 1   review found 1 for 5 of 14; limit budget: exhausted; check failed; over_budget by limit of budget; > finish 21
    "#]],
    );
    check_with(
        &budget(14),
        "review passes",
        expect![[r#"
        review passes    review passed for 5 of 14; limit budget: exhausted; check passed; done; > finish 0
    "#]],
    );
    check_rest_with(
        &budget(9),
        DONE,
        "swept",
        expect![[r#"
        swept            swept 0; check started; limit budget: exhausted; check stopped; over_budget by limit of budget; > finish 21
    "#]],
    );
}

#[test]
fn cancel_stops_review() {
    check(
        "cancel person; review killed",
        expect![[r#"
        cancel person    cancel by person; stop check (cancelled); > stop check
        review killed    no verdict (interrupted) for 5 of 14; check stopped; cancelled; > finish 130
    "#]],
    );
    check(
        "cancel person; review passes",
        expect![[r#"
        cancel person    cancel by person; stop check (cancelled); > stop check
        review passes    review passed for 5 of 14; check passed; done; > finish 0
    "#]],
    );
    check(
        "review 529; cancel person",
        expect![[r#"
        review 529       no verdict (overloaded) for 5 of 14, again in 2s
        cancel person    cancel by person; check stopped; cancelled; > finish 130
    "#]],
    );
}

#[test]
fn suspended_review_starts_again() {
    check(
        "cancel term; review killed; recover never; review again; review passes",
        expect![[r#"
        cancel term      suspend by sigterm; stop check (suspended); > stop check
        review killed    no verdict (interrupted) for 5 of 14, again in 0s; suspended; > finish 143
        recover never    recovered (suspended)
        review passes    review passed for 5 of 19; check passed; done; > finish 0
    "#]],
    );
    check(
        "cancel term; review finds 1",
        expect![[r#"
        cancel term      suspend by sigterm; stop check (suspended); > stop check
        review finds 1   review found 1 for 5 of 14; check failed; attempt 2 resume s1, check 1 failed; suspended; > finish 143
    "#]],
    );
    check(
        "review 529; cancel term; recover never; review again",
        expect![[r#"
        review 529       no verdict (overloaded) for 5 of 14, again in 2s
        cancel term      suspend by sigterm; suspended; > finish 143
        recover never    recovered (suspended)
    "#]],
    );
}

#[test]
fn new_supervisor_uses_the_verdict_or_starts_again() {
    check(
        "recover review killed; review again; review passes",
        expect![[r#"
            recover review killed recovered (checking); no verdict (interrupted) for 5 of 14, again in 0s
            review passes    review passed for 5 of 19; check passed; done; > finish 0
        "#]],
    );
    check(
        "recover review finds 1; spawn",
        expect![[r#"
        recover review finds 1 recovered (checking); review found 1 for 5 of 14; check failed; attempt 2 resume s1, check 1 failed; > spawn 2
        spawn            spawned 7
    "#]],
    );
    check(
        "recover never; review again",
        expect![[r#"
            recover never    recovered (checking); no verdict (interrupted) for 0 of 9, again in 0s
        "#]],
    );
    // The usage is recorded only once.
    check(
        "review 529; recover review killed; review again",
        expect![[r#"
        review 529       no verdict (overloaded) for 5 of 14, again in 2s
        recover review killed recovered (waiting)
    "#]],
    );
}

#[test]
fn only_a_check_that_passed_verifies_the_work() {
    let verified = |rest: &str| {
        let mut run = replay(&records_of(&reviewed(), &format!("{DONE}; swept; {rest}")));
        // A resume may switch the review off.
        run.apply(Moment(0), &Record::RunFinished { outcome: Outcome::DONE });
        run.state().verified()
    };
    assert_eq!(verified("review passes"), Verified::Review);
    assert_eq!(verified("review finds 1"), Verified::None);
}
