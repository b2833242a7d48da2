//! Lines to write to the agent's input. Each is one JSON object and its newline.
//!
//! None of them needs an answer: `initialize` is only for hooks and other host services. What it
//! answers of use otherwise, the permission mode, stands in the `init` event before the first request.

use serde_json::{Value, json};

/// What a person would type. During a turn it is woven into that turn.
pub fn user_line(text: &str) -> Vec<u8> {
    line(&json!({
        "type": "user",
        "message": { "role": "user", "content": text },
        "parent_tool_use_id": null,
        "session_id": "",
    }))
}

/// Offers host services; must come before the first user line.
pub fn initialize(hooks: &Value) -> Vec<u8> {
    request("longhaul-initialize", &json!({ "subtype": "initialize", "hooks": hooks }))
}

/// What an interrupt of ours is called in the agent's answer to it.
pub const INTERRUPT: &str = "longhaul-interrupt";

/// Ends the present turn. A result follows, with its cost; in an idle agent nothing follows.
pub fn interrupt() -> Vec<u8> {
    request(INTERRUPT, &json!({ "subtype": "interrupt" }))
}

/// Ends the process at once, with exit 0; kills what runs in its background.
pub fn end_session() -> Vec<u8> {
    request("longhaul-end", &json!({ "subtype": "end_session" }))
}

/// Answers a hook callback.
pub(super) fn hook_answer(id: &str, answer: &Value) -> Vec<u8> {
    line(&json!({
        "type": "control_response",
        "response": { "subtype": "success", "request_id": id, "response": answer },
    }))
}

/// Denies what the agent would ask a person to allow.
pub(super) fn permission_denial(id: &str, reason: &str) -> Vec<u8> {
    hook_answer(id, &json!({ "behavior": "deny", "message": reason }))
}

fn request(id: &str, request: &Value) -> Vec<u8> {
    line(&json!({ "type": "control_request", "request_id": id, "request": request }))
}

fn line(value: &Value) -> Vec<u8> {
    // JSON escapes every newline, so the object is one line whatever it carries.
    let mut line = value.to_string().into_bytes();
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use super::{end_session, initialize, interrupt, user_line};
    use expect_test::expect;
    use serde_json::json;

    #[test]
    fn lines() {
        let lines = [user_line("Fix \"it\",\nplease."), initialize(&json!({})), interrupt(), end_session()];
        let text = String::from_utf8(lines.concat()).expect("JSON is UTF-8");
        expect![[r#"
            {"message":{"content":"Fix \"it\",\nplease.","role":"user"},"parent_tool_use_id":null,"session_id":"","type":"user"}
            {"request":{"hooks":{},"subtype":"initialize"},"request_id":"longhaul-initialize","type":"control_request"}
            {"request":{"subtype":"interrupt"},"request_id":"longhaul-interrupt","type":"control_request"}
            {"request":{"subtype":"end_session"},"request_id":"longhaul-end","type":"control_request"}
        "#]].assert_eq(&text);
    }
}
