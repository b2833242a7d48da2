//! Builds the result event that ends an exchange.

use std::time::Instant;

use serde_json::{Value, json};

use super::agent::Agent;
use super::emit::usage;
use super::exchange_state::Exchange;
use super::failure::Failure;
use longhaul_core::Tokens;

#[derive(Debug, Clone)]
pub(super) enum ExchangeEnd {
    /// The model was done, or a hook ended the exchange (`hook_stopped`). Contains the last text.
    Completed {
        text: String,
        reason: &'static str,
    },
    Failed(Failure),
    /// The exchange was stopped: `aborted_tools`, `aborted_streaming`.
    Aborted(&'static str),
    /// `--max-turns`.
    MaxTurns(u32),
    /// `--max-budget-usd`.
    MaxBudget(f64),
    /// The model returned too many invalid results.
    InvalidOutputs,
}

impl Agent {
    /// Emits the result of an exchange and sets the exit code.
    pub(super) fn emit_result(&mut self, exchange: &Exchange, end: &ExchangeEnd, started: Instant) {
        let mut result = json!({
            "duration_ms": started.elapsed().as_millis() as u64,
            "duration_api_ms": self.api_time.as_millis() as u64,
            "num_turns": 1 + exchange.user_events, "stop_reason": exchange.stop_reason, "usage": usage(&exchange.usage),
            "total_cost_usd": self.cost_meter.dollars(), "modelUsage": self.cost_meter.model_usage(),
            "model_usage_since_last_result": self.cost_meter.since_last_result(),
            "permission_denials": exchange.denials,
        });
        if let Some(output) = &exchange.structured_output {
            result["structured_output"] = output.clone();
        }
        if exchange.is_notification {
            result["origin"] = json!({"kind": "task-notification"});
        }
        let is_error = fill(&mut result, exchange, end);
        if let Some(value) = self.structured_answer(&result) {
            result["structured_output"] = value;
        }
        self.exit_code = u8::from(is_error);
        self.out.result(result);
    }

    /// Returns the answer as a value. The script decides whether it matches the schema.
    fn structured_answer(&self, result: &Value) -> Option<Value> {
        let text = result["result"].as_str().filter(|_| self.flags.json_schema.is_some())?;
        serde_json::from_str(text).ok()
    }
}

/// Adds the fields that depend on how the exchange ended. Returns whether the result is an error.
fn fill(result: &mut Value, exchange: &Exchange, end: &ExchangeEnd) -> bool {
    let (subtype, is_error, reason) = match end {
        ExchangeEnd::Completed { text, reason } => {
            result["result"] = json!(text);
            result["api_error_status"] = Value::Null;
            ("success", false, *reason)
        }
        ExchangeEnd::Failed(failure) => {
            result["result"] = json!(failure.text);
            result["api_error_status"] = json!(failure.status);
            result["stop_reason"] = json!(failure.stop_reason());
            if let Some(api_error) = failure.api_error {
                result["api_error"] = json!(api_error);
            }
            let terminal_reason = failure.terminal_reason;
            ("success", true, if terminal_reason.is_empty() { "api_error" } else { terminal_reason })
        }
        ExchangeEnd::Aborted(reason) => {
            let stop_reason = exchange.stop_reason.as_deref().unwrap_or("null");
            let diagnostic =
                format!("[ede_diagnostic] result_type=user last_content_type=n/a stop_reason={stop_reason}");
            result["errors"] = json!([diagnostic]);
            ("error_during_execution", true, *reason)
        }
        ExchangeEnd::MaxTurns(limit) => {
            result["errors"] = json!([format!("Reached maximum number of turns ({limit})")]);
            ("error_max_turns", true, "max_turns")
        }
        ExchangeEnd::MaxBudget(limit) => {
            result["errors"] = json!([format!("Reached maximum budget (${limit})")]);
            ("error_max_budget_usd", true, "budget_exhausted")
        }
        ExchangeEnd::InvalidOutputs => {
            let attempts = exchange.invalid_outputs;
            result["errors"] =
                json!([format!("Failed to provide valid structured output after {attempts} attempts")]);
            ("error_max_structured_output_retries", true, "structured_output_retry_exhausted")
        }
    };
    result["subtype"] = json!(subtype);
    result["is_error"] = json!(is_error);
    result["terminal_reason"] = json!(reason);
    is_error
}

/// Returns the result of a failed start, with zero usage.
pub(super) fn failed_start(error: &str, reason: Option<&str>) -> Value {
    let mut result = json!({
        "subtype": "error_during_execution", "duration_ms": 0, "duration_api_ms": 0, "is_error": true, "num_turns": 0,
        "stop_reason": null, "total_cost_usd": 0, "usage": usage(&Tokens::default()), "modelUsage": {},
        "permission_denials": [], "errors": [error],
    });
    if let Some(reason) = reason {
        result["startup_failure_reason"] = json!(reason);
    }
    result
}
