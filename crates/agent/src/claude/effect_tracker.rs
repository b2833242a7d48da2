//! Enters the agent's tool calls into the deeds of its attempt.

use super::activity::{named, says_most};
use super::tool_calls::{CallFate, fate};
use super::vendor_terms;
use super::wire::{Block, Head};
use crate::{EffectRules, EffectScope, SideEffects, UnresolvedCall};

/// The model calls a tool.
pub(super) fn began(side_effects: &mut SideEffects, effects: &EffectRules, call: &Block<'_>, row: &Head<'_>) {
    let tool = call.name.as_str();
    if effects.is_read_only(tool) {
        return;
    }
    let reach = effects.scope(tool, call.input.command.as_str());
    let what = match &reach {
        EffectScope::Workspace | EffectScope::Tool => named(tool, says_most(&call.input)),
        // A script may begin with anything; these are what counts.
        EffectScope::Commands(commands) => named(tool, &commands.join("; ")),
    };
    side_effects.on_start(UnresolvedCall {
        id: call.id.as_str().to_owned(),
        effect: what,
        is_outside: reach != EffectScope::Workspace,
        in_background: call.input.run_in_background.0,
        of_subagent: row.parent_tool_use_id.stated().is_some(),
        when: vendor_terms::utc_minute(row.timestamp.as_str()),
    });
}

/// A row brings the result of a call.
pub(super) fn answered(side_effects: &mut SideEffects, result: &Block<'_>, row: &Head<'_>) {
    let id = result.tool_use_id.as_str();
    let meta = row.tool_result_meta.0.iter().find(|meta| meta.id.is(id));
    match meta.map_or(CallFate::Ran, fate) {
        CallFate::Ran => {
            side_effects.on_result(id, result.is_error.0, vendor_terms::utc_minute(row.timestamp.as_str()))
        }
        CallFate::NeverRan => side_effects.on_never_ran(id),
        // Nobody knows how far it came.
        CallFate::Stopped => {}
    }
}
