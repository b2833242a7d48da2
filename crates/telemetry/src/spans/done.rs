//! What each span says once it is over, but for those of the run. Pure.

use crate::conversation::{Call, Ending, Turn};
use crate::names;
use longhaul_core::{Fault, Moment, Remedy, Rung, SessionId, Tally};
use longhaul_store::{Plan, rfc3339};
use opentelemetry::trace::SpanKind;
use opentelemetry::{Array, KeyValue, StringValue, Value};
use serde::Serialize;

/// What a plan says that goes with every span.
pub(super) struct About {
    pub(super) run: String,
    pub(super) name: Option<String>,
    pub(super) agent: String,
    pub(super) provider: &'static str,
    pub(super) model: Option<String>,
}

/// Something that happened within a span.
pub(super) struct Note {
    pub(super) name: &'static str,
    pub(super) at: Moment,
    pub(super) attributes: Vec<KeyValue>,
}

/// A span that is over.
pub(super) struct Done {
    /// By what its id is derived: who tells of it again calls it the same.
    pub(super) called: String,
    pub(super) name: String,
    pub(super) kind: SpanKind,
    pub(super) began: Moment,
    pub(super) ended: Moment,
    pub(super) attributes: Vec<KeyValue>,
    pub(super) notes: Vec<Note>,
    pub(super) error: Option<String>,
}

/// An attempt that is over.
pub(super) struct EndedAttempt<'a> {
    pub(super) number: u32,
    pub(super) began: Moment,
    pub(super) ended: Moment,
    pub(super) session: &'a SessionId,
    pub(super) rung: Option<Rung>,
    pub(super) fault: Option<Fault>,
    pub(super) tally: &'a Tally,
    /// What is done next, if there is another one.
    pub(super) remedy: Option<&'a Remedy>,
}

impl About {
    /// The run of this id and plan.
    pub(super) fn of(run: String, plan: &Plan) -> About {
        let agent = plan.agent.name.clone();
        let provider = provider(&agent);
        About { run, name: plan.name.clone(), agent, provider, model: plan.model.clone() }
    }

    /// What every figure has: few values, so that sums stay few.
    pub(super) fn common(&self) -> Vec<KeyValue> {
        vec![KeyValue::new(names::PROVIDER, self.provider), KeyValue::new(names::AGENT, self.agent.clone())]
    }

    /// The model that was asked for.
    pub(super) fn requested(&self) -> Option<KeyValue> {
        self.model.clone().map(|model| KeyValue::new(names::REQUEST_MODEL, model))
    }
}

impl Done {
    pub(super) fn attempt(about: &About, ended: &EndedAttempt<'_>, notes: Vec<Note>) -> Done {
        let mut attributes = vec![
            KeyValue::new(names::OPERATION, "invoke_agent"),
            KeyValue::new(names::AGENT, about.agent.clone()),
            KeyValue::new(names::CONVERSATION, ended.session.to_string()),
            KeyValue::new(names::ATTEMPT, i64::from(ended.number)),
        ];
        attributes.extend(about.requested());
        attributes.extend(ended.rung.map(|rung| KeyValue::new(names::RUNG, rung.word())));
        attributes.extend(used(ended.tally));
        attributes.extend(ended.remedy.map(|remedy| KeyValue::new(names::REMEDY, word(remedy))));
        Done {
            called: called(ended.number),
            name: format!("invoke_agent {}", about.agent),
            kind: SpanKind::Internal,
            began: ended.began,
            ended: ended.ended,
            attributes,
            notes,
            error: ended.fault.map(|fault| fault.word().to_owned()),
        }
    }

