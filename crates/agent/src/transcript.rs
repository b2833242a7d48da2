//! What was said and done in a session, in no agent's dialect. Built by a dialect from a session file or
//! from recorded streams; a seed ([`seed()`](crate::seed())) is written from it.
//!
//! Every entry says where it comes from, and that is known by identity and by fields that the vendor
//! set, never by the words it holds: work that mentions "500" or "continue" is work.

use longhaul_core::Moment;

/// What was said and done, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transcript {
    /// Everything, in the order it was recorded.
    pub entries: Vec<Entry>,
}

/// One thing said or done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What it is.
    pub what: What,
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
    Ours,
    /// The agent's program speaking of itself: error messages, placeholders, marks of an interruption.
    Synthetic,
}

/// What an entry is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// What was asked of the agent: the task, and what a person or Longhaul said later.
    Asked(String),
    /// What the model said.
    Said(String),
    /// The agent's own summary of all that came before.
    Summarised(String),
    /// What the agent's program told the model, such as the end of something in the background.
    Told(String),
    /// A tool call.
    Called(Call),
    /// What a tool call brought.
    Answered(Answer),
}

/// A tool call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Its id.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// All arguments, as JSON.
    pub input: String,
    /// The one argument that says most, if any does.
    pub argument: Option<Argument>,
}

/// The argument of a tool call that says most.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// The command that is run.
    Command(String),
    /// The file that is written.
    ChangedFile(String),
    /// Something else: a file that is read, a pattern, an address.
    Other(String),
}

impl Argument {
    /// The argument as it was given.
    pub fn as_str(&self) -> &str {
        match self {
            Argument::Command(text) | Argument::ChangedFile(text) | Argument::Other(text) => text,
        }
    }
}

/// What a tool call brought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The id of the call.
    pub call: String,
    /// How the call ended.
    pub kind: AnswerKind,
    /// The text of the result.
    pub text: String,
}

/// How a tool call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerKind {
    /// It did what it does.
    Fine,
    /// It failed, or was not let run.
    Error,
    /// It was interrupted: it may have taken effect in full, in part or not at all.
    Unknown,
}

impl Transcript {
    /// The first thing that was asked by a person: the task of the session.
    pub fn task(&self) -> Option<&str> {
        self.entries.iter().find_map(|entry| match &entry.what {
            What::Asked(text) if entry.provenance == Provenance::Work => Some(text.as_str()),
            What::Asked(_)
            | What::Said(_)
            | What::Summarised(_)
            | What::Told(_)
            | What::Called(_)
            | What::Answered(_) => None,
        })
    }

    /// This and what came after it, where a run had several sessions.
    #[must_use]
    pub fn followed_by(mut self, later: Transcript) -> Transcript {
        self.entries.extend(later.entries);
        self
    }

    /// Adds an entry, unless it says nothing.
    pub(crate) fn push(&mut self, what: What, provenance: Provenance, at: Option<Moment>) {
        let empty = match &what {
            What::Asked(text) | What::Said(text) | What::Summarised(text) | What::Told(text) => {
                text.trim().is_empty()
            }
            What::Called(_) | What::Answered(_) => false,
        };
        if !empty {
            self.entries.push(Entry { what, provenance, at });
        }
    }
}
