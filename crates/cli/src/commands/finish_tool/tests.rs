use super::{FinishTool, LINE_BYTES_MAX};
use crate::mcp_stdio;
use expect_test::{Expect, expect};
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"claude-code","version":"2.1.330"}}}"#;

/// Returns the server's answers to these lines, and whether it succeeded.
fn serve_lines(lines: &[&str]) -> (String, bool) {
    let runtime = crate::runtime::new().unwrap_or_else(|failure| panic!("{}", failure.error));
    runtime.block_on(async {
        let (mut to, input) = duplex(4 * LINE_BYTES_MAX);
        let (output, mut from) = duplex(4 * LINE_BYTES_MAX);
        to.write_all(lines.iter().map(|line| format!("{line}\n")).collect::<String>().as_bytes())
            .await
            .expect("there is room");
        drop(to);
        let served =
            mcp_stdio::serve(FinishTool, (input, output), LINE_BYTES_MAX, "the tool finish", "").await;
        let mut answers = String::new();
        from.read_to_string(&mut answers).await.expect("JSON is UTF-8");
        (answers, served.is_ok())
    })
}

/// Checks the answers to these lines, after the handshake.
fn check(lines: &[&str], expected: Expect) {
    let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    let (answers, ok) = serve_lines(&[&[INITIALIZE, initialized], lines].concat());
    let (_, rest) = answers.split_once('\n').expect("an answer to the handshake");
    expected.assert_eq(rest);
    assert!(ok, "the server exits cleanly with its input");
}

#[test]
fn answers_initialize() {
    let (answers, ok) = serve_lines(&[INITIALIZE]);
    expect![[r#"
        {"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"longhaul","version":"VERSION"}}}
    "#]].assert_eq(&answers.replace(env!("CARGO_PKG_VERSION"), "VERSION"));
    assert!(ok);
}

#[test]
fn lists_one_tool() {
    check(
        &[r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#],
        expect![[r#"
        {"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"finish","description":"Call this when the whole task is done and verified. You will be asked once to confirm. Do not call it to report progress or ask a question; while work remains, continue.","inputSchema":{"additionalProperties":false,"properties":{"summary":{"description":"What was done and how it was checked, in a few sentences","type":"string"}},"type":"object"},"annotations":{"readOnlyHint":true,"idempotentHint":true,"openWorldHint":false}}]}}
    "#]],
    );
}

#[test]
fn confirms_call() {
    check(
        &[r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"finish","arguments":{}}}"#],
        expect![[r#"
            {"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"Recorded. You will be asked once to confirm that the work is done."}],"isError":false}}
        "#]],
    );
    check(
        &[
            r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"finish","arguments":{"summary":"All tests pass."},"_meta":{"progressToken":2}}}"#,
        ],
        expect![[r#"
            {"jsonrpc":"2.0","id":"a","result":{"content":[{"type":"text","text":"Recorded. You will be asked once to confirm that the work is done."}],"isError":false}}
        "#]],
    );
}

#[test]
fn survives_unknown_requests() {
    let ping = r#"{"jsonrpc":"2.0","id":9,"method":"ping"}"#;
    check(
        &[r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"other","arguments":{}}}"#, ping],
        expect![[r#"
            {"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"there is no tool `other`, only `finish`"}}
            {"jsonrpc":"2.0","id":9,"result":{}}
        "#]],
    );
    check(
        &[r#"{"jsonrpc":"2.0","id":4,"method":"no/such"}"#, ping],
        expect![[r#"
        {"jsonrpc":"2.0","id":4,"error":{"code":-32601,"message":"no/such"}}
        {"jsonrpc":"2.0","id":9,"result":{}}
    "#]],
    );
    check(
        &[r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#, ping],
        expect![[r#"
            {"jsonrpc":"2.0","id":9,"result":{}}
        "#]],
    );
    check(
        &["garbage", "", ping],
        expect![[r#"
        {"jsonrpc":"2.0","id":9,"result":{}}
    "#]],
    );
    let long =
        format!(r#"{{"jsonrpc":"2.0","id":5,"method":"ping","pad":"{}"}}"#, "x".repeat(LINE_BYTES_MAX));
    check(
        &[&long, ping],
        expect![[r#"
        {"jsonrpc":"2.0","id":9,"result":{}}
    "#]],
    );
}

#[test]
fn answers_discovery_and_ends_with_input() {
    let discover = r#"{"jsonrpc":"2.0","id":"probe","method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"claude-code","version":"2.1.330"},"io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    let (answers, ok) = serve_lines(&[discover]);
    expect![[r#"
        {"jsonrpc":"2.0","id":"probe","result":{"resultType":"complete","supportedVersions":["2024-11-05","2025-03-26","2025-06-18","2025-11-25","2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"longhaul","version":"VERSION"}}}}
    "#]].assert_eq(&answers.replace(env!("CARGO_PKG_VERSION"), "VERSION"));
    assert!(ok);
    assert_eq!(serve_lines(&[]), (String::new(), true));
}

#[test]
fn rejects_missing_handshake() {
    assert_eq!(
        serve_lines(&[r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#]),
        (String::new(), false)
    );
}
