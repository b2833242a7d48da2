//! What each span says once it is over, but for those of the run. Pure.

use crate::attributes;
use crate::conversation::{ToolCallSpan, ToolOutcome, TurnSpan};
use longhaul_core::{Fault, Moment, Remedy, ResumeStrategy, SessionId, Usage};
use longhaul_store::{Plan, rfc3339};
use opentelemetry::trace::SpanKind;
use opentelemetry::{Array, KeyValue, StringValue, Value};
use serde::Serialize;

/// What a plan says that goes with every span.
pub(super) struct RunInfo {
    pub(super) run: String,
    pub(super) name: Option<String>,
    pub(super) agent: String,
    pub(super) provider: &'static str,
    pub(super) model: Option<String>,
}

/// Something that happened within a span.
pub(super) struct SpanEvent {
    pub(super) name: &'static str,
    pub(super) at: Moment,
    pub(super) attributes: Vec<KeyValue>,
}

/// A span that is over.
pub(super) struct SpanData {
    /// By what its id is derived: who tells of it again calls it the same.
    pub(super) called: String,
    pub(super) name: String,
    pub(super) kind: SpanKind,
    pub(super) started_at: Moment,
    pub(super) ended_at: Moment,
    pub(super) attributes: Vec<KeyValue>,
    pub(super) notes: Vec<SpanEvent>,
    pub(super) error: Option<String>,
}

/// An attempt that is over.
pub(super) struct AttemptSpan<'a> {
    pub(super) number: u32,
    pub(super) started_at: Moment,
    pub(super) ended_at: Moment,
    pub(super) session: &'a SessionId,
    pub(super) strategy: Option<ResumeStrategy>,
    pub(super) fault: Option<Fault>,
    pub(super) usage: &'a Usage,
    /// What is done next, if there is another one.
    pub(super) remedy: Option<&'a Remedy>,
}

impl RunInfo {
    /// The run of this id and plan.
    pub(super) fn new(run: String, plan: &Plan) -> RunInfo {
        let agent = plan.agent.name.clone();
        let provider = provider(&agent);
        RunInfo { run, name: plan.name.clone(), agent, provider, model: plan.model.clone() }
    }

    /// What every figure has: few values, so that sums stay few.
    pub(super) fn common(&self) -> Vec<KeyValue> {
        vec![
            KeyValue::new(attributes::PROVIDER, self.provider),
            KeyValue::new(attributes::AGENT, self.agent.clone()),
        ]
    }

    /// The model that was asked for.
    pub(super) fn requested(&self) -> Option<KeyValue> {
        self.model.clone().map(|model| KeyValue::new(attributes::REQUEST_MODEL, model))
    }
}

impl SpanData {
    pub(super) fn attempt(about: &RunInfo, ended: &AttemptSpan<'_>, notes: Vec<SpanEvent>) -> SpanData {
        let mut attributes = vec![
            KeyValue::new(attributes::OPERATION, "invoke_agent"),
            KeyValue::new(attributes::AGENT, about.agent.clone()),
            KeyValue::new(attributes::CONVERSATION, ended.session.to_string()),
            KeyValue::new(attributes::ATTEMPT, i64::from(ended.number)),
        ];
        attributes.extend(about.requested());
        attributes.extend(ended.strategy.map(|strategy| KeyValue::new(attributes::RUNG, strategy.as_str())));
        attributes.extend(used(ended.usage));
        attributes
            .extend(ended.remedy.map(|remedy| KeyValue::new(attributes::REMEDY, strategy_name(remedy))));
        SpanData {
            called: called(ended.number),
            name: format!("invoke_agent {}", about.agent),
            kind: SpanKind::Internal,
            started_at: ended.started_at,
            ended_at: ended.ended_at,
            attributes,
            notes,
            error: ended.fault.map(|fault| fault.word().to_owned()),
        }
    }

