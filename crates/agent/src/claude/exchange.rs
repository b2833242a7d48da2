//! Collects the state of an exchange until its result: errors in its messages and the hooks around it.
//! Combines it with the `result` event into an [`AgentResult`] of closed enums.

use super::tool_calls::ToolCalls;
use super::vendor_terms;
use super::wire::{ResultLine, StreamLine};
use longhaul_core::{AgentResult, ApiError, MessageError, StopReason, TerminalReason};

#[derive(Clone, Debug, Default)]
pub(super) struct ExchangeState {
    /// The last error message, if no message of the model followed. Errors that the agent recovered from do
    /// not matter.
    api_failure: ApiFailure,
    /// Whether the agent overrode a stop hook that had blocked the end too often.
    pub(super) stop_hook_capped: bool,
}

/// An error message that the agent program wrote, as closed enums.
#[derive(Clone, Copy, Debug, Default)]
struct ApiFailure {
    message_error: Option<MessageError>,
    api_error: Option<ApiError>,
    api_status: Option<u16>,
}

impl ExchangeState {
    pub(super) fn on_synthetic(&mut self, row: &StreamLine<'_>) {
        if !row.is_api_error_message.is_set() && row.error.non_empty().is_none() {
            return;
        }
        let text = row.message.content.0.first().and_then(|block| block.text.text()).unwrap_or_default();
        let api_error_by_sentence =
            || vendor_terms::api_error_by_sentence(&text).filter(|_| row.is_api_error_message.is_set());
        self.api_failure = ApiFailure {
            message_error: row.error.non_empty().map(vendor_terms::message_error),
            api_error: row.api_error.non_empty().map(vendor_terms::api_error).or_else(api_error_by_sentence),
            api_status: status(row.api_error_status.count()),
        };
    }

    pub(super) fn clear_errors(&mut self) {
        self.api_failure = ApiFailure::default();
    }

    pub(super) fn result(&self, line: &ResultLine<'_>, tools: &ToolCalls) -> AgentResult {
        let is_error = is_error(line);
        let failure = self.api_failure;
        let api_status = status(line.api_error_status.count()).or(failure.api_status);
        let api_error = line.api_error.non_empty().map(vendor_terms::api_error).or(failure.api_error);
        // 2.1.330 follows a redirect, unless it names no target.
        let is_redirect = api_status.is_some_and(|status| (300..400).contains(&status));
        AgentResult {
            is_error,
            terminal_reason: terminal_reason(line),
            api_status,
            api_error: api_error.or(is_redirect.then_some(ApiError::Malformed)),
            message_error: failure.message_error,
            stop_reason: line.stop_reason.non_empty().map_or(StopReason::Other, vendor_terms::stop_reason),
            // An empty answer: success is reported, but there is no text.
            empty: !is_error && line.result.as_str().trim().is_empty() && !line.structured_output.is_set(),
            denials: tools
                .denials(line.permission_denials.0.iter().map(|denial| denial.tool_use_id.as_str())),
            stop_hook_capped: self.stop_hook_capped,
        }
    }
}

/// Older versions (2.1.41) report a reached limit only in the subtype.
fn is_error(line: &ResultLine<'_>) -> bool {
    line.is_error.is_set() || line.subtype.as_str().starts_with("error")
}

fn terminal_reason(line: &ResultLine<'_>) -> TerminalReason {
    match line.terminal_reason.non_empty() {
        Some(reason) => vendor_terms::terminal_reason(reason),
        None => vendor_terms::terminal_reason_by_subtype(line.subtype.as_str(), is_error(line)),
    }
}

fn status(number: Option<u64>) -> Option<u16> {
    number.and_then(|number| u16::try_from(number).ok()).filter(|status| (100..=599).contains(status))
}
