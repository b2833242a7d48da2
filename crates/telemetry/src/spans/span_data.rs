//! Builds the data of completed spans, except for that of the run. It never sends them.

use crate::attributes;
use crate::conversation::{ToolCallSpan, ToolOutcome, TurnSpan};
use longhaul_core::{AttemptHistory, Fault, Moment, Usage};
use longhaul_store::{Plan, rfc3339};
use opentelemetry::trace::SpanKind;
use opentelemetry::{Array, KeyValue, StringValue, Value};
use serde::Serialize;

/// The part of a plan that every span includes.
pub(super) struct RunInfo {
    pub(super) run: String,
    pub(super) name: Option<String>,
    pub(super) agent: String,
    pub(super) provider: &'static str,
    pub(super) model: Option<String>,
    /// When the run was created.
    pub(super) created_at: Moment,
}

/// An event within a span.
pub(super) struct SpanEvent {
    pub(super) name: &'static str,
    pub(super) at: Moment,
    pub(super) attributes: Vec<KeyValue>,
}

/// A completed span.
pub(super) struct SpanData {
    /// Key from which the span's id is derived. A later supervisor derives the same id from it.
    pub(super) key: String,
    pub(super) name: String,
    pub(super) kind: SpanKind,
    pub(super) started_at: Moment,
    pub(super) ended_at: Moment,
    pub(super) attributes: Vec<KeyValue>,
    pub(super) events: Vec<SpanEvent>,
    pub(super) error: Option<String>,
}

impl RunInfo {
    /// Creates the info from a run's id and plan.
    pub(super) fn new(run: String, plan: &Plan) -> RunInfo {
        let agent = plan.spec.agent.name.clone();
        let provider = provider(&agent);
        RunInfo {
            run,
            name: plan.spec.name.clone(),
            agent,
            provider,
            model: plan.spec.model.clone(),
            created_at: plan.started_at.0,
        }
    }

    /// Returns the attributes of every metric. They have few values, so that the number of series stays
    /// small.
    pub(super) fn common(&self) -> Vec<KeyValue> {
        vec![
            KeyValue::new(attributes::PROVIDER, self.provider),
            KeyValue::new(attributes::AGENT, self.agent.clone()),
        ]
    }

    /// Returns the attribute of the requested model, or `None` if the plan has none.
    pub(super) fn requested_model(&self) -> Option<KeyValue> {
        self.model.clone().map(|model| KeyValue::new(attributes::REQUEST_MODEL, model))
    }
}

impl SpanData {
    /// Builds the span of an attempt that ended at `at`.
    pub(super) fn attempt(
        info: &RunInfo,
        attempt: &AttemptHistory,
        ended_at: Moment,
        events: Vec<SpanEvent>,
    ) -> SpanData {
        let mut attributes = vec![
            KeyValue::new(attributes::OPERATION, "invoke_agent"),
            KeyValue::new(attributes::AGENT, info.agent.clone()),
            KeyValue::new(attributes::CONVERSATION, attempt.session_id().to_string()),
            KeyValue::new(attributes::ATTEMPT, i64::from(attempt.number)),
        ];
        attributes.extend(info.requested_model());
        attributes
            .extend(attempt.strategy.map(|strategy| KeyValue::new(attributes::STRATEGY, strategy.as_str())));
        attributes.extend(usage_attributes(&attempt.usage()));
        attributes
            .extend(attempt.remedy().map(|remedy| KeyValue::new(attributes::REMEDY, wire_name(&remedy))));
        SpanData {
            key: span_key(attempt.number),
            name: format!("invoke_agent {}", info.agent),
            kind: SpanKind::Internal,
            started_at: attempt.started_at,
            ended_at,
            attributes,
            events,
            error: attempt.fault().map(|fault| fault.as_str().to_owned()),
        }
    }

    pub(super) fn turn(info: &RunInfo, attempt: u32, turn: &TurnSpan) -> SpanData {
        let mut attributes = vec![
            KeyValue::new(attributes::OPERATION, "chat"),
            KeyValue::new(attributes::RESPONSE_ID, turn.id.clone()),
            KeyValue::new(attributes::ATTEMPT, i64::from(attempt)),
        ];
        attributes.extend(info.requested_model());
        attributes.extend(turn.model.clone().map(|model| KeyValue::new(attributes::RESPONSE_MODEL, model)));
        attributes
            .extend(turn.session.clone().map(|session| KeyValue::new(attributes::CONVERSATION, session)));
        attributes.extend(turn.stop_reason.clone().map(|reason| {
            let reasons = Array::String(vec![StringValue::from(reason)]);
            KeyValue::new(attributes::FINISH_REASONS, Value::Array(reasons))
        }));
        attributes.extend(turn.usage.into_iter().flat_map(|usage| {
            token_attributes(
                usage.input_tokens,
                usage.output_tokens,
                usage.cache_read_input_tokens,
                usage.cache_creation_input_tokens,
            )
        }));
        SpanData {
            key: format!("{} turn {}", span_key(attempt), turn.id),
            name: turn.model.as_ref().map_or("chat".to_owned(), |model| format!("chat {model}")),
            kind: SpanKind::Client,
            started_at: turn.started_at,
            ended_at: turn.ended_at,
            attributes,
            events: Vec::new(),
            error: None,
        }
    }

