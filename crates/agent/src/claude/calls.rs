//! Enters the agent's tool calls into the deeds of its attempt.

use super::activity::{named, says_most};
use super::tools::{Fate, fate};
use super::wire::{Block, Head};
use super::words;
use crate::{Deeds, Effects, Reach, Unfinished};

/// The model calls a tool.
pub(super) fn began(deeds: &mut Deeds, effects: &Effects, call: &Block<'_>, row: &Head<'_>) {
    let tool = call.name.as_str();
    if effects.only_looks(tool) {
        return;
    }
    let reach = effects.reach(tool, call.input.command.as_str());
    let what = match &reach {
        Reach::Inside | Reach::Tool => named(tool, says_most(&call.input)),
        // A script may begin with anything; these are what counts.
        Reach::Commands(commands) => named(tool, &commands.join("; ")),
    };
    deeds.began(Unfinished {
        id: call.id.as_str().to_owned(),
        what,
        is_outside: reach != Reach::Inside,
        in_background: call.input.run_in_background.0,
        of_subagent: row.parent_tool_use_id.stated().is_some(),
        when: words::utc_minute(row.timestamp.as_str()),
    });
}

/// A row brings the result of a call.
pub(super) fn answered(deeds: &mut Deeds, result: &Block<'_>, row: &Head<'_>) {
    let id = result.tool_use_id.as_str();
    let meta = row.tool_result_meta.0.iter().find(|meta| meta.id.is(id));
    match meta.map_or(Fate::Ran, fate) {
        Fate::Ran => deeds.answered(id, result.is_error.0, words::utc_minute(row.timestamp.as_str())),
        Fate::NeverRan => deeds.never_ran(id),
        // Nobody knows how far it came.
        Fate::Stopped => {}
    }
}
