use super::{AgentMessage, LastResult, LogEvent, LogRow, ShellLevel};
use expect_test::expect;
use longhaul_core::{Dollars, Moment, Span, Tokens, Usd};
use serde_json::json;

const AT: Moment = Moment(1_774_679_984_120);

fn line(row: Option<LogRow<'_>>) -> String {
    row.map_or_else(|| "none\n".to_owned(), |row| serde_json::to_string(&row).expect("string keys") + "\n")
}

#[test]
fn rows_have_the_keys_of_archon() {
    let input = json!({"command": "lake build"});
    let shell = LogEvent::Shell { level: ShellLevel::Warn, message: "1/2 prover(s) had \"errors\" \\" };
    let rows = [
        line(Some(LogRow { ts: AT.into(), event: shell })),
        line(LogRow::from_message(AT, AgentMessage::Thinking("  It is a ring.\n"))),
        line(LogRow::from_message(AT, AgentMessage::Text("Done."))),
        line(LogRow::from_message(AT, AgentMessage::Text(" \n"))),
        line(LogRow::from_message(AT, AgentMessage::ToolCall { tool: "Bash", input: &input })),
        line(LogRow::from_message(AT, AgentMessage::ToolResult(""))),
        line(Some(LogRow {
            ts: AT.into(),
            event: LogEvent::ParallelRoundEnd { prover_count: 2, failed: 1 },
        })),
    ];
    expect![[r#"
        {"ts":"2026-03-28T06:39:44.120Z","event":"shell","level":"warn","message":"1/2 prover(s) had \"errors\" \\"}
        {"ts":"2026-03-28T06:39:44.120Z","event":"thinking","content":"It is a ring."}
        {"ts":"2026-03-28T06:39:44.120Z","event":"text","content":"Done."}
        none
        {"ts":"2026-03-28T06:39:44.120Z","event":"tool_call","tool":"Bash","input":{"command":"lake build"}}
        {"ts":"2026-03-28T06:39:44.120Z","event":"tool_result","content":""}
        {"ts":"2026-03-28T06:39:44.120Z","event":"parallel_round_end","prover_count":2,"failed":1}
    "#]]
    .assert_eq(&rows.concat());
}

#[test]
fn session_ends_only_without_an_error() {
    let done = LastResult {
        is_error: false,
        session_id: "4f0c".to_owned(),
        total_cost: Dollars(Usd::from_dollars(0.41).expect("an amount")),
        duration: Span(192_000),
        api_duration: None,
        turns: 7,
        tokens: Tokens { input: 3_000, output: 177, cache_read: 9_000, cache_write: 600 },
        model_usage: json!({"opus": {"costUSD": 0.41}}),
        answer: "Proved.".to_owned(),
    };
    let failed = LastResult { is_error: true, ..done.clone() };
    let rows = line(LogRow::session_end(AT, &done)) + &line(LogRow::session_end(AT, &failed));
    expect![[r#"
        {"ts":"2026-03-28T06:39:44.120Z","event":"session_end","session_id":"4f0c","total_cost_usd":0.41,"duration_ms":192000,"duration_api_ms":null,"num_turns":7,"input_tokens":3000,"output_tokens":177,"cache_read_input_tokens":9000,"cache_creation_input_tokens":600,"model_usage":{"opus":{"costUSD":0.41}},"summary":"Proved."}
        none
    "#]]
    .assert_eq(&rows);
}
