//! Server and network faults: waits, parks, and their limits.

use super::trace::{check_built_run, check_rest_with, check_run, check_run_with, plain, records_of, replay};
use crate::{Limits, OutageBound, Policy, Span, WaitBound};
use expect_test::expect;

#[test]
fn finishes_successful_run() {
    check_run(
        "working; works; ends ok; idle; exit 0",
        expect![[r#"
            ends ok          -
            idle             input closed; > close input
            exit 0           ok -> done; > sweep; done; > finish 0
        "#]],
    );
}

#[test]
fn waits_out_faults_of_api_and_network() {
    let rows =
        [("529", "overloaded"), ("429", "rate_limited"), ("500", "server_error"), ("network", "network")];
    for (result, fault) in rows {
        let attempt = format!("2 resume s1, continue ({fault})");
        check_built_run(
            &format!("working; ends {result}; idle; exit 1; tick"),
            &[
                format!("ends {result:<11} -"),
                "idle             input closed; > close input".to_owned(),
                format!("exit 1           {fault} -> wait_out in 2s: {attempt}; > sweep"),
                format!("tick             attempt {attempt}; > spawn 2"),
            ],
        );
    }
}

#[test]
fn caps_waits_early_in_overload() {
    check_run(
        "working; fails 529; retry; fails 529; retry; fails 529; retry; fails 529; retry; fails 529; +3m; spawn; tick; spawn; fails 529",
        expect![[r#"
            fails 529        overloaded -> wait_out in 2s: 2 resume s1, continue (overloaded); > sweep
            fails 529        overloaded -> wait_out in 4s: 3 resume s1, continue (overloaded); > sweep
            fails 529        overloaded -> wait_out in 8s: 4 resume s1, continue (overloaded); > sweep
            fails 529        overloaded -> wait_out in 15s: 5 resume s1, continue (overloaded); > sweep
            fails 529        overloaded -> wait_out in 15s: 6 resume s1, continue (overloaded); > sweep
            spawn            -
            tick             attempt 6 resume s1, continue (overloaded); > spawn 6
            spawn            spawned 7
            fails 529        overloaded -> wait_out in 1m 4s: 7 resume s1, continue (overloaded); > sweep
        "#]],
    );
}

#[test]
fn waits_out_captive_portal_for_ten_minutes() {
    check_run(
        "working; fails portal; retry; fails portal; retry; +10m; fails portal",
        expect![[r#"
            fails portal     network -> wait_out in 2s: 2 resume s1, continue (network); > sweep
            fails portal     network -> wait_out in 4s: 3 resume s1, continue (network); > sweep
            fails portal     network -> needs_person by network; > sweep; needs_person by network; > finish 23
        "#]],
    );
}

#[test]
fn parks_until_usage_window_resets() {
    check_run(
        "working; limit until +2h; ends 429; idle; exit 1; retry",
        expect![[r#"
            limit until +2h  -
            ends 429         -
            idle             input closed; > close input
            exit 1           usage_limit -> park in 2h: 2 resume s1, continue (usage_limit); > sweep
        "#]],
    );
    check_run(
        "working; fails usage; tick",
        expect![[r#"
            fails usage      usage_limit -> park in 37s: 2 resume s1, continue (usage_limit); > sweep
            tick             attempt 2 resume s1, continue (usage_limit); > spawn 2
        "#]],
    );
}

#[test]
fn finishes_if_reset_exceeds_max_wait() {
    check_run_with(
        &Policy { max_reset_wait: Some(Span::from_hours(1)), ..plain() },
        "working; limit until +2h; fails 429",
        expect![[r#"
            limit until +2h  -
            fails 429        usage_limit -> retry_later by usage_limit in 2h; > sweep; retry_later by usage_limit in 2h; > finish 75
        "#]],
    );
}

#[test]
fn never_waits_over_eight_days_for_reset() {
    check_run(
        "working; limit until +200h; fails 429",
        expect![[r#"
            limit until +200h -
            fails 429        usage_limit -> retry_later by usage_limit in 8d 8h; > sweep; retry_later by usage_limit in 8d 8h; > finish 75
        "#]],
    );
}

#[test]
fn implausible_reset_is_unknown() {
    check_run(
        "working; limit until +1000000h; fails 429",
        expect![[r#"
            limit until +1000000h -
            fails 429        usage_limit -> park in 37s: 2 resume s1, continue (usage_limit); > sweep
        "#]],
    );
}

fn bounded(outage: Span) -> Policy {
    Policy { outage_bound: OutageBound::Time(Some(outage)), ..plain() }
}

#[test]
fn outage_ends_at_its_limit() {
    check_run_with(
        &bounded(Span::from_mins(10)),
        "working; fails 500; retry; +9m; fails 500; retry; +58s; fails 500",
        expect![[r#"
            fails 500        server_error -> wait_out in 2s: 2 resume s1, continue (server_error); > sweep
            fails 500        server_error -> wait_out in 4s: 3 resume s1, continue (server_error); > sweep
            fails 500        server_error -> retry_later by server_error in 8s; > sweep; retry_later by server_error in 8s; > finish 75
        "#]],
    );
}

#[test]
fn retry_later_has_its_bound() {
    let check = |policy: Policy, trace: &str, expected: Option<WaitBound>| {
        let run = replay(&records_of(&policy, &format!("start; spawn; open; exchange; {trace}")));
        assert_eq!(WaitBound::from_state(run.state(), &policy), expected, "{trace}");
    };
    let (short, hour) = (Span::from_secs(5), Span::from_hours(1));
    let walled = |policy: Policy| {
        policy.with(|policy| policy.limits = Limits::default().with(|limits| limits.wall = Some(short)))
    };
    let parking = Policy { max_reset_wait: Some(hour), ..plain() };
    let retrying = Policy { outage_bound: OutageBound::Retries, retries_max: 1, ..plain() };
    check(bounded(short), "fails 500; tick; spawn; fails 500", Some(WaitBound::Outage(short)));
    // The sweep of leftover processes takes time.
    let second = Span::from_secs(1);
    check(bounded(second), "ends 500; exit 1; sweeping; +9s; swept 1", Some(WaitBound::Outage(second)));
    check(retrying, "fails 500; tick; spawn; fails 500", Some(WaitBound::Retries(1)));
    check(walled(plain()), "fails 500; tick; spawn; fails 500", Some(WaitBound::Wall(short)));
    check(parking.clone(), "limit until +2h; fails 429", Some(WaitBound::Reset(hour)));
    check(walled(parking.clone()), "limit until +2h; fails 429", Some(WaitBound::Reset(hour)));
    check(walled(parking.clone()), "limit until +1h; fails 429", Some(WaitBound::Wall(short)));
    let together = Policy { max_reset_wait: Some(Span::from_secs(80)), ..plain() };
    check(together, "fails usage; tick; spawn; fails usage", Some(WaitBound::Reset(Span::from_secs(80))));
    check(parking, "fails usage", None);
    check(plain(), "fails 401", None);
}

#[test]
fn progress_ends_outage() {
    check_rest_with(
        &bounded(Span::from_mins(10)),
        "working; fails 500; retry",
        "+9m; works; +9m; fails 500",
        expect![[r#"
            fails 500        server_error -> wait_out in 2s: 3 resume s1, continue (server_error); > sweep
        "#]],
    );
}

#[test]
fn ignores_errors_that_agent_retries() {
    check_run(
        "working; retrying 1 529; retrying 2 529; limit until +1h; works; completes",
        expect![[r#"
            retrying 1 529   -
            retrying 2 529   -
            limit until +1h  -
            completes        ok -> done; > sweep; done; > finish 0
        "#]],
    );
}

#[test]
fn outage_is_over_after_a_usage_limit_and_does_not_grow_in_sleep() {
    let bounded = bounded(Span::from_hours(6));
    check_run_with(
        &bounded,
        "working; fails 529; retry; limit until +7h; fails 429; tick; resumed; fails 529",
        expect![[r#"
            fails 529        overloaded -> wait_out in 2s: 2 resume s1, continue (overloaded); > sweep
            limit until +7h  -
            fails 429        usage_limit -> park in 7h: 3 resume s1, continue (usage_limit); > sweep
            tick             attempt 3 resume s1, continue (usage_limit); > spawn 3
            fails 529        overloaded -> wait_out in 4s: 4 resume s1, continue (overloaded); > sweep
        "#]],
    );
    check_run_with(
        &bounded,
        "working; fails 529; sleep 8h; retry; fails 529",
        expect![[r#"
        fails 529        overloaded -> wait_out in 2s: 2 resume s1, continue (overloaded); > sweep
        sleep 8h         downtime 8h
        fails 529        overloaded -> wait_out in 4s: 3 resume s1, continue (overloaded); > sweep
    "#]],
    );
}

#[test]
fn usage_limit_without_a_reset_is_waited_for_as_long_as_one_with_a_reset() {
    let impatient = Policy { max_reset_wait: Some(Span::from_mins(10)), ..plain() };
    check_run_with(
        &impatient,
        "working; fails usage; retry; +4m; fails usage; retry; +4m; fails usage",
        expect![[r#"
            fails usage      usage_limit -> park in 37s: 2 resume s1, continue (usage_limit); > sweep
            fails usage      usage_limit -> park in 54s: 3 resume s1, continue (usage_limit); > sweep
            fails usage      usage_limit -> retry_later by usage_limit in 1m 50s; > sweep; retry_later by usage_limit in 1m 50s; > finish 75
        "#]],
    );
}
