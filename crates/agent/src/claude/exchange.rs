//! What a turn brings together until its result: errors of its messages, the hooks around it. Turns it
//! and the `result` event into a closed [`TurnResult`].

use super::tool_calls::ToolCalls;
use super::vendor_terms;
use super::wire::{Head, ResultLine};
use longhaul_core::{AgentResult, ApiError, MessageError, StopReason, TerminalReason};

/// The turn under way.
#[derive(Clone, Debug, Default)]
pub(super) struct ExchangeState {
    /// The error message that nothing of the model's has followed yet. Errors in mid-turn that the
    /// agent survived decide nothing.
    trouble: Option<ApiTrouble>,
    /// Whether the agent overrode a stop hook that had blocked the end too often.
    pub(super) stop_hook_capped: bool,
}

/// A synthetic message of the agent's program, in closed words.
#[derive(Clone, Copy, Debug)]
struct ApiTrouble {
    message_error: Option<MessageError>,
    api_error: Option<ApiError>,
    api_status: Option<u16>,
}

impl ExchangeState {
    /// Takes in a message of the main thread that the agent's program wrote.
    pub(super) fn synthetic(&mut self, row: &Head<'_>) {
        if !row.is_api_error_message.0 && row.error.stated().is_none() {
            return;
        }
        let text = row.message.content.0.first().map_or("", |block| block.text.as_str());
        let by_sentence = || vendor_terms::by_sentence(text).filter(|_| row.is_api_error_message.0);
        self.trouble = Some(ApiTrouble {
            message_error: row.error.stated().map(vendor_terms::message_error),
            api_error: row.api_error.stated().map(vendor_terms::api_error).or_else(by_sentence),
            api_status: status(row.api_error_status.0),
        });
    }

    /// The model said something: what was wrong before is over.
    pub(super) fn clear_errors(&mut self) {
        self.trouble = None;
    }

    /// Ends the turn.
    pub(super) fn result(&self, line: &ResultLine<'_>, tools: &ToolCalls) -> AgentResult {
        let is_error = is_error(line);
        let trouble = self.trouble.as_ref();
        AgentResult {
            is_error,
            terminal_reason: ending(line),
            api_status: status(line.api_error_status.0).or(trouble.and_then(|trouble| trouble.api_status)),
            api_error: line
                .api_error
                .stated()
                .map(vendor_terms::api_error)
                .or(trouble.and_then(|trouble| trouble.api_error)),
            message_error: trouble.and_then(|trouble| trouble.message_error),
            stop_reason: line.stop_reason.stated().map_or(StopReason::Other, vendor_terms::stop_reason),
            empty: !is_error && line.result.as_str().trim().is_empty() && !line.structured_output.0,
            denials: tools
                .denials(line.permission_denials.0.iter().map(|denial| denial.tool_use_id.as_str())),
            stop_hook_capped: self.stop_hook_capped,
        }
    }
}

/// Older versions (2.1.41) call a reached limit an error in the subtype alone.
fn is_error(line: &ResultLine<'_>) -> bool {
    line.is_error.0 || line.subtype.as_str().starts_with("error")
}

fn ending(line: &ResultLine<'_>) -> TerminalReason {
    match line.terminal_reason.stated() {
        Some(reason) => vendor_terms::ending(reason),
        None => vendor_terms::ending_by_subtype(line.subtype.as_str(), is_error(line)),
    }
}

fn status(number: Option<u64>) -> Option<u16> {
    number.and_then(|number| u16::try_from(number).ok()).filter(|status| (100..=599).contains(status))
}
