use super::*;
use expect_test::expect;
use longhaul_core::Tally;

#[test]
fn the_names_are_those_of_the_harness() {
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
            suspended: Span::from_secs(5),
            over: Span::ZERO,
        },
        tally: Tally {
            tokens: tokens(100),
            cut_tokens: tokens(1),
            messages: 7,
            cut_messages: 1,
            turns: 6,
            cost: Usd(1_234_567),
            cost_estimated: Usd(10_000),
            unpriced: false,
        },
        ..State::default()
    };
    let summary = CostSummary::of(&state, Some("opus".to_owned()), Moment(61_500));
    let text = serde_json::to_string_pretty(&summary).expect("JSON");
    expect![[r#"
        {
          "total_cost_usd": 1.244567,
          "session_cost_usd": 1.234567,
          "pending_estimated_cost_usd": 0.01,
          "unpriced": false,
          "total_turns": 7,
          "cut_turns": 1,
          "model": "opus",
          "total_tokens": {
            "input": 100,
            "output": 200,
            "cache_read": 300,
            "cache_write": 400
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
            "suspended_seconds": 5.0
          }
        }"#]]
    .assert_eq(&text);
    assert_eq!(serde_json::from_str::<CostSummary>(&text).expect("summary"), summary);
}

#[test]
fn a_session_ends_with_a_word_and_a_time() {
    let summary = SessionSummary {
        session_id: Some(SessionId::from("s")),
        status: OutcomeKind::RetryLater,
        end_time: Moment(0),
    };
    expect![[r#"{"session_id":"s","status":"retry_later","end_time":"1970-01-01T00:00:00.000Z"}"#]]
        .assert_eq(&serde_json::to_string(&summary).expect("JSON"));
}
