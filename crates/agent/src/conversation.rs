//! The history of a session, independent of any agent's format. A dialect builds it from a session file or
//! from recorded streams; a handoff prompt ([`handoff_prompt`](crate::handoff_prompt)) is written from it.
//!
//! The origin of every entry is known from ids and from fields that the vendor set, never from its text. Work
//! that mentions "500" or "continue" is still work.

use longhaul_core::Moment;

/// The history of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conversation {
    /// All entries, oldest first.
    pub entries: Vec<ConversationEntry>,
}

/// One entry of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConversationEntry {
    /// Its content.
    pub kind: EntryKind,
    /// Its origin.
    pub provenance: Provenance,
    /// The recorded time, if any.
    pub at: Option<Moment>,
}

/// The origin of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provenance {
    /// The work itself: the user, the model or its tools.
    Work,
    /// Part of a wrap-up. A later attempt has no use for it.
    WrapUp,
    /// A prompt that Longhaul sent on its own behalf.
    Longhaul,
    /// The agent program's own text: error messages, placeholders, markers of an interruption.
    Synthetic,
}

/// The content of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A prompt: the task, or a later one from the user or from Longhaul.
    Prompt(String),
    /// Text of the model.
    ModelText(String),
    /// The agent's own summary of everything before it.
    Compaction(String),
    /// A note from the agent program to the model, such as the end of a background task.
    AgentNote(String),
    /// A tool call.
    ToolCall(ToolCall),
    /// The result of a tool call.
    ToolResult(ToolResult),
}

/// A tool call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolCall {
    /// Its id.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// All arguments, as JSON.
    pub input: String,
    /// The most informative argument, if any.
    pub argument: Option<ToolArgument>,
}

/// The most informative argument of a tool call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolArgument {
    /// The command to run.
    Command(String),
    /// The file to write.
    ChangedFile(String),
    /// Any other argument: a file to read, a pattern, a URL.
    Other(String),
}

impl ToolArgument {
    /// Returns the argument as given.
    pub fn as_str(&self) -> &str {
        match self {
            ToolArgument::Command(text) | ToolArgument::ChangedFile(text) | ToolArgument::Other(text) => text,
        }
    }
}

/// The result of a tool call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolResult {
    /// The id of the call.
    pub call: String,
    /// How the call ended.
    pub kind: ToolResultKind,
    /// The text of the result.
    pub text: String,
}

/// How a tool call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolResultKind {
    /// It succeeded.
    Ok,
    /// It failed or was denied.
    Error,
    /// It was interrupted: it may have taken effect in full, in part or not at all.
    Unknown,
}

impl Conversation {
    /// Returns the first prompt from the user, which is the task of the session.
    pub fn task(&self) -> Option<&str> {
        self.entries.iter().find_map(|entry| match &entry.kind {
            EntryKind::Prompt(text) if entry.provenance == Provenance::Work => Some(text.as_str()),
            EntryKind::Prompt(_)
            | EntryKind::ModelText(_)
            | EntryKind::Compaction(_)
            | EntryKind::AgentNote(_)
            | EntryKind::ToolCall(_)
            | EntryKind::ToolResult(_) => None,
        })
    }

    /// Appends the conversation of a later session of the same run.
    #[must_use]
    pub fn then(mut self, later: Conversation) -> Conversation {
        self.entries.extend(later.entries);
        self
    }

    /// Adds an entry, unless its text is empty.
    pub(crate) fn push(&mut self, kind: EntryKind, provenance: Provenance, at: Option<Moment>) {
        let is_empty = match &kind {
            EntryKind::Prompt(text)
            | EntryKind::ModelText(text)
            | EntryKind::Compaction(text)
            | EntryKind::AgentNote(text) => text.trim().is_empty(),
            EntryKind::ToolCall(_) | EntryKind::ToolResult(_) => false,
        };
        if !is_empty {
            self.entries.push(ConversationEntry { kind, provenance, at });
        }
    }
}
