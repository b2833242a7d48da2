//! What was said and done in a session, in no agent's dialect. Built by a dialect from a session file or
//! from recorded streams; a seed ([`seed()`](crate::seed())) is written from it.
//!
//! Every entry says where it comes from, and that is known by identity and by fields that the vendor
//! set, never by the words it holds: work that mentions "500" or "continue" is work.

use longhaul_core::Moment;

/// What was said and done, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conversation {
    /// Everything, in the order it was recorded.
    pub entries: Vec<ConversationEntry>,
}

/// One thing said or done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConversationEntry {
    /// What it is.
    pub kind: EntryKind,
    /// Where it comes from.
    pub provenance: Provenance,
    /// When it was recorded, if the record says so.
    pub at: Option<Moment>,
}

/// Where an entry comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provenance {
    /// The work itself: the person, the model, its tools.
    Work,
    /// What was done to save the work when a limit was near: nothing that whoever goes on could use.
    WrapUp,
    /// A prompt that Longhaul sent on its own behalf.
    Longhaul,
    /// The agent's program speaking of itself: error messages, placeholders, marks of an interruption.
    Synthetic,
}

/// What an entry is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// What was asked of the agent: the task, and what a person or Longhaul said later.
    Prompt(String),
    /// What the model said.
    ModelText(String),
    /// The agent's own summary of all that came before.
    Compaction(String),
    /// What the agent's program told the model, such as the end of something in the background.
    AgentNote(String),
    /// A tool call.
    ToolCall(ToolCall),
    /// What a tool call brought.
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
    /// The one argument that says most, if any does.
    pub argument: Option<ToolArgument>,
}

/// The argument of a tool call that says most.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolArgument {
    /// The command that is run.
    Command(String),
    /// The file that is written.
    ChangedFile(String),
    /// Something else: a file that is read, a pattern, an address.
    Other(String),
}

impl ToolArgument {
    /// The argument as it was given.
    pub fn as_str(&self) -> &str {
        match self {
            ToolArgument::Command(text) | ToolArgument::ChangedFile(text) | ToolArgument::Other(text) => text,
        }
    }
}

/// What a tool call brought.
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
    /// It did what it does.
    Ok,
    /// It failed, or was not let run.
    Error,
    /// It was interrupted: it may have taken effect in full, in part or not at all.
    Unknown,
}

impl Conversation {
    /// The first thing that was asked by a person: the task of the session.
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

    /// This and what came after it, where a run had several sessions.
    #[must_use]
    pub fn then(mut self, later: Conversation) -> Conversation {
        self.entries.extend(later.entries);
        self
    }

    /// Adds an entry, unless it says nothing.
    pub(crate) fn push(&mut self, what: EntryKind, provenance: Provenance, at: Option<Moment>) {
        let empty = match &what {
            EntryKind::Prompt(text)
            | EntryKind::ModelText(text)
            | EntryKind::Compaction(text)
            | EntryKind::AgentNote(text) => text.trim().is_empty(),
            EntryKind::ToolCall(_) | EntryKind::ToolResult(_) => false,
        };
        if !empty {
            self.entries.push(ConversationEntry { kind: what, provenance, at });
        }
    }
}
