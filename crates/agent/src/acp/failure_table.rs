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

/// The table.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FailureTable {
    mark: Vec<Mark>,
}

/// A mark of a failed request.
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
}

/// A failed request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RequestFailure {
    /// The HTTP status.
    pub(super) status: Option<u16>,
    pub(super) error: Option<MessageError>,
}

impl FailureTable {
    pub(super) fn bundled() -> &'static FailureTable {
        &BUNDLED
    }

    /// Returns the failure that the first matching mark reports, or `None` if no mark matches.
    pub(super) fn find(&self, agent: &str, facts: &Value) -> Option<RequestFailure> {
        self.mark.iter().filter(|mark| mark.is_of(agent)).find_map(|mark| mark.find(facts))
    }
}

impl Mark {
    fn is_of(&self, agent: &str) -> bool {
        self.agents.is_empty() || self.agents.iter().any(|name| name == agent)
    }

    fn find(&self, facts: &Value) -> Option<RequestFailure> {
        let value = facts.pointer(&self.at)?;
        let is_absent = |at: &String| facts.pointer(at).is_none_or(Value::is_null);
        let status = if self.status { Some(status(value)?) } else { None };
        let starts = |start: &String| value.as_str().is_some_and(|text| text.starts_with(start));
        let matches = self.is.as_ref().is_none_or(|expected| expected == value)
            && self.starts_with.as_ref().is_none_or(starts)
            && self.without.as_ref().is_none_or(is_absent);
        matches.then_some(RequestFailure { status, error: self.means })
    }
}

/// Returns the HTTP status in a number, or at the start of a text.
fn status(value: &Value) -> Option<u16> {
    let digits = || value.as_str()?.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok();
    let number = value.as_u64().or_else(digits)?;
    u16::try_from(number).ok().filter(|status| (400..=599).contains(status))
}

impl RequestFailure {
    /// A model that the agent does not offer.
    pub(super) const UNKNOWN_MODEL: RequestFailure =
        RequestFailure { status: None, error: Some(MessageError::ModelNotFound) };

    /// Returns the result of an exchange that ended with this failure.
    pub(super) fn result(self) -> AgentResult {
        AgentResult {
            is_error: true,
            terminal_reason: TerminalReason::ApiError,
            api_status: self.status,
            message_error: self.error,
            stop_reason: StopReason::Other,
            ..AgentResult::COMPLETED
        }
    }
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
                classify(&Evidence { result: Some(failure.result()), ..Evidence::from_exit(Exit::Code(0)) })
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
        let text = json!({"text": "Error: 529", "result": {"stopReason": "end_turn"}});
        check("copilot", text.clone(), Some(Fault::Unknown));
        // Another agent's model may write this.
        check("opencode", text, None);
        check("copilot", json!({"text": "Error: x", "result": {"usage": {"totalTokens": 1}}}), None);
        check(
            "opencode",
            json!({"error": {"code": -32603, "message": "Internal error: injected 429"}}),
            None,
        );
    }
}