    pub(super) fn call(attempt: u32, call: &ToolCallSpan) -> SpanData {
        let mut attributes = vec![
            KeyValue::new(attributes::OPERATION, "execute_tool"),
            KeyValue::new(attributes::TOOL, call.tool.clone()),
            KeyValue::new(attributes::TOOL_CALL, call.id.clone()),
            KeyValue::new(attributes::ATTEMPT, i64::from(attempt)),
        ];
        let error = match call.outcome {
            ToolOutcome::Returned => None,
            ToolOutcome::Failed => Some("tool_error"),
            ToolOutcome::Denied => Some("denied"),
            ToolOutcome::Interrupted => Some("interrupted"),
        };
        if call.outcome == ToolOutcome::Denied {
            attributes.push(KeyValue::new(attributes::DENIED, true));
        }
        SpanData {
            key: call_span_key(attempt, &call.id),
            name: format!("execute_tool {}", call.tool),
            kind: SpanKind::Internal,
            started_at: call.started_at,
            ended_at: call.ended_at,
            attributes,
            events: Vec::new(),
            error: error.map(str::to_owned),
        }
    }

    /// Builds the span of a wait that was planned to last until `until`.
    pub(super) fn wait(
        started_at: Moment,
        ended_at: Moment,
        until: Moment,
        fault: Option<Fault>,
    ) -> SpanData {
        let mut attributes = vec![KeyValue::new(attributes::UNTIL, rfc3339(until))];
        attributes.extend(fault.map(|fault| KeyValue::new(attributes::FAULT, fault.as_str())));
        SpanData {
            key: format!("wait {}", started_at.0),
            name: fault.map_or("wait".to_owned(), |fault| format!("wait {}", fault.as_str())),
            kind: SpanKind::Internal,
            started_at,
            ended_at,
            attributes,
            events: Vec::new(),
            error: None,
        }
    }

    pub(super) fn check(started_at: Moment, ended_at: Moment, result: String) -> SpanData {
        SpanData {
            key: format!("check {}", started_at.0),
            name: "check".to_owned(),
            kind: SpanKind::Internal,
            started_at,
            ended_at,
            error: (result != "passed").then(|| "check_failed".to_owned()),
            attributes: vec![KeyValue::new(attributes::CHECK, result)],
            events: Vec::new(),
        }
    }
}

/// Returns the key of an attempt's span.
pub(super) fn span_key(attempt: u32) -> String {
    format!("attempt {attempt}")
}

/// Returns the key of a call's span, which is also the parent of a sub-agent's spans.
pub(super) fn call_span_key(attempt: u32, call: &str) -> String {
    format!("{} call {call}", span_key(attempt))
}

/// Returns the vendor of an agent's models, as in the conventions.
fn provider(agent: &str) -> &'static str {
    match agent {
        "claude" => "anthropic",
        "codex" => "openai",
        "gemini" => "gcp.gemini",
        _ => "_OTHER",
    }
}

/// Returns the attributes for the usage of an attempt or a run.
pub(super) fn usage_attributes(usage: &Usage) -> Vec<KeyValue> {
    let total = usage.tokens + usage.truncated_tokens;
    let mut attributes = token_attributes(total.input, total.output, total.cache_read, total.cache_write);
    attributes.push(KeyValue::new(attributes::TURNS, i64::from(usage.turns)));
    attributes.push(KeyValue::new(attributes::COST, usage.reported_cost.as_dollars()));
    if usage.estimated_cost.0 > 0 {
        attributes.push(KeyValue::new(attributes::COST_ESTIMATED, usage.estimated_cost.as_dollars()));
    }
    attributes
}

/// Returns the attributes of token counts. By the conventions, cached input counts as input.
fn token_attributes(input: u64, output: u64, cache_read: u64, cache_creation: u64) -> Vec<KeyValue> {
    let all_input = input.saturating_add(cache_read).saturating_add(cache_creation);
    let numbers = [
        (attributes::INPUT_TOKENS, all_input),
        (attributes::OUTPUT_TOKENS, output),
        (attributes::CACHE_READ_TOKENS, cache_read),
        (attributes::CACHE_CREATION_TOKENS, cache_creation),
    ];
    numbers.map(|(name, count)| KeyValue::new(name, i64::try_from(count).unwrap_or(i64::MAX))).to_vec()
}

/// Returns the journal's word for a value of a closed list.
pub(super) fn wire_name(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        // A variant with data: its name is the key.
        Ok(serde_json::Value::Object(fields)) => fields.keys().next().cloned().unwrap_or_default(),
        Ok(_) | Err(_) => String::new(),
    }
}
