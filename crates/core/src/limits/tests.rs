use super::{Limit, LimitThreshold, LimitUsage, Limits, Remaining, WrapUp};
use crate::{Span, Usd};

const WRAP_UP: Option<WrapUp> = Some(WrapUp { reserve: None });

#[test]
fn each_limit_has_a_reserve() {
    let check = |limits: Limits, used: LimitUsage, expected: Option<(Limit, LimitThreshold)>| {
        assert_eq!(limits.reached(WRAP_UP, &used), expected, "{limits:?} {used:?}");
    };
    let (reserve, exhausted) = (LimitThreshold::Reserve, LimitThreshold::Exhausted);

    let money = |limit: u64, used: u64, largest: u64, threshold: Option<LimitThreshold>| {
        let used = LimitUsage { cost: Usd(used), largest_turn_cost: Usd(largest), ..LimitUsage::default() };
        let limits = Limits { budget: Some(Usd(limit)), ..Limits::default() };
        check(limits, used, threshold.map(|threshold| (Limit::Budget, threshold)));
    };
    // Five cents, or the cost of the largest recent turn, but never more than half.
    money(1_000_000, 949_999, 0, None);
    money(1_000_000, 950_000, 0, Some(reserve));
    money(1_000_000, 700_000, 300_000, Some(reserve));
    money(1_000_000, 499_999, 900_000, None);
    money(1_000_000, 1_000_000, 0, Some(exhausted));
    money(60_000, 29_999, 0, None);
    money(60_000, 30_000, 0, Some(reserve));

    let tokens = |used: u64, largest: u64, threshold: Option<LimitThreshold>| {
        let used = LimitUsage { tokens: used, largest_turn_tokens: largest, ..LimitUsage::default() };
        let limits = Limits { tokens: Some(10_000), ..Limits::default() };
        check(limits, used, threshold.map(|threshold| (Limit::Tokens, threshold)));
    };
    tokens(9_999, 0, None);
    tokens(6_999, 1_000, None);
    tokens(7_000, 1_000, Some(reserve));
    tokens(10_000, 0, Some(exhausted));

    let time = |limit: Span, used: Span, threshold: Option<LimitThreshold>| {
        let limits = Limits { time: Some(limit), ..Limits::default() };
        let expected = threshold.map(|threshold| (Limit::Time, threshold));
        check(limits, LimitUsage { time: used, ..LimitUsage::default() }, expected);
        let limits = Limits { wall: Some(limit), ..Limits::default() };
        let expected = threshold.map(|threshold| (Limit::Wall, threshold));
        check(limits, LimitUsage { wall: used, ..LimitUsage::default() }, expected);
    };
    // A tenth, from 30 s to 5 min, and at most half.
    time(Span::from_mins(10), Span::from_mins(9) - Span(1), None);
    time(Span::from_mins(10), Span::from_mins(9), Some(reserve));
    time(Span::from_hours(24), Span::from_hours(24) - Span::from_mins(5), Some(reserve));
    time(Span::from_hours(24), Span::from_hours(24) - Span::from_secs(301), None);
    time(Span::from_mins(2), Span::from_secs(90), Some(reserve));
    time(Span::from_secs(20), Span::from_secs(10), Some(reserve));
    time(Span::from_secs(20), Span::from_secs(9), None);
    time(Span::from_secs(20), Span::from_secs(20), Some(exhausted));

    let turns = |limit: u32, used: u32, threshold: Option<LimitThreshold>| {
        let limits = Limits { turns: Some(limit), ..Limits::default() };
        check(
            limits,
            LimitUsage { turns: used, ..LimitUsage::default() },
            threshold.map(|threshold| (Limit::Turns, threshold)),
        );
    };
    turns(50, 46, None);
    turns(50, 47, Some(reserve));
    turns(3, 1, None);
    turns(3, 2, Some(reserve));
    // A single turn has no reserve.
    turns(1, 0, None);
    turns(1, 1, Some(exhausted));
}

#[test]
fn limit_has_no_reserve_without_wrap_up() {
    let limits = Limits { budget: Some(Usd(100)), time: Some(Span(100)), ..Limits::default() };
    let used = |used: u64| LimitUsage { cost: Usd(used), time: Span(used), ..LimitUsage::default() };
    assert_eq!(limits.reached(None, &used(99)), None);
    assert_eq!(limits.reached(None, &used(100)), Some((Limit::Budget, LimitThreshold::Exhausted)));
    // A configured reserve.
    let wrap_up = Some(WrapUp { reserve: Some(Span(20)) });
    let limits = Limits { time: Some(Span(100)), ..Limits::default() };
    assert_eq!(limits.reached(wrap_up, &used(80)), Some((Limit::Time, LimitThreshold::Reserve)));
    assert_eq!(limits.reached(wrap_up, &used(79)), None);
}

#[test]
fn exhausted_limit_precedes_reserve() {
    let limits = Limits { budget: Some(Usd(1_000)), turns: Some(10), ..Limits::default() };
    let used = LimitUsage { cost: Usd(600), turns: 10, ..LimitUsage::default() };
    assert_eq!(limits.reached(WRAP_UP, &used), Some((Limit::Turns, LimitThreshold::Exhausted)));
    assert_eq!(Limits::default().reached(WRAP_UP, &used), None);
}

#[test]
fn computes_remaining_amounts() {
    let limits = Limits {
        budget: Some(Usd(1_000)),
        time: Some(Span(500)),
        wall: Some(Span(300)),
        ..Limits::default()
    };
    let used = LimitUsage { cost: Usd(1_200), time: Span(100), wall: Span(100), ..LimitUsage::default() };
    let expected = Remaining { budget: Some(Usd::ZERO), turns: None, time: Some(Span(200)) };
    assert_eq!(limits.remaining(&used), expected);
    assert!(Limits::default().remaining(&used).is_unlimited());
}
