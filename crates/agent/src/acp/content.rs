//! Reads the text in the content of messages and tool calls.

use agent_client_protocol_schema::{ContentBlock, ContentChunk, ToolCallContent, Usage as StatedUsage};
use serde::Deserialize;
use serde_json::Value;

pub(super) fn chunk_text(chunk: &ContentChunk) -> &str {
    match &chunk.content {
        ContentBlock::Text(text) => &text.text,
        _ => "",
    }
}

/// Returns the usage of the message that ends with this chunk, if the agent states it.
pub(super) fn stated_usage(chunk: &ContentChunk) -> Option<StatedUsage> {
    StatedUsage::deserialize(chunk.meta.as_ref()?.get("usage")?).ok()
}

/// Returns the usage of a turn in the result of gemini-cli 0.61, which also names the model. A turn without tokens states
/// none.
pub(super) fn quota_usage(result: &Value) -> Option<(StatedUsage, Option<&str>)> {
    let quota = result.pointer("/_meta/quota")?;
    let count = |name: &str| quota.get("token_count")?.get(name)?.as_u64();
    let (input, output) = (count("input_tokens")?, count("output_tokens")?);
    let total = input.saturating_add(output);
    let model = quota.pointer("/model_usage/0/model").and_then(Value::as_str);
    (total > 0).then(|| (StatedUsage::new(total, input, output), model))
}

pub(super) fn message_id(chunk: &ContentChunk) -> Option<&str> {
    chunk.message_id.as_ref().map(|id| &*id.0)
}

/// Returns the text of a call's content, one paragraph per part.
pub(super) fn content_text(content: &[ToolCallContent]) -> String {
    let texts = content.iter().filter_map(|part| match part {
        ToolCallContent::Content(part) => match &part.content {
            ContentBlock::Text(text) => Some(text.text.clone()),
            _ => None,
        },
        ToolCallContent::Diff(diff) => Some(format!("{}\n{}", diff.path.display(), diff.new_text)),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}
