use super::{LINE_BYTES_MAX, serve};
use expect_test::{Expect, expect};
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"claude-code","version":"2.1.330"}}}"#;

/// What the server answers to these lines until its input ends, and whether it is content with them.
fn told(lines: &[&str]) -> (String, bool) {
    let runtime = crate::runtime::new().unwrap_or_else(|failure| panic!("{}", failure.error));
    runtime.block_on(async {
        let (mut to, input) = duplex(4 * LINE_BYTES_MAX);
        let (output, mut from) = duplex(4 * LINE_BYTES_MAX);
        to.write_all(lines.iter().map(|line| format!("{line}\n")).collect::<String>().as_bytes())
            .await
            .expect("there is room");
        drop(to);
        let served = serve(input, output).await;
        let mut said = String::new();
        from.read_to_string(&mut said).await.expect("JSON is UTF-8");
        (said, served.is_ok())
    })
}

/// What it answers to these lines after the handshake.
fn check(lines: &[&str], expected: Expect) {
    let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    let (said, ok) = told(&[&[INITIALIZE, initialized], lines].concat());
    let (_, rest) = said.split_once('\n').expect("an answer to the handshake");
    expected.assert_eq(rest);
    assert!(ok, "it ends well with its input");
}

#[test]
fn it_introduces_itself() {
    let (said, ok) = told(&[INITIALIZE]);
    expect![[r#"
        {"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"longhaul","version":"VERSION"}}}
    "#]].assert_eq(&said.replace(env!("CARGO_PKG_VERSION"), "VERSION"));
    assert!(ok);
}

#[test]
fn one_tool_is_offered() {
    check(
        &[r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#],
        expect![[r#"
        {"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"finish","description":"Call this when the whole task is done and checked; you will be asked once whether you stand by it. Do not call it to report progress or to ask a question: as long as anything of the task is left, go on.","inputSchema":{"additionalProperties":false,"properties":{"summary":{"description":"What was done and how it was checked, in a few sentences","type":"string"}},"type":"object"},"annotations":{"readOnlyHint":true,"idempotentHint":true,"openWorldHint":false}}]}}
    "#]],
    );
}

#[test]
fn a_call_is_noted() {
    check(
        &[r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"finish","arguments":{}}}"#],
        expect![[r#"
            {"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"Noted. You will be asked once whether the work is really finished."}],"isError":false}}
        "#]],
    );
    check(
        &[
            r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"finish","arguments":{"summary":"All tests pass."},"_meta":{"progressToken":2}}}"#,
        ],
        expect![[r#"
            {"jsonrpc":"2.0","id":"a","result":{"content":[{"type":"text","text":"Noted. You will be asked once whether the work is really finished."}],"isError":false}}
        "#]],
    );
}

#[test]
fn what_it_does_not_know_is_an_error_and_no_end() {
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
fn it_answers_the_question_for_newer_versions_and_ends_with_its_input() {
    let discover = r#"{"jsonrpc":"2.0","id":"probe","method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"claude-code","version":"2.1.330"},"io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    let (said, ok) = told(&[discover]);
    expect![[r#"
        {"jsonrpc":"2.0","id":"probe","result":{"resultType":"complete","supportedVersions":["2024-11-05","2025-03-26","2025-06-18","2025-11-25","2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"longhaul","version":"VERSION"}}}}
    "#]].assert_eq(&said.replace(env!("CARGO_PKG_VERSION"), "VERSION"));
    assert!(ok);
    assert_eq!(told(&[]), (String::new(), true));
}

#[test]
fn whoever_does_not_speak_the_protocol_is_told_so() {
    assert_eq!(told(&[r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#]), (String::new(), false));
}
