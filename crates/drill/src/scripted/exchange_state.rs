//! Defines the state of one exchange. It emits nothing.

use serde_json::Value;

use super::message_builder::Message;
use longhaul_core::Tokens;

#[derive(Debug, Default)]
pub(super) struct Exchange {
    pub is_notification: bool,
    /// Number of user messages emitted, which `num_turns` reports.
    pub user_events: u32,
    pub usage: Tokens,
    pub denials: Vec<Value>,
    pub stop_reason: Option<String>,
    pub truncated: Option<Message>,
    pub lost_in_stream: bool,
    pub safety_stops: u32,
    pub requests: u32,
    pub nudged: bool,
    /// Whether the model was asked to call the tool for its result.
    pub enforced: bool,
    /// Number of invalid results that the model returned with that tool.
    pub invalid_outputs: u32,
    /// The valid result.
    pub structured_output: Option<Value>,
    pub pending: Vec<Value>,
    pub hook_stopped: bool,
}
