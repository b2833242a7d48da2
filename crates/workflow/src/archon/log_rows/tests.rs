use super::{LogEvent, LogRow, SessionEnd, ShellLevel};
use expect_test::expect;
use longhaul_core::{Dollars, Moment, Span, Usd};
use serde_json::json;

const AT: Moment = Moment(1_774_679_984_120);

#[test]
fn rows_have_the_keys_of_archon() {
    let input = json!({"command": "lake build"});
    let events = [
        LogEvent::Shell { level: ShellLevel::Error, message: "1/2 prover(s) had \"errors\" \\" },
        LogEvent::Thinking { content: "It is a ring." },
        LogEvent::Text { content: "Done." },
        LogEvent::ToolCall { tool: "Bash", input: &input },
        LogEvent::ToolResult { content: "" },
        LogEvent::ParallelRoundEnd { prover_count: 2, failed: 1 },
        LogEvent::SessionEnd(SessionEnd {
            session_id: "4f0c",
            total_cost_usd: Dollars(Usd::from_dollars(0.41).expect("an amount")),
            duration_ms: Span(192_000),
            duration_api_ms: None,
            num_turns: 7,
            input_tokens: 3_000,
            output_tokens: 177,
            cache_read_input_tokens: 9_000,
            cache_creation_input_tokens: 600,
            model_usage: json!({"opus": {"costUSD": 0.41}}),
            summary: "Proved.",
        }),
    ];
    let row = |event| serde_json::to_string(&LogRow { ts: AT.into(), event }).expect("string keys") + "\n";
    expect![[r#"
        {"ts":"2026-03-28T06:39:44.120Z","event":"shell","level":"error","message":"1/2 prover(s) had \"errors\" \\"}
        {"ts":"2026-03-28T06:39:44.120Z","event":"thinking","content":"It is a ring."}
        {"ts":"2026-03-28T06:39:44.120Z","event":"text","content":"Done."}
        {"ts":"2026-03-28T06:39:44.120Z","event":"tool_call","tool":"Bash","input":{"command":"lake build"}}
        {"ts":"2026-03-28T06:39:44.120Z","event":"tool_result","content":""}
        {"ts":"2026-03-28T06:39:44.120Z","event":"parallel_round_end","prover_count":2,"failed":1}
        {"ts":"2026-03-28T06:39:44.120Z","event":"session_end","session_id":"4f0c","total_cost_usd":0.41,"duration_ms":192000,"duration_api_ms":null,"num_turns":7,"input_tokens":3000,"output_tokens":177,"cache_read_input_tokens":9000,"cache_creation_input_tokens":600,"model_usage":{"opus":{"costUSD":0.41}},"summary":"Proved."}
    "#]]
    .assert_eq(&events.map(row).concat());
}
