use super::{HandoffContext, HandoffReason, Summary};
use crate::conversation::{
    Conversation, EntryKind, Provenance, ToolArgument, ToolCall, ToolResult, ToolResultKind,
};
use longhaul_core::Fault;

mod properties;
mod snapshots;
mod summaries;

/// A transcript of work.
#[derive(Default)]
struct Told {
    transcript: Conversation,
}

impl Told {
    fn add(mut self, what: EntryKind, provenance: Provenance) -> Told {
        self.transcript.push(what, provenance, None);
        self
    }

    fn asked(self, text: &str) -> Told {
        self.add(EntryKind::Prompt(text.to_owned()), Provenance::Work)
    }

    fn said(self, text: &str) -> Told {
        self.add(EntryKind::ModelText(text.to_owned()), Provenance::Work)
    }

    fn command(self, id: &str, command: &str) -> Told {
        let input = serde_json::json!({ "command": command }).to_string();
        self.called(id, "Bash", &input, ToolArgument::Command(command.to_owned()))
    }

    fn write(self, id: &str, path: &str) -> Told {
        self.called(id, "Write", "{}", ToolArgument::ChangedFile(path.to_owned()))
    }

    fn called(self, id: &str, name: &str, input: &str, argument: ToolArgument) -> Told {
        let call = ToolCall {
            id: id.to_owned(),
            name: name.to_owned(),
            input: input.to_owned(),
            argument: Some(argument),
        };
        self.add(EntryKind::ToolCall(call), Provenance::Work)
    }

    fn answered(self, id: &str, kind: ToolResultKind, text: &str) -> Told {
        let answer = ToolResult { call: id.to_owned(), kind, text: text.to_owned() };
        self.add(EntryKind::ToolResult(answer), Provenance::Work)
    }
}

fn about(task: &str) -> HandoffContext<'_> {
    HandoffContext::unlimited(task, HandoffReason::Fault(Fault::ContextFull))
}

fn summary(text: &str) -> Summary {
    Summary { model: "haiku".to_owned(), text: text.to_owned() }
}
