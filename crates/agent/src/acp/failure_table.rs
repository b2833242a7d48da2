//! Recognizes failed requests by the marks that each agent leaves. The marks are a table: see
//! `failures.toml`.

use crate::toml_table;
use longhaul_core::{AgentResult, MessageError, StopReason, TerminalReason};
use serde::Deserialize;
use serde_json::Value;
use std::sync::LazyLock;

static BUNDLED: LazyLock<FailureTable> =
    // A test parses the bundled table. With an empty one, every failure is unknown.
    LazyLock::new(|| toml_table::parse(include_str!("failures.toml")).unwrap_or_default());

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FailureTable {
    mark: Vec<Mark>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Mark {
    #[serde(default)]
    agents: Vec<String>,
    at: String,
    is: Option<Value>,
    starts_with: Option<String>,
    without: Option<String>,
    #[serde(default)]
    status: bool,
    means: Option<MessageError>,
    terminal: Option<TerminalReason>,
}

/// The result of an exchange that failed for an unknown reason.
pub(super) const FAILED: AgentResult = AgentResult {
    is_error: true,
    terminal_reason: TerminalReason::ApiError,
    stop_reason: StopReason::Other,
    ..AgentResult::COMPLETED
};

/// The result of an exchange with a model that the agent does not offer.
pub(super) const UNKNOWN_MODEL: AgentResult =
    AgentResult { message_error: Some(MessageError::ModelNotFound), ..FAILED };

impl FailureTable {
    pub(super) fn bundled() -> &'static FailureTable {
        &BUNDLED
    }

    /// Returns the failed result that the first matching mark reports, or `None` if no mark matches.
    pub(super) fn find(&self, agent: &str, facts: &Value) -> Option<AgentResult> {
        self.mark.iter().filter(|mark| mark.is_of(agent)).find_map(|mark| mark.find(facts))
    }
}

impl Mark {
    fn is_of(&self, agent: &str) -> bool {
        self.agents.is_empty() || self.agents.iter().any(|name| name == agent)
    }

    fn find(&self, facts: &Value) -> Option<AgentResult> {
        let value = facts.pointer(&self.at)?;
        let is_absent = |at: &String| facts.pointer(at).is_none_or(Value::is_null);
        let rest = match &self.starts_with {
            Some(start) => Some(value.as_str()?.strip_prefix(start)?),
            None => value.as_str(),
        };
        let status = if self.status { Some(status(value, rest)?) } else { None };
        let matches = self.is.as_ref().is_none_or(|expected| expected == value)
            && self.without.as_ref().is_none_or(is_absent);
        let terminal_reason = self.terminal.unwrap_or(FAILED.terminal_reason);
        let failed = AgentResult { terminal_reason, api_status: status, message_error: self.means, ..FAILED };
        matches.then_some(failed)
    }
}

/// Returns the HTTP status in a number, or at the start of a text.
fn status(value: &Value, text: Option<&str>) -> Option<u16> {
    let digits = || text?.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok();
    let number = value.as_u64().or_else(digits)?;
    u16::try_from(number).ok().filter(|status| (400..=599).contains(status))
}

#[cfg(test)]
mod tests {
    use super::FailureTable;
    use longhaul_core::{Evidence, Exit, Fault, classify};
    use serde_json::{Value, json};

    #[test]
    fn bundled_table_maps_measured_failures() {
        let table: FailureTable =
            crate::toml_table::parse(include_str!("failures.toml")).expect("the bundled table is valid");
        let check = |agent: &str, facts: Value, expected: Option<Fault>| {
            let failure = table.find(agent, &facts);
            let fault = failure.and_then(|failure| {
                classify(&Evidence { result: Some(failure), ..Evidence::from_exit(Exit::Code(0)) })
            });
            assert_eq!(fault, expected, "{agent}: {facts}");
        };
        check("gemini-cli", json!({"error": {"code": 429}}), Some(Fault::RateLimited));
        check("gemini-cli", json!({"error": {"code": 401}}), Some(Fault::Auth));
        check("gemini-cli", json!({"error": {"code": 400}}), Some(Fault::BadRequest));
        check(
            "qwen-code",
            json!({"error": {"code": -32603, "data": {"details": "500 x"}}}),
            Some(Fault::ServerError),
        );
        check("qwen-code", json!({"error": {"code": -32603, "data": {"details": "5000"}}}), None);
        check("any", json!({"error": {"code": -32000}}), Some(Fault::Auth));
        for (word, fault) in [
            ("rate_limit", Fault::RateLimited),
            ("overloaded", Fault::Overloaded),
            ("server_error", Fault::ServerError),
            ("billing_error", Fault::Billing),
            ("model_not_found", Fault::ModelUnknown),
        ] {
            check("any", json!({"error": {"code": -32603, "data": {"errorKind": word}}}), Some(fault));
        }
        let codex = json!({"update": {"_meta": {"codex": {"threadStatus": {"type": "systemError"}}}}});
        check("codex-acp", codex, Some(Fault::ServerError));
        // The answers of codex-acp 0.16 to injected failures.
        let zed = |info: Value, message: &str| {
            json!({"error": {"code": -32603, "message": "Internal error",
                "data": {"message": message, "codex_error_info": info}}})
        };
        for (info, message, fault) in [
            (json!("other"), "unexpected status 401 Unauthorized: injected 401, url: http://h", Fault::Auth),
            (json!("other"), "unexpected status 402 Payment Required: injected 402", Fault::Billing),
            (json!("other"), "unexpected status 503 Service Unavailable: injected 503", Fault::ServerError),
            (json!("other"), "unexpected status 529 <unknown status code>: injected", Fault::Overloaded),
            (json!("other"), "stream disconnected before completion: stream closed", Fault::ServerError),
            (json!("internal_server_error"), "We're currently experiencing high demand", Fault::ServerError),
            (json!("usage_limit_exceeded"), "Quota exceeded. Check your plan", Fault::RateLimited),
            (json!("context_window_exceeded"), "Codex ran out of room", Fault::ContextFull),
            (
                json!({"response_too_many_failed_attempts": {"http_status_code": 429}}),
                "exceeded retry limit, last status: 429 Too Many Requests",
                Fault::RateLimited,
            ),
        ] {
            check("codex-acp", zed(info, message), Some(fault));
        }
        check("codex-acp", zed(json!("other"), "{\"error\": {\"code\": 401}}"), None);
        // The answers of gemini-cli 0.61 after a cut stream, and after a served request.
        let gemini = |usage: Value, tokens: u64| {
            json!({"text": "par", "result": {"stopReason": "end_turn", "_meta": {"quota": {
                "token_count": {"input_tokens": tokens, "output_tokens": 0}, "model_usage": usage}}}})
        };
        check("gemini-cli", gemini(json!([]), 0), Some(Fault::ServerError));
        let served = json!([{"model": "m", "token_count": {"input_tokens": 10, "output_tokens": 0}}]);
        check("gemini-cli", gemini(served, 10), None);
        let text = json!({"text": "Error: 529", "result": {"stopReason": "end_turn"}});
        check("Copilot", text.clone(), Some(Fault::Unknown));
        // Another agent's model may write this.
        check("opencode", text, None);
        check("Copilot", json!({"text": "Error: x", "result": {"usage": {"totalTokens": 1}}}), None);
        check(
            "opencode",
            json!({"error": {"code": -32603, "message": "Internal error: injected 429"}}),
            None,
        );
    }
}