    pub(super) fn turn(about: &About, attempt: u32, turn: &Turn) -> Done {
        let mut attributes = vec![
            KeyValue::new(names::OPERATION, "chat"),
            KeyValue::new(names::RESPONSE_ID, turn.id.clone()),
            KeyValue::new(names::ATTEMPT, i64::from(attempt)),
        ];
        attributes.extend(about.requested());
        attributes.extend(turn.model.clone().map(|model| KeyValue::new(names::RESPONSE_MODEL, model)));
        attributes.extend(turn.session.clone().map(|session| KeyValue::new(names::CONVERSATION, session)));
        attributes.extend(turn.stop_reason.clone().map(|reason| {
            let reasons = Array::String(vec![StringValue::from(reason)]);
            KeyValue::new(names::FINISH_REASONS, Value::Array(reasons))
        }));
        attributes.extend(turn.usage.into_iter().flat_map(|usage| {
            let cached = (usage.cache_read_input_tokens, usage.cache_creation_input_tokens);
            tokens(usage.input_tokens, usage.output_tokens, cached)
        }));
        Done {
            called: format!("{} turn {}", called(attempt), turn.id),
            name: turn.model.as_ref().map_or("chat".to_owned(), |model| format!("chat {model}")),
            kind: SpanKind::Client,
            began: turn.began,
            ended: turn.ended,
            attributes,
            notes: Vec::new(),
            error: None,
        }
    }

    pub(super) fn call(attempt: u32, call: &Call) -> Done {
        let mut attributes = vec![
            KeyValue::new(names::OPERATION, "execute_tool"),
            KeyValue::new(names::TOOL, call.tool.clone()),
            KeyValue::new(names::TOOL_CALL, call.id.clone()),
            KeyValue::new(names::ATTEMPT, i64::from(attempt)),
        ];
        let error = match call.ending {
            Ending::Returned => None,
            Ending::Failed => Some("tool_error"),
            Ending::Denied => Some("denied"),
            Ending::Interrupted => Some("interrupted"),
        };
        if call.ending == Ending::Denied {
            attributes.push(KeyValue::new(names::DENIED, true));
        }
        Done {
            called: called_call(attempt, &call.id),
            name: format!("execute_tool {}", call.tool),
            kind: SpanKind::Internal,
            began: call.began,
            ended: call.ended,
            attributes,
            notes: Vec::new(),
            error: error.map(str::to_owned),
        }
    }

    /// A wait that was to last until `until`.
    pub(super) fn wait((began, ended): (Moment, Moment), until: Moment, after: Option<Fault>) -> Done {
        let mut attributes = vec![KeyValue::new(names::UNTIL, rfc3339(until))];
        attributes.extend(after.map(|fault| KeyValue::new(names::FAULT, fault.word())));
        Done {
            called: format!("wait {}", began.0),
            name: after.map_or("wait".to_owned(), |fault| format!("wait {}", fault.word())),
            kind: SpanKind::Internal,
            began,
            ended,
            attributes,
            notes: Vec::new(),
            error: None,
        }
    }

    pub(super) fn check((began, ended): (Moment, Moment), result: String) -> Done {
        Done {
            called: format!("check {}", began.0),
            name: "check".to_owned(),
            kind: SpanKind::Internal,
            began,
            ended,
            error: (result != "passed").then(|| "check_failed".to_owned()),
            attributes: vec![KeyValue::new(names::CHECK, result)],
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
pub(super) fn used(tally: &Tally) -> Vec<KeyValue> {
    let all = tally.tokens + tally.cut_tokens;
    let mut attributes = tokens(all.input, all.output, (all.cache_read, all.cache_write));
    attributes.push(KeyValue::new(names::TURNS, i64::from(tally.turns)));
    attributes.push(KeyValue::new(names::COST, tally.cost.dollars()));
    if tally.cost_estimated.0 > 0 {
        attributes.push(KeyValue::new(names::COST_ESTIMATED, tally.cost_estimated.dollars()));
    }
    attributes
}

/// The conventions count what a cache served as input, too.
fn tokens(input: u64, output: u64, (cache_read, cache_creation): (u64, u64)) -> Vec<KeyValue> {
    let all_input = input.saturating_add(cache_read).saturating_add(cache_creation);
    let numbers = [
        (names::INPUT_TOKENS, all_input),
        (names::OUTPUT_TOKENS, output),
        (names::CACHE_READ_TOKENS, cache_read),
        (names::CACHE_CREATION_TOKENS, cache_creation),
    ];
    numbers.map(|(name, count)| KeyValue::new(name, i64::try_from(count).unwrap_or(i64::MAX))).to_vec()
}

/// The journal's own word for one of our closed lists.
pub(super) fn word(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        // One that holds something: its name is the key.
        Ok(serde_json::Value::Object(held)) => held.keys().next().cloned().unwrap_or_default(),
        Ok(_) | Err(_) => String::new(),
    }
}
