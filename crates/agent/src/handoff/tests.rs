use super::{HandoffContext, HandoffReason, WrittenSummary};
use crate::Conversation;
use crate::transcript_message::{EventKind, MessageOrigin, ToolResultKind, TranscriptMessage};
use longhaul_core::Fault;
use serde_json::value::RawValue;
use serde_json::{Value, json};

mod properties;
mod snapshots;
mod summaries;

/// Builds a conversation.
#[derive(Default)]
struct ConversationBuilder {
    conversation: Conversation,
}

impl ConversationBuilder {
    fn add(mut self, message: TranscriptMessage) -> ConversationBuilder {
        self.conversation.push(message);
        self
    }

    fn say(self, kind: EventKind, origin: MessageOrigin, text: &str) -> ConversationBuilder {
        self.add(message(kind, origin, text))
    }

    fn prompt(self, text: &str) -> ConversationBuilder {
        self.say(EventKind::Prompt, MessageOrigin::Person, text)
    }

    fn text(self, text: &str) -> ConversationBuilder {
        self.say(EventKind::Text, MessageOrigin::Model, text)
    }

    fn command(self, id: &str, command: &str) -> ConversationBuilder {
        self.call(id, "Bash", &json!({ "command": command }))
    }

    fn write(self, id: &str, path: &str) -> ConversationBuilder {
        self.call(id, "Write", &json!({ "file_path": path }))
    }

    fn call(self, id: &str, tool: &str, input: &Value) -> ConversationBuilder {
        self.add(call(id, tool, input))
    }

    fn result(self, id: &str, kind: ToolResultKind, text: &str) -> ConversationBuilder {
        self.add(result(id, kind, text))
    }
}

fn message(kind: EventKind, origin: MessageOrigin, text: &str) -> TranscriptMessage {
    TranscriptMessage { content: Some(text.to_owned()), ..TranscriptMessage::new(kind, origin, 1) }
}

fn call(id: &str, tool: &str, input: &Value) -> TranscriptMessage {
    TranscriptMessage {
        tool_use_id: Some(id.to_owned()),
        tool: Some(tool.to_owned()),
        input: Some(RawValue::from_string(input.to_string()).expect("JSON")),
        ..TranscriptMessage::new(EventKind::ToolCall, MessageOrigin::Model, 1)
    }
}

fn result(id: &str, kind: ToolResultKind, text: &str) -> TranscriptMessage {
    TranscriptMessage {
        tool_use_id: Some(id.to_owned()),
        is_error: Some(kind == ToolResultKind::Error),
        interrupted: kind == ToolResultKind::Unknown,
        ..message(EventKind::ToolResult, MessageOrigin::Tool, text)
    }
}

fn handoff_prompt(conversation: &Conversation, context: &HandoffContext<'_>, tokens_max: u64) -> String {
    super::handoff_prompt(conversation, context, tokens_max, None)
}

fn handoff_prompt_with_summary(
    conversation: &Conversation,
    context: &HandoffContext<'_>,
    tokens_max: u64,
    summary: &WrittenSummary,
) -> String {
    super::handoff_prompt(conversation, context, tokens_max, Some(summary))
}

fn context(task: &str) -> HandoffContext<'_> {
    HandoffContext::unlimited(task, HandoffReason::Fault(Fault::ContextFull))
}

fn summary(text: &str) -> WrittenSummary {
    WrittenSummary { model: "haiku".to_owned(), text: text.to_owned() }
}
