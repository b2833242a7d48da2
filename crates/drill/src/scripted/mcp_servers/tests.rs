use super::*;

/// A server as a shell script. It answers each request that it knows, whatever the request's id.
const SERVER: &str = r#"
while read -r line; do
  id=${line#*\"id\":}; id=${id%%,*}
  case $line in
    *initialize\"*|*ping\"*) echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{}}";;
    *tools/list*) echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"tools\":[{\"name\":\"add\",\"description\":\"Adds.\",\"inputSchema\":{\"type\":\"object\"}}]}}";;
    *tools/call*fail*) echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"error\":{\"code\":-32602,\"message\":\"no\"}}";;
    *tools/call*) echo "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}"; echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"3\"}]}}";;
  esac
done
"#;

fn config(name: &str, command: &str) -> String {
    json!({"mcpServers": {name: {"type": "stdio", "command": command, "args": ["-c", SERVER]}}}).to_string()
}

#[test]
fn declares_and_calls_server_tools() {
    let configs = [config("sums", "bash"), config("gone", "/nonexistent/server")];
    let mut servers = Servers::start(&configs).expect("they can be read");
    assert_eq!(
        servers.status_list(),
        json!([{"name": "gone", "status": "failed", "source": "dynamic"},
            {"name": "sums", "status": "connected", "source": "dynamic"}])
    );
    let definitions = servers.tool_definitions();
    assert_eq!(
        definitions,
        [json!({"name": "mcp__sums__add", "description": "Adds.", "input_schema": {"type": "object"}})]
    );
    let result = servers.call("mcp__sums__add", &json!({})).expect("it has that tool");
    assert_eq!((result.content[0]["text"].as_str(), result.is_error), (Some("3"), false));
    let failed = servers.call("mcp__sums__add", &json!({"fail": true})).expect("it has that tool");
    assert_eq!((failed.content.as_str(), failed.is_error), (Some("MCP error -32602: no"), true));
    for unknown in ["mcp__sums__other", "mcp__gone__add", "add"] {
        assert!(servers.call(unknown, &json!({})).is_none(), "{unknown}");
    }
}

#[test]
fn rejects_invalid_configurations() {
    for config in ["{", r#"{"mcpServers":{"x":{"type":"http","url":"http://x"}}}"#] {
        assert!(
            Servers::start(&[config.to_owned()]).is_err_and(|error| error.contains("Invalid MCP")),
            "{config}"
        );
    }
    assert!(Servers::start(&[]).is_ok_and(|servers| servers.tool_definitions().is_empty()));
}
