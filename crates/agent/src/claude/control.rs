//! Encodes lines for the agent's input. Each is one JSON object and a newline.
//!
//! No line needs a reply. `initialize` is only for hooks and other host services. The permission mode in its
//! reply is also in the `init` event before the first request.

use crate::json_line::json_line;
use serde_json::{Value, json};

/// Encodes a prompt. During an exchange, the agent adds it to that exchange.
pub fn user_line(text: &str) -> Vec<u8> {
    json_line(&json!({
        "type": "user",
        "message": { "role": "user", "content": text },
        "parent_tool_use_id": null,
        "session_id": "",
    }))
}

/// Offers host services. Must precede the first prompt.
pub fn initialize(hooks: &Value) -> Vec<u8> {
    request("longhaul-initialize", &json!({ "subtype": "initialize", "hooks": hooks }))
}

/// The request id of our interrupts, which the agent's response repeats.
pub const INTERRUPT: &str = "longhaul-interrupt";

/// Ends the current exchange. A result with its cost follows; an idle agent sends nothing.
pub fn interrupt() -> Vec<u8> {
    request(INTERRUPT, &json!({ "subtype": "interrupt" }))
}

/// Ends the process at once with exit code 0, and kills its background tasks. Before that, the agent reports its usage,
/// which includes that of sub-agents since the last result.
pub fn end_session() -> Vec<u8> {
    let usage = request("longhaul-usage", &json!({ "subtype": "get_usage" }));
    [usage, request("longhaul-end", &json!({ "subtype": "end_session" }))].concat()
}

pub(super) fn hook_answer(id: &str, answer: &Value) -> Vec<u8> {
    json_line(&json!({
        "type": "control_response",
        "response": { "subtype": "success", "request_id": id, "response": answer },
    }))
}

pub(super) fn permission_denial(id: &str, reason: &str) -> Vec<u8> {
    hook_answer(id, &json!({ "behavior": "deny", "message": reason }))
}

fn request(id: &str, request: &Value) -> Vec<u8> {
    json_line(&json!({ "type": "control_request", "request_id": id, "request": request }))
}

#[cfg(test)]
mod tests {
    use super::{end_session, initialize, interrupt, user_line};
    use expect_test::expect;
    use serde_json::json;

    #[test]
    fn encodes_lines() {
        let lines = [user_line("Fix \"it\",\nplease."), initialize(&json!({})), interrupt(), end_session()];
        let text = String::from_utf8(lines.concat()).expect("JSON is UTF-8");
        expect![[r#"
            {"message":{"content":"Fix \"it\",\nplease.","role":"user"},"parent_tool_use_id":null,"session_id":"","type":"user"}
            {"request":{"hooks":{},"subtype":"initialize"},"request_id":"longhaul-initialize","type":"control_request"}
            {"request":{"subtype":"interrupt"},"request_id":"longhaul-interrupt","type":"control_request"}
            {"request":{"subtype":"get_usage"},"request_id":"longhaul-usage","type":"control_request"}
            {"request":{"subtype":"end_session"},"request_id":"longhaul-end","type":"control_request"}
        "#]].assert_eq(&text);
    }
}
