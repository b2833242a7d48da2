//! Tracks the tool calls of a process: which are running, which were denied and by what, and which did not
//! run.

use super::wire::ResultMeta;
use std::collections::{BTreeMap, BTreeSet};

// An agent runs a handful of tools at once. More open calls than this indicate a damaged stream.
const OPEN_TOOLS_MAX: usize = 1024;
// The count of denials only has to distinguish some from none.
const DENIALS_MAX: usize = 1024;

#[derive(Clone, Debug, Default)]
pub(super) struct ToolCalls {
    /// The label of each open call, by id.
    pub(super) open: BTreeMap<String, String>,
    denied: BTreeSet<String>,
    denied_by_hooks: BTreeSet<String>,
    /// Whether the agent cancelled a tool call on its own: a guard's verdict was missing, or the process
    /// ended.
    pub(super) cancelled: bool,
}

impl ToolCalls {
    /// Records the start of a call. Returns `false` if it was recorded before.
    pub(super) fn start(&mut self, id: &str, label: &str) -> bool {
        let is_new = self.open.len() < OPEN_TOOLS_MAX && !self.open.contains_key(id);
        if is_new {
            self.open.insert(id.to_owned(), label.to_owned());
        }
        is_new
    }

    pub(super) fn open_label(&self) -> Option<&str> {
        self.open.values().next().map(String::as_str)
    }

    /// Records the result of a call. Returns `false` if the call is unknown.
    pub(super) fn end(&mut self, id: &str) -> bool {
        self.open.remove(id).is_some()
    }

    /// Records that a permission rule, or the absence of a person to ask, denied a call.
    pub(super) fn deny(&mut self, id: &str) {
        remember(&mut self.denied, id);
    }

    /// Records the metadata of a result. A call that a hook denied was denied by a guard, which is not a
    /// fault.
    pub(super) fn record_metadata(&mut self, meta: &ResultMeta<'_>) {
        let decision = &meta.permission_decision;
        if decision.decision.is("reject") {
            let denied =
                if decision.source.is("hook") { &mut self.denied_by_hooks } else { &mut self.denied };
            remember(denied, meta.id.as_str());
        }
        self.cancelled |= meta.non_execution_kind.is("cancelled");
    }

    /// Returns the number of calls that were denied, but not by a hook, including those that a result lists.
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
