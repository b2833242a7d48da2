//! Repeats the history of a session as updates, as `session/load` requires.

use serde_json::Value;

use crate::scripted::agent::text_of;
use crate::scripted::history::History;
use crate::scripted::stdout::acp::{result_update, text_update, tool_update};

/// Returns the updates that repeat this history. A call without a result stays pending.
pub(super) fn updates(history: &History) -> Vec<Value> {
    let messages = history.rows.iter().filter(|row| row["isApiErrorMessage"] != true);
    let messages = messages.map(|row| &row["message"]).filter(|message| message.is_object());
    messages.flat_map(message_updates).collect()
}

fn message_updates(message: &Value) -> Vec<Value> {
    let is_user = message["role"] == "user";
    let Some(blocks) = message["content"].as_array() else {
        return vec![text_update("user_message_chunk", &text_of(&message["content"]))];
    };
    let updates = blocks.iter().filter_map(|block| match block["type"].as_str()? {
        "text" if is_user => Some(text_update("user_message_chunk", block["text"].as_str()?)),
        "text" => Some(text_update("agent_message_chunk", block["text"].as_str()?)),
        "tool_use" => Some(tool_update(block)),
        "tool_result" => Some(result_update(block)),
        _ => None,
    });
    updates.collect()
}
