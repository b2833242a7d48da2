use super::*;
use expect_test::expect;
use longhaul_core::{Usage, Usd};

#[test]
fn uses_field_names_of_the_harness() {
    let tokens = |scale: u64| Tokens {
        input: scale,
        output: 2 * scale,
        cache_read: 3 * scale,
        cache_write: 4 * scale,
    };
    let state = State {
        clocks: Clocks {
            started: Moment(1_000),
            waiting: Span::from_secs(30),
            downtime: Span::from_secs(5),
            finished: Span::ZERO,
        },
        usage: Usage {
            tokens: tokens(100),
            truncated_tokens: tokens(1),
            messages: 7,
            truncated_messages: 1,
            turns: 6,
            reported_cost: Usd(1_234_567),
            estimated_cost: Usd(10_000),
            unpriced: false,
        },
        usage_before_reopen: Usage {
            reported_cost: Usd(200_000),
            estimated_cost: Usd(10_000),
            ..Usage::default()
        },
        ..State::default()
    };
    let turn = TurnCost {
        turn_number: 1,
        timestamp: Some("1970-01-01T00:00:01.000Z".to_owned()),
        attempt: 1,
        input_tokens: 1,
        output_tokens: 2,
        cache_read_tokens: 3,
        cache_write_tokens: 4,
        reasoning_tokens: None,
        cost_usd: Some(Dollars(Usd(1_000))),
        cumulative_cost_usd: Some(Dollars(Usd(1_000))),
        duration_ms: None,
        model: Some("opus".to_owned()),
    };
    let limits = Limits::default()
        .with(|limits| (limits.budget, limits.time) = (Some(Usd(10_000_000)), Some(Span::from_secs(20))));
    let breakdown = CostBreakdown { turns: vec![turn], subagents: Vec::new() };
    let summary = CostSummary::new(&state, limits, breakdown, Some("opus".to_owned()), Moment(61_500));
    let text = serde_json::to_string_pretty(&summary).expect("JSON");
    expect![[r#"
        {
          "budget_limit_usd": 10.0,
          "total_cost_usd": 1.244567,
          "session_cost_usd": 1.034567,
          "inherited_cost_usd": 0.21,
          "pending_estimated_cost_usd": 0.01,
          "main_agent_cost_usd": 1.244567,
          "subagent_cost_usd": 0.0,
          "remaining_budget_usd": 8.755433,
          "unpriced": false,
          "total_turns": 7,
          "truncated_turns": 1,
          "total_subagent_calls": 0,
          "model": "opus",
          "total_tokens": {
            "input": 100,
            "output": 200,
            "cache_read": 300,
            "cache_write": 400,
            "reasoning": null
          },
          "estimated_tokens": {
            "input": 1,
            "output": 2,
            "cache_read": 3,
            "cache_write": 4
          },
          "time": {
            "wall_clock_seconds": 60.5,
            "active_seconds": 25.5,
            "retry_seconds": 30.0,
            "downtime_seconds": 5.0,
            "time_limit_seconds": 20.0,
            "remaining_seconds": 0.0
          },
          "turns": [
            {
              "turn_number": 1,
              "timestamp": "1970-01-01T00:00:01.000Z",
              "attempt": 1,
              "input_tokens": 1,
              "output_tokens": 2,
              "cache_read_tokens": 3,
              "cache_write_tokens": 4,
              "reasoning_tokens": null,
              "cost_usd": 0.001,
              "cumulative_cost_usd": 0.001,
              "duration_ms": null,
              "model": "opus"
            }
          ],
          "subagent_costs": []
        }"#]]
    .assert_eq(&text);
    assert_eq!(serde_json::from_str::<CostSummary>(&text).expect("summary"), summary);
}

/// A value that the vendor does not report is null, neither zero nor a guess.
#[test]
fn writes_null_for_unknown_values() {
    let subagent = SubagentCost {
        tool_use_id: "t".to_owned(),
        timestamp: None,
        model: Some("haiku".to_owned()),
        turns: 2,
        cost_usd: None,
    };
    let breakdown = CostBreakdown { turns: Vec::new(), subagents: vec![subagent] };
    let summary = CostSummary::new(&State::default(), Limits::default(), breakdown, None, Moment(0));
    let value = serde_json::to_value(&summary).expect("JSON");
    for name in
        ["budget_limit_usd", "remaining_budget_usd", "main_agent_cost_usd", "subagent_cost_usd", "model"]
    {
        assert!(value[name].is_null(), "{name}: {value}");
    }
    assert!(value["time"]["time_limit_seconds"].is_null() && value["time"]["remaining_seconds"].is_null());
    assert_eq!(value["total_subagent_calls"], 1);
}

#[test]
fn session_summary_has_status_and_end_time() {
    let summary = SessionSummary {
        session_id: Some(SessionId::from("s")),
        status: OutcomeKind::RetryLater,
        end_time: Moment(0).into(),
    };
    expect![[r#"{"session_id":"s","status":"retry_later","end_time":"1970-01-01T00:00:00.000Z"}"#]]
        .assert_eq(&serde_json::to_string(&summary).expect("JSON"));
}

#[test]
fn inherits_usage_of_another_harness() {
    let state = State {
        usage: Usage { reported_cost: Usd(500_000), ..Usage::default() },
        usage_before_reopen: Usage { reported_cost: Usd(200_000), ..Usage::default() },
        ..State::default()
    };
    let limits = Limits::default()
        .with(|limits| (limits.budget, limits.time) = (Some(Usd(1_000_000)), Some(Span::from_secs(60))));
    let before = CostSummary::new(&state, limits, CostBreakdown::default(), None, Moment(0));
    let inherited = Inherited {
        from: std::path::Path::new("/runs/theirs").into(),
        cost: Usd(3_000_000),
        active: Span::from_secs(100),
        wall: Span::from_secs(150),
    };
    let after = before.clone().with_inherited(&inherited);
    let usd = |usd: Option<Dollars>| usd.map(|usd| usd.0.0);
    assert_eq!((after.total_cost_usd.0, after.session_cost_usd.0), (Usd(3_500_000), Usd(300_000)));
    assert_eq!((after.inherited_cost_usd.0, usd(after.budget_limit_usd)), (Usd(3_200_000), Some(4_000_000)));
    assert_eq!((usd(after.remaining_budget_usd), usd(after.main_agent_cost_usd)), (Some(500_000), None));
    let seconds = |seconds: u64| Seconds(Span::from_secs(seconds));
    assert_eq!((after.time.wall_clock_seconds, after.time.active_seconds), (seconds(150), seconds(100)));
    let (limit, remaining) = (after.time.time_limit_seconds, after.time.remaining_seconds);
    assert_eq!((limit, remaining), (Some(seconds(160)), Some(seconds(60))));
}
