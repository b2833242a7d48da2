//! Tracks the tool calls of a process. The protocol names no tools, only their kinds, so each kind has the
//! name under which guards and effect rules know it.

use crate::activity::with_detail;
use crate::tool_input::{ToolArgument, ToolInput};
use crate::{EffectRules, EffectScope, SideEffects, UnresolvedCall};
use agent_client_protocol_schema::{ToolCallStatus, ToolCallUpdate, ToolKind};
use serde_json::Value;
use std::collections::BTreeMap;
use std::mem;

// An agent runs a handful of tools at once. More open calls than this indicate a damaged stream.
const OPEN_CALLS_MAX: usize = 1024;
// A long attempt makes some thousand calls.
const ENDED_CALLS_MAX: usize = 65_536;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallVerdict {
    Allowed,
    Denied,
    /// The guards do not object, but no one allowed it.
    NotAllowed,
}

#[derive(Clone, Debug, Default)]
pub(super) struct AcpCall {
    kind: ToolKind,
    title: String,
    /// The input as JSON. Empty if the agent has not stated it.
    pub(super) input: String,
    /// The command that it runs, or empty.
    pub(super) command: String,
    started: bool,
    /// Our answer, if the agent asked.
    pub(super) verdict: Option<CallVerdict>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct AcpCalls {
    pub(super) open: BTreeMap<String, AcpCall>,
    /// Ids of calls that ended, or that their exchange left open. Each has whether it is a lapse unless it failed.
    pub(super) ended: BTreeMap<String, bool>,
}

/// The name of tools whose kind says nothing about them.
pub(super) const OTHER: &str = "Other";
const THINK: &str = "Think";
const NO_INPUT: &str = "{}";

pub(super) fn tool_name(kind: ToolKind) -> &'static str {
    match kind {
        ToolKind::Read => "Read",
        ToolKind::Edit | ToolKind::Delete | ToolKind::Move => "Edit",
        ToolKind::Search => "Grep",
        ToolKind::Execute => "Bash",
        ToolKind::Fetch => "WebFetch",
        ToolKind::Think => THINK,
        _ => OTHER,
    }
}

impl AcpCalls {
    /// Merges a statement about a call into what is known of it. Returns `None` if too many calls are open.
    pub(super) fn merge(&mut self, update: &ToolCallUpdate) -> Option<&mut AcpCall> {
        let id = update.tool_call_id.to_string();
        if self.open.len() >= OPEN_CALLS_MAX && !self.open.contains_key(&id) {
            return None;
        }
        let call = self.open.entry(id).or_default();
        let fields = &update.fields;
        call.kind = fields.kind.unwrap_or(call.kind);
        if let Some(title) = &fields.title {
            call.title.clone_from(title);
        }
        if let Some(input) = fields.raw_input.as_ref().filter(|input| !input.is_null()) {
            let json = input.to_string();
            // Some agents ask for permission without repeating the input.
            if json != NO_INPUT || call.input.is_empty() {
                call.input = json;
                call.command = command(input);
            }
        }
        Some(call)
    }

    pub(super) fn add_ended(&mut self, id: &str, is_lapse: bool) {
        if self.ended.len() < ENDED_CALLS_MAX {
            self.ended.insert(id.to_owned(), is_lapse);
        }
    }

    pub(super) fn open_label(&self) -> Option<String> {
        self.open.values().next().map(AcpCall::label)
    }
}

impl AcpCall {
    /// Returns the name of its tool for guards and effect rules.
    pub(super) fn tool(&self) -> &'static str {
        tool_name(self.kind)
    }

    /// Returns the input for guards. A missing input counts as denied. So does an empty one as long as the call is open:
    /// the agent may not have stated the input yet. In the end, a tool of an unknown kind may have none.
    pub(super) fn guarded_input(&self, has_ended: bool) -> &str {
        let may_be_empty = has_ended && [OTHER, THINK].contains(&self.tool());
        if self.input == NO_INPUT && !may_be_empty { "" } else { &self.input }
    }

    pub(super) fn label(&self) -> String {
        let argument = ToolInput::parse(&self.input).argument(self.tool());
        let argument = argument.as_ref().map_or(self.title.as_str(), ToolArgument::as_str);
        with_detail(self.tool(), argument.lines().next().unwrap_or_default())
    }

    /// Records its start, once. Returns whether this was the start.
    pub(super) fn start(&mut self, id: &str, side_effects: &mut SideEffects, effects: &EffectRules) -> bool {
        if mem::replace(&mut self.started, true) {
            return false;
        }
        if !effects.is_read_only(self.tool()) {
            let scope = effects.scope(self.tool(), &self.command);
            let effect = match &scope {
                EffectScope::Workspace | EffectScope::Tool => self.label(),
                EffectScope::Commands(commands) => with_detail(self.tool(), &commands.join("; ")),
            };
            side_effects.on_start(UnresolvedCall {
                id: id.to_owned(),
                effect,
                is_outside: scope != EffectScope::Workspace,
                in_background: false,
                is_subagent: false,
                time: None,
            });
        }
        true
    }
}

pub(super) fn has_ended(status: ToolCallStatus) -> bool {
    matches!(status, ToolCallStatus::Completed | ToolCallStatus::Failed)
}

/// Returns the command in an input: a text, or words.
fn command(input: &Value) -> String {
    match input.get("command").or_else(|| input.get("cmd")) {
        Some(Value::String(command)) => command.clone(),
        Some(Value::Array(words)) => words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" "),
        _ => String::new(),
    }
}