    pub(super) fn turn(about: &RunInfo, attempt: u32, turn: &TurnSpan) -> SpanData {
        let mut attributes = vec![
            KeyValue::new(attributes::OPERATION, "chat"),
            KeyValue::new(attributes::RESPONSE_ID, turn.id.clone()),
            KeyValue::new(attributes::ATTEMPT, i64::from(attempt)),
        ];
        attributes.extend(about.requested());
        attributes.extend(turn.model.clone().map(|model| KeyValue::new(attributes::RESPONSE_MODEL, model)));
        attributes
            .extend(turn.session.clone().map(|session| KeyValue::new(attributes::CONVERSATION, session)));
        attributes.extend(turn.stop_reason.clone().map(|reason| {
            let reasons = Array::String(vec![StringValue::from(reason)]);
            KeyValue::new(attributes::FINISH_REASONS, Value::Array(reasons))
        }));
        attributes.extend(turn.usage.into_iter().flat_map(|usage| {
            let cached = (usage.cache_read_input_tokens, usage.cache_creation_input_tokens);
            tokens(usage.input_tokens, usage.output_tokens, cached)
        }));
        SpanData {
            called: format!("{} turn {}", called(attempt), turn.id),
            name: turn.model.as_ref().map_or("chat".to_owned(), |model| format!("chat {model}")),
            kind: SpanKind::Client,
            started_at: turn.started_at,
            ended_at: turn.ended_at,
            attributes,
            notes: Vec::new(),
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
        let error = match call.ending {
            ToolOutcome::Returned => None,
            ToolOutcome::Failed => Some("tool_error"),
            ToolOutcome::Denied => Some("denied"),
            ToolOutcome::Interrupted => Some("interrupted"),
        };
        if call.ending == ToolOutcome::Denied {
            attributes.push(KeyValue::new(attributes::DENIED, true));
        }
        SpanData {
            called: called_call(attempt, &call.id),
            name: format!("execute_tool {}", call.tool),
            kind: SpanKind::Internal,
            started_at: call.started_at,
            ended_at: call.ended_at,
            attributes,
            notes: Vec::new(),
            error: error.map(str::to_owned),
        }
    }

    /// A wait that was to last until `until`.
    pub(super) fn wait((began, ended): (Moment, Moment), until: Moment, after: Option<Fault>) -> SpanData {
        let mut attributes = vec![KeyValue::new(attributes::UNTIL, rfc3339(until))];
        attributes.extend(after.map(|fault| KeyValue::new(attributes::FAULT, fault.word())));
        SpanData {
            called: format!("wait {}", began.0),
            name: after.map_or("wait".to_owned(), |fault| format!("wait {}", fault.word())),
            kind: SpanKind::Internal,
            started_at: began,
            ended_at: ended,
            attributes,
            notes: Vec::new(),
            error: None,
        }
    }

    pub(super) fn check((began, ended): (Moment, Moment), result: String) -> SpanData {
        SpanData {
            called: format!("check {}", began.0),
            name: "check".to_owned(),
            kind: SpanKind::Internal,
            started_at: began,
            ended_at: ended,
            error: (result != "passed").then(|| "check_failed".to_owned()),
            attributes: vec![KeyValue::new(attributes::CHECK, result)],
            notes: Vec::new(),
        }
    }
}

/// What an attempt is called.
pub(super) fn called(attempt: u32) -> String {
    format!("attempt {attempt}")
}

/// What a call in it is called, and with it what a sub-agent does.
pub(super) fn called_call(attempt: u32, call: &str) -> String {
    format!("{} call {call}", called(attempt))
}

/// The vendor of the models that an agent works with, in the word of the conventions.
fn provider(agent: &str) -> &'static str {
    match agent {
        "claude" => "anthropic",
        "codex" => "openai",
        "gemini" => "gcp.gemini",
        _ => "_OTHER",
    }
}

/// What was used, by an attempt or by the run.
pub(super) fn used(usage: &Usage) -> Vec<KeyValue> {
    let all = usage.tokens + usage.truncated_tokens;
    let mut attributes = tokens(all.input, all.output, (all.cache_read, all.cache_write));
    attributes.push(KeyValue::new(attributes::TURNS, i64::from(usage.turns)));
    attributes.push(KeyValue::new(attributes::COST, usage.reported_cost.as_dollars()));
    if usage.estimated_cost.0 > 0 {
        attributes.push(KeyValue::new(attributes::COST_ESTIMATED, usage.estimated_cost.as_dollars()));
    }
    attributes
}

/// The conventions count what a cache served as input, too.
fn tokens(input: u64, output: u64, (cache_read, cache_creation): (u64, u64)) -> Vec<KeyValue> {
    let all_input = input.saturating_add(cache_read).saturating_add(cache_creation);
    let numbers = [
        (attributes::INPUT_TOKENS, all_input),
        (attributes::OUTPUT_TOKENS, output),
        (attributes::CACHE_READ_TOKENS, cache_read),
        (attributes::CACHE_CREATION_TOKENS, cache_creation),
    ];
    numbers.map(|(name, count)| KeyValue::new(name, i64::try_from(count).unwrap_or(i64::MAX))).to_vec()
}

/// The journal's own word for one of our closed lists.
pub(super) fn strategy_name(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        // One that holds something: its name is the key.
        Ok(serde_json::Value::Object(held)) => held.keys().next().cloned().unwrap_or_default(),
        Ok(_) | Err(_) => String::new(),
    }
}
