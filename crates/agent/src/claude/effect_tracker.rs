//! Records the agent's tool calls as side effects of its attempt.

use super::vendor_terms;
use super::wire::{Block, StreamLine};
use crate::activity::with_detail;
use crate::tool_input::{ToolArgument, ToolInput};
use crate::{EffectRules, EffectScope, SideEffects, UnresolvedCall};

pub(super) fn on_call(
    side_effects: &mut SideEffects,
    effects: &EffectRules,
    call: &Block<'_>,
    input: &ToolInput<'_>,
    argument: Option<&ToolArgument<'_>>,
    row: &StreamLine<'_>,
) {
    let tool = call.name.as_str();
    if effects.is_read_only(tool) {
        return;
    }
    let script = match argument {
        Some(ToolArgument::Command(script)) => script,
        Some(ToolArgument::ChangedFile(_) | ToolArgument::Other(_)) | None => "",
    };
    let scope = effects.scope(tool, script);
    let effect = match &scope {
        EffectScope::Workspace | EffectScope::Tool => {
            with_detail(tool, argument.map_or("", ToolArgument::as_str))
        }
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
    let is_rejected = meta.is_some_and(|meta| meta.permission_decision.decision.is("reject"));
    match meta.map_or("", |meta| meta.non_execution_kind.as_str()) {
        "" if !is_rejected => {
            let time = vendor_terms::utc_minute(row.timestamp.as_str());
            side_effects.on_result(id, result.is_error.is_set(), time);
        }
        // 2.1.330 also reports this for a running tool that an interrupt stopped, but without a decision. It
        // is unknown how far the call got.
        "user-rejected" if !is_rejected => {}
        _ => side_effects.on_never_ran(id),
    }
}
