//! Which tool calls are under way, which were denied by whom, and which ran at all.

use super::wire::ResultMeta;
use std::collections::{BTreeMap, BTreeSet};

// An agent runs a handful of tools at once. More open ones than this is a stream gone wrong.
const OPEN_TOOLS_MAX: usize = 1024;
// Denials are counted to tell none from some.
const DENIALS_MAX: usize = 1024;

/// The tool calls of one process.
#[derive(Clone, Debug, Default)]
pub(super) struct ToolCalls {
    /// The label of each, by id.
    open: BTreeMap<String, String>,
    denied: BTreeSet<String>,
    denied_by_hooks: BTreeSet<String>,
    /// Whether the agent called a tool off by itself: a tool that a guard was asked about and nobody
    /// answered, or one that ended with the process.
    pub(super) cancelled: bool,
}

/// What became of a call that got a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallFate {
    /// It ran.
    Ran,
    /// It was denied or called off before it ran.
    NeverRan,
    /// It was stopped, perhaps while it ran.
    Stopped,
}

/// What the agent's program says about a result tells.
pub(super) fn fate(meta: &ResultMeta<'_>) -> CallFate {
    let is_rejected = meta.permission_decision.decision.is("reject");
    match meta.non_execution_kind.as_str() {
        "" if !is_rejected => CallFate::Ran,
        // 2.1.330 says so of a running tool that an interrupt stopped, too, but without a decision.
        "user-rejected" if !is_rejected => CallFate::Stopped,
        _ => CallFate::NeverRan,
    }
}

impl ToolCalls {
    /// A call began; false if it is known.
    pub(super) fn begin(&mut self, id: &str, label: &str) -> bool {
        let is_new = self.open.len() < OPEN_TOOLS_MAX && !self.open.contains_key(id);
        if is_new {
            self.open.insert(id.to_owned(), label.to_owned());
        }
        is_new
    }

    /// Returns the label of an open call, or `None` if no call is open.
    pub(super) fn open_label(&self) -> Option<&str> {
        self.open.values().next().map(String::as_str)
    }

    /// A call brought a result; false if it is not known.
    pub(super) fn end(&mut self, id: &str) -> bool {
        self.open.remove(id).is_some()
    }

    /// The turn is over, and every call with it.
    pub(super) fn end_all(&mut self) {
        self.open.clear();
    }

    /// A permission rule, or the absence of a person to ask, denied a call.
    pub(super) fn deny(&mut self, id: &str) {
        remember(&mut self.denied, id);
    }

    /// What the agent's program says about a result. A call that a hook denied was denied by a guard:
    /// that is no fault.
    pub(super) fn judge(&mut self, meta: &ResultMeta<'_>) {
        let decision = &meta.permission_decision;
        if decision.decision.is("reject") {
            let denied =
                if decision.source.is("hook") { &mut self.denied_by_hooks } else { &mut self.denied };
            remember(denied, meta.id.as_str());
        }
        self.cancelled |= meta.non_execution_kind.is("cancelled");
    }

    /// How many calls were denied by somebody else than a hook, with those that a result lists.
    pub(super) fn denials<'a>(&self, listed: impl Iterator<Item = &'a str>) -> u32 {
        let listed: BTreeSet<&str> = listed.collect();
        let denied = self.denied.iter().map(String::as_str).chain(listed);
        let denied: BTreeSet<&str> = denied.filter(|id| !self.denied_by_hooks.contains(*id)).collect();
        u32::try_from(denied.len()).unwrap_or(u32::MAX)
    }
}

fn remember(ids: &mut BTreeSet<String>, id: &str) {
    if ids.len() < DENIALS_MAX {
        ids.insert(id.to_owned());
    }
}
