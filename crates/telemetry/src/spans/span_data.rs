//! Builds the data of completed spans, except for that of the run. It never sends them.

use crate::attributes::{self, attribute};
use crate::conversation::{ToolCallSpan, ToolOutcome, TurnSpan};
use longhaul_core::{AttemptHistory, CheckResult, Fault, Moment, ResumeStrategy, Usage, WaitHistory};
use longhaul_store::{Plan, rfc3339};
use opentelemetry::trace::{Event, SpanBuilder, SpanKind};
use opentelemetry::{Array, KeyValue, StringValue, Value};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub(super) struct RunInfo {
    pub(super) run: String,
    pub(super) plan: Plan,
}

pub(super) struct SpanData {
    /// Key from which the span's id is derived. A later supervisor derives the same id from it.
    pub(super) key: String,
    pub(super) builder: SpanBuilder,
    pub(super) ended_at: Moment,
    pub(super) error: Option<String>,
}

impl RunInfo {
    /// Returns the vendor of the agent's models, as in the conventions.
    pub(super) fn provider(&self) -> KeyValue {
        let provider = match self.plan.spec.agent.name.as_str() {
            "claude" => "anthropic",
            "codex" => "openai",
            "gemini" => "gcp.gemini",
            _ => "_OTHER",
        };
        KeyValue::new(attributes::PROVIDER, provider)
    }

    pub(super) fn agent(&self) -> KeyValue {
        KeyValue::new(attributes::AGENT, self.plan.spec.agent.name.clone())
    }

    /// Returns the attributes of every metric. They have few values, so that the number of series stays
    /// small.
    pub(super) fn common(&self) -> Vec<KeyValue> {
        vec![self.provider(), self.agent()]
    }

    pub(super) fn requested_model(&self) -> Option<KeyValue> {
        attribute(attributes::REQUEST_MODEL, self.plan.spec.model.clone())
    }
}

impl SpanData {
    fn new(
        key: String,
        name: String,
        started_at: Moment,
        ended_at: Moment,
        attributes: Vec<KeyValue>,
    ) -> SpanData {
        let builder = SpanBuilder::from_name(name)
            .with_kind(SpanKind::Internal)
            .with_start_time(system_time(started_at))
            .with_attributes(attributes);
        SpanData { key, builder, ended_at: ended_at.max(started_at), error: None }
    }

    pub(super) fn attempt(
        info: &RunInfo,
        attempt: &AttemptHistory,
        ended_at: Moment,
        events: Vec<Event>,
    ) -> SpanData {
        let mut attributes = vec![
            KeyValue::new(attributes::OPERATION, "invoke_agent"),
            info.agent(),
            KeyValue::new(attributes::CONVERSATION, attempt.session_id().to_string()),
            KeyValue::new(attributes::ATTEMPT, i64::from(attempt.number)),
        ];
        attributes.extend(info.requested_model());
        attributes.extend(attribute(attributes::STRATEGY, attempt.strategy.map(ResumeStrategy::as_str)));
        attributes.extend(usage_attributes(&attempt.usage()));
        attributes.extend(attribute(attributes::REMEDY, attempt.remedy().map(<&str>::from)));
        let name = format!("invoke_agent {}", info.plan.spec.agent.name);
        let span = SpanData::new(span_key(attempt.number), name, attempt.started_at, ended_at, attributes);
        let error = attempt.fault().map(|fault| fault.as_str().to_owned());
        SpanData { builder: span.builder.with_events(events), error, ..span }
    }

    pub(super) fn turn(info: &RunInfo, attempt: u32, turn: &TurnSpan) -> SpanData {
        let mut attributes = vec![
            KeyValue::new(attributes::OPERATION, "chat"),
            KeyValue::new(attributes::RESPONSE_ID, turn.id.clone()),
            KeyValue::new(attributes::ATTEMPT, i64::from(attempt)),
        ];
        let reasons = turn.stop_reason.clone().map(|reason| vec![StringValue::from(reason)]);
        let reasons = reasons.map(|reasons| Value::Array(Array::String(reasons)));
        attributes.extend(info.requested_model());
        attributes.extend(attribute(attributes::RESPONSE_MODEL, turn.model.clone()));
        attributes.extend(attribute(attributes::CONVERSATION, turn.session.clone()));
        attributes.extend(attribute(attributes::FINISH_REASONS, reasons));
        attributes.extend(turn.usage.into_iter().flat_map(|usage| {
            token_attributes(
                usage.input_tokens,
                usage.output_tokens,
                usage.cache_read_input_tokens,
                usage.cache_creation_input_tokens,
            )
        }));
        let key = format!("{} turn {}", span_key(attempt), turn.id);
        let name = turn.model.as_ref().map_or("chat".to_owned(), |model| format!("chat {model}"));
        let span = SpanData::new(key, name, turn.started_at, turn.ended_at, attributes);
        SpanData { builder: span.builder.with_kind(SpanKind::Client), ..span }
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
            ToolOutcome::Failed => Some("tool_error".to_owned()),
            ToolOutcome::Denied => Some("denied".to_owned()),
            ToolOutcome::Interrupted => Some("interrupted".to_owned()),
        };
        let is_denied = (call.outcome == ToolOutcome::Denied).then_some(true);
        attributes.extend(attribute(attributes::DENIED, is_denied));
        let (key, name) = (call_span_key(attempt, &call.id), format!("execute_tool {}", call.tool));
        SpanData { error, ..SpanData::new(key, name, call.started_at, call.ended_at, attributes) }
    }

    pub(super) fn wait(wait: &WaitHistory, ended_at: Moment) -> SpanData {
        let fault = wait.fault.map(Fault::as_str);
        let mut attributes = vec![KeyValue::new(attributes::UNTIL, rfc3339(wait.until))];
        attributes.extend(attribute(attributes::FAULT, fault));
        let name = fault.map_or("wait".to_owned(), |fault| format!("wait {fault}"));
        SpanData::new(format!("wait {}", wait.from.0), name, wait.from, ended_at, attributes)
    }

    pub(super) fn check(started_at: Moment, ended_at: Moment, result: CheckResult) -> SpanData {
        let error = (result != CheckResult::Passed).then(|| "check_failed".to_owned());
        let attributes = vec![KeyValue::new(attributes::CHECK, result.as_str())];
        let (key, name) = (format!("check {}", started_at.0), "check".to_owned());
        SpanData { error, ..SpanData::new(key, name, started_at, ended_at, attributes) }
    }

    pub(super) fn review(started_at: Moment, ended_at: Moment, result: &'static str) -> SpanData {
        let error = (result != "passed").then(|| format!("review_{result}"));
        let attributes = vec![KeyValue::new(attributes::REVIEW, result)];
        let (key, name) = (format!("review {}", started_at.0), "review".to_owned());
        SpanData { error, ..SpanData::new(key, name, started_at, ended_at, attributes) }
    }
}

pub(super) fn system_time(at: Moment) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(at.0)
}

pub(super) fn span_key(attempt: u32) -> String {
    format!("attempt {attempt}")
}

/// Returns the key of a call's span, which is also the parent of a sub-agent's spans.
pub(super) fn call_span_key(attempt: u32, call: &str) -> String {
    format!("{} call {call}", span_key(attempt))
}

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
