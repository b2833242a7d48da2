//! Resume strategies: how the history of a conversation reaches an attempt.
//!
//! From best to worst: the session as-is, a copy of its file, a repaired file, a fork, a new session with a
//! handoff prompt, and a new session with only the task.

use crate::{AttemptPlan, Fault, PromptKind, SessionPlan, words::stored_enum};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

stored_enum! {
    /// How the history of a conversation reaches an attempt.
    pub enum ResumeStrategy {
        /// The session, unchanged.
        AsIs = "as_is",
        /// A copy of the session's file, in the location where the agent searches.
        Relocate = "relocate",
        /// The session's file, with damaged parts removed and missing parts added. The original is kept.
        Repair = "repair",
        /// A new session that starts with the history of the old one.
        Fork = "fork",
        /// A new session that starts with the handoff prompt.
        Handoff = "handoff",
        /// A new session that starts with only the task.
        Fresh = "fresh",
    }
}

stored_enum! {
    /// The state of the file of a session to resume.
    pub enum SessionFileState {
        /// The file is complete and where the agent searches. Also used if only the agent can read it.
        Ready = "ready",
        /// The file is where the agent searches, but parts of it are not rows.
        Damaged = "damaged",
        /// The file is where the agent searches, but lacks messages that are in the output stream of the agent.
        Stale = "stale",
        /// The file is elsewhere: under another working directory or configuration, or in the run directory.
        Elsewhere = "elsewhere",
        /// The file contains no conversation.
        Empty = "empty",
        /// The file does not exist.
        Missing = "missing",
    }
}

/// The reason for a resume strategy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StrategyReason {
    /// The state of the session's file.
    SessionFile(SessionFileState),
    /// This fault: the session cannot continue.
    Fault(Fault),
    /// No session was opened, or it contains no messages.
    NeverOpened,
}

/// How the conversation of an ended attempt relates to the one that it resumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Continuity {
    /// The new messages follow the end of the earlier history.
    Continued,
    /// The file contains no new messages.
    Unchanged,
    /// The new messages follow an older message. Later messages are no longer in the history.
    Branched,
    /// The new messages follow nothing in the earlier history: the agent silently started from scratch.
    Unrelated,
}

/// Returns the strategy for a session in this state, or `None` if it cannot be resumed. A strategy that was
/// tried since the last progress is not tried again for the same reason.
pub(crate) fn strategy_for(
    plan: &SessionPlan,
    state: SessionFileState,
    tried: &BTreeSet<ResumeStrategy>,
) -> Option<ResumeStrategy> {
    let is_fork = matches!(plan, SessionPlan::Fork { .. });
    match state {
        SessionFileState::Empty | SessionFileState::Missing => None,
        _ if is_fork => Some(ResumeStrategy::Fork),
        SessionFileState::Ready => Some(ResumeStrategy::AsIs),
        // The agent skips parts that are not rows, and its prompt names the missing messages. So a file that
        // is damaged again after a repair does no harm.
        SessionFileState::Damaged | SessionFileState::Stale if tried.contains(&ResumeStrategy::Repair) => {
            Some(ResumeStrategy::AsIs)
        }
        SessionFileState::Damaged | SessionFileState::Stale => Some(ResumeStrategy::Repair),
        SessionFileState::Elsewhere if tried.contains(&ResumeStrategy::Relocate) => None,
        SessionFileState::Elsewhere => Some(ResumeStrategy::Relocate),
    }
}

/// Returns the strategy of a new session that follows another attempt, with its reason. A handoff prompt that
/// did not help is not sent again without progress.
pub(crate) fn strategy_for_new_session(
    plan: &AttemptPlan,
    tried: &BTreeSet<ResumeStrategy>,
    has_history: bool,
) -> (ResumeStrategy, StrategyReason) {
    let PromptKind::TaskAfterLoss(fault) = plan.prompt else {
        return (ResumeStrategy::Fresh, StrategyReason::NeverOpened);
    };
    let is_handoff = has_history && !tried.contains(&ResumeStrategy::Handoff);
    let strategy = if is_handoff { ResumeStrategy::Handoff } else { ResumeStrategy::Fresh };
    (strategy, StrategyReason::Fault(fault))
}
