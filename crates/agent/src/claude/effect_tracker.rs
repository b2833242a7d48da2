//! Records the agent's tool calls as side effects of its attempt.

use super::activity::{main_argument, with_detail};
use super::tool_calls::{CallExecution, call_execution};
use super::vendor_terms;
use super::wire::{Block, StreamLine};
use crate::tool_input::ToolInput;
use crate::{EffectRules, EffectScope, SideEffects, UnresolvedCall};

pub(super) fn on_call(
    side_effects: &mut SideEffects,
    effects: &EffectRules,
    call: &Block<'_>,
    input: &ToolInput<'_>,
    row: &StreamLine<'_>,
) {
    let tool = call.name.as_str();
    if effects.is_read_only(tool) {
        return;
    }
    let scope = effects.scope(tool, &input.text("command").unwrap_or_default());
    let effect = match &scope {
        EffectScope::Workspace | EffectScope::Tool => with_detail(tool, &main_argument(tool, input)),
        // A script may start with anything; only these commands matter.
        EffectScope::Commands(commands) => with_detail(tool, &commands.join("; ")),
    };
    side_effects.on_start(UnresolvedCall {
        id: call.id.as_str().to_owned(),
        effect,
        is_outside: scope != EffectScope::Workspace,
        in_background: input.is_true("run_in_background"),
        is_subagent: row.parent_tool_use_id.non_empty().is_some(),
        time: vendor_terms::utc_minute(row.timestamp.as_str()),
    });
}

pub(super) fn on_result(side_effects: &mut SideEffects, result: &Block<'_>, row: &StreamLine<'_>) {
    let id = result.tool_use_id.as_str();
    let meta = row.tool_result_meta.0.iter().find(|meta| meta.id.is(id));
    match meta.map_or(CallExecution::Ran, call_execution) {
        CallExecution::Ran => side_effects.on_result(
            id,
            result.is_error.is_set(),
            vendor_terms::utc_minute(row.timestamp.as_str()),
        ),
        CallExecution::NeverRan => side_effects.on_never_ran(id),
        // It is unknown how far the call got.
        CallExecution::Stopped => {}
    }
}
