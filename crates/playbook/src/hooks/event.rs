//! The events of a session that we are called at.

use crate::database::QueuedEvent;
use std::fmt;

/// An event of Claude Code's that has a hook of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookEvent {
    /// The user said something: the first time, the playbook is told.
    UserPromptSubmit,
    /// A session begins. We are called for one that was compacted, as that may be in the middle of a turn, where nobody says
    /// anything: the playbook is told again.
    SessionStart,
    /// A session is over.
    SessionEnd,
    /// A session's older part is about to be replaced by a summary.
    PreCompact,
    /// A sub-agent is done.
    SubagentStop,
}

impl HookEvent {
    /// Every one, in the order of a session.
    pub const ALL: &'static [HookEvent] = &[
        HookEvent::UserPromptSubmit,
        HookEvent::SessionStart,
        HookEvent::PreCompact,
        HookEvent::SubagentStop,
        HookEvent::SessionEnd,
    ];

    /// The word, as the agent has it.
    pub fn as_str(self) -> &'static str {
        match self {
            HookEvent::UserPromptSubmit => "UserPromptSubmit",
            HookEvent::SessionStart => "SessionStart",
            HookEvent::SessionEnd => "SessionEnd",
            HookEvent::PreCompact => "PreCompact",
            HookEvent::SubagentStop => "SubagentStop",
        }
    }

    /// The event of this word.
    pub fn parse(word: &str) -> Option<HookEvent> {
        HookEvent::ALL.iter().copied().find(|event| event.as_str() == word)
    }

    /// What we ask the agent to call us for, of all the events of this kind.
    pub fn matcher(self) -> Option<&'static str> {
        match self {
            HookEvent::SessionStart => Some("compact"),
            HookEvent::UserPromptSubmit
            | HookEvent::SessionEnd
            | HookEvent::PreCompact
            | HookEvent::SubagentStop => None,
        }
    }

    /// What there is to learn at it, if anything.
    pub fn queued_event(self) -> Option<QueuedEvent> {
        match self {
            HookEvent::SessionEnd => Some(QueuedEvent::SessionEnd),
            HookEvent::PreCompact => Some(QueuedEvent::PreCompact),
            HookEvent::SubagentStop => Some(QueuedEvent::SubagentStop),
            HookEvent::UserPromptSubmit | HookEvent::SessionStart => None,
        }
    }
}

impl fmt::Display for HookEvent {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(self.as_str())
    }
}
