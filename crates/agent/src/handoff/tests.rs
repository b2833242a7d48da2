use super::{HandoffContext, HandoffReason, WrittenSummary};
use crate::conversation::{
    Conversation, EntryKind, Provenance, ToolArgument, ToolCall, ToolResult, ToolResultKind,
};
use longhaul_core::Fault;

mod properties;
mod snapshots;
mod summaries;

/// Builds a conversation.
#[derive(Default)]
struct ConversationBuilder {
    conversation: Conversation,
}

impl ConversationBuilder {
    fn add(mut self, kind: EntryKind, provenance: Provenance) -> ConversationBuilder {
        self.conversation.push(kind, provenance, None);
        self
    }

    fn prompt(self, text: &str) -> ConversationBuilder {
        self.add(EntryKind::Prompt(text.to_owned()), Provenance::Work)
    }

    fn text(self, text: &str) -> ConversationBuilder {
        self.add(EntryKind::ModelText(text.to_owned()), Provenance::Work)
    }

    fn command(self, id: &str, command: &str) -> ConversationBuilder {
        let input = serde_json::json!({ "command": command }).to_string();
        self.call(id, "Bash", &input, ToolArgument::Command(command.to_owned()))
    }

    fn write(self, id: &str, path: &str) -> ConversationBuilder {
        self.call(id, "Write", "{}", ToolArgument::ChangedFile(path.to_owned()))
    }

    fn call(self, id: &str, name: &str, input: &str, argument: ToolArgument) -> ConversationBuilder {
        let call = ToolCall {
            id: id.to_owned(),
            name: name.to_owned(),
            input: input.to_owned(),
            argument: Some(argument),
        };
        self.add(EntryKind::ToolCall(call), Provenance::Work)
    }

    fn result(self, id: &str, kind: ToolResultKind, text: &str) -> ConversationBuilder {
        let result = ToolResult { call: id.to_owned(), kind, text: text.to_owned() };
        self.add(EntryKind::ToolResult(result), Provenance::Work)
    }
}

fn context(task: &str) -> HandoffContext<'_> {
    HandoffContext::unlimited(task, HandoffReason::Fault(Fault::ContextFull))
}

fn summary(text: &str) -> WrittenSummary {
    WrittenSummary { model: "haiku".to_owned(), text: text.to_owned() }
}
