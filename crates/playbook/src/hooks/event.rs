//! Defines the session events for which Longhaul installs hooks.

use crate::database::QueuedEvent;
use strum::{Display, EnumString, IntoStaticStr};

/// An event of Claude Code that has a Longhaul hook. It is parsed from the agent's word.
#[derive(Clone, Copy, Debug, Display, EnumString, IntoStaticStr, PartialEq, Eq)]
pub enum HookEvent {
    /// The user sent a prompt. The playbook is injected at the first one.
    UserPromptSubmit,
    /// A session starts. The hook runs only after a compaction and injects the playbook again. A compaction
    /// can happen in the middle of an exchange, without a prompt.
    SessionStart,
    /// A session ended.
    SessionEnd,
    /// A session is about to be compacted.
    PreCompact,
    /// A sub-agent finished.
    SubagentStop,
}

impl HookEvent {
    /// All events, in the order of a session.
    pub const ALL: &'static [HookEvent] = &[
        HookEvent::UserPromptSubmit,
        HookEvent::SessionStart,
        HookEvent::PreCompact,
        HookEvent::SubagentStop,
        HookEvent::SessionEnd,
    ];

    /// Returns the word that the agent uses.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Returns the matcher that limits the hook to some events of this kind.
    pub fn matcher(self) -> Option<&'static str> {
        match self {
            HookEvent::SessionStart => Some("compact"),
            HookEvent::UserPromptSubmit
            | HookEvent::SessionEnd
            | HookEvent::PreCompact
            | HookEvent::SubagentStop => None,
        }
    }

    /// Returns the event to queue, or `None` if there is nothing to learn.
    pub fn queued_event(self) -> Option<QueuedEvent> {
        match self {
            HookEvent::SessionEnd => Some(QueuedEvent::SessionEnd),
            HookEvent::PreCompact => Some(QueuedEvent::PreCompact),
            HookEvent::SubagentStop => Some(QueuedEvent::SubagentStop),
            HookEvent::UserPromptSubmit | HookEvent::SessionStart => None,
        }
    }
}
