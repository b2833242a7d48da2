//! Defines the session events for which Longhaul installs hooks.

use crate::database::QueuedEvent;
use longhaul_core::word_enum;
use strum::EnumString;

word_enum! {
    /// An event of Claude Code that has a Longhaul hook, with the agent's word, in the order of a session.
    #[derive(EnumString)]
    pub enum HookEvent {
        /// The user sent a prompt. The playbook is injected at the first one.
        UserPromptSubmit = "UserPromptSubmit",
        /// A session starts. The hook runs only after a compaction and injects the playbook again. A
        /// compaction can happen in the middle of an exchange, without a prompt.
        SessionStart = "SessionStart",
        /// A session is about to be compacted.
        PreCompact = "PreCompact",
        /// A sub-agent finished.
        SubagentStop = "SubagentStop",
        /// A session ended.
        SessionEnd = "SessionEnd",
    }
}

impl HookEvent {
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
