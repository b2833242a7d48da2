//! Names of attributes and metrics. Those of `gen_ai` and `error` come from the semantic conventions (1.41),
//! the others from Longhaul.

use opentelemetry::{KeyValue, Value};

pub(crate) fn attribute(name: &'static str, value: Option<impl Into<Value>>) -> Option<KeyValue> {
    value.map(|value| KeyValue::new(name, value))
}

pub(crate) const OPERATION: &str = "gen_ai.operation.name";
pub(crate) const PROVIDER: &str = "gen_ai.provider.name";
pub(crate) const AGENT: &str = "gen_ai.agent.name";
pub(crate) const WORKFLOW: &str = "gen_ai.workflow.name";
pub(crate) const CONVERSATION: &str = "gen_ai.conversation.id";
pub(crate) const REQUEST_MODEL: &str = "gen_ai.request.model";
pub(crate) const RESPONSE_MODEL: &str = "gen_ai.response.model";
pub(crate) const RESPONSE_ID: &str = "gen_ai.response.id";
pub(crate) const FINISH_REASONS: &str = "gen_ai.response.finish_reasons";
/// All input, including cached input.
pub(crate) const INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
pub(crate) const OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
pub(crate) const CACHE_READ_TOKENS: &str = "gen_ai.usage.cache_read.input_tokens";
pub(crate) const CACHE_CREATION_TOKENS: &str = "gen_ai.usage.cache_creation.input_tokens";
pub(crate) const TOOL: &str = "gen_ai.tool.name";
pub(crate) const TOOL_CALL: &str = "gen_ai.tool.call.id";
pub(crate) const TOKEN_TYPE: &str = "gen_ai.token.type";
pub(crate) const ERROR: &str = "error.type";

pub(crate) const RUN: &str = "longhaul.run.id";
pub(crate) const RUN_NAME: &str = "longhaul.run.name";
pub(crate) const OUTCOME: &str = "longhaul.outcome";
pub(crate) const FAULT: &str = "longhaul.fault";
pub(crate) const ATTEMPT: &str = "longhaul.attempt";
pub(crate) const ATTEMPTS: &str = "longhaul.attempts";
pub(crate) const STRATEGY: &str = "longhaul.resume_strategy";
pub(crate) const TURNS: &str = "longhaul.turns";
pub(crate) const COST: &str = "longhaul.cost.usd";
pub(crate) const COST_ESTIMATED: &str = "longhaul.cost.estimated_usd";
/// `reported` or `estimated`.
pub(crate) const COST_KIND: &str = "longhaul.cost.kind";
pub(crate) const UNTIL: &str = "longhaul.wait.until";
pub(crate) const REASON: &str = "longhaul.stop.cause";
/// Level of the stop of an attempt.
pub(crate) const LEVEL: &str = "longhaul.stop.level";
pub(crate) const REMEDY: &str = "longhaul.remedy";
pub(crate) const CHECK: &str = "longhaul.check.result";
pub(crate) const REVIEW: &str = "longhaul.review.result";
pub(crate) const DENIED: &str = "longhaul.tool.denied";

pub(crate) mod metrics {
    pub(crate) const TOKENS: &str = "gen_ai.client.token.usage";
    pub(crate) const DURATION: &str = "gen_ai.client.operation.duration";
    pub(crate) const RUNS: &str = "longhaul.runs";
    pub(crate) const ATTEMPTS: &str = "longhaul.attempts";
    pub(crate) const WAITING: &str = "longhaul.waiting";
    pub(crate) const COST: &str = "longhaul.cost";
}
