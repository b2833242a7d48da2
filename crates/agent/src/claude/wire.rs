//! The agent's events as they are on the wire, as far as they are used. Text is borrowed from the line;
//! what is not named here is skipped without being built.
//!
//! Reading is tolerant: keys in any order and twice (the last counts), fields missing or of another
//! type than expected (as if missing), anything nested to any depth in what is skipped. Only a line
//! that is no JSON, or has no type, is no event.

mod lenient;

pub(super) use lenient::{Amount, Count, Flag, Length, List, Map, Text};
use serde::Deserialize;
use std::marker::PhantomData;

/// A line as the given record; nothing if it is not JSON.
pub(super) fn parse<'a, T: Deserialize<'a>>(line: &'a [u8]) -> Option<T> {
    // One check of the whole line is cheaper than serde_json's of each string, and it also covers
    // what is skipped.
    serde_json::from_str(std::str::from_utf8(line).ok()?).ok()
}

/// Declares records: each field by its key. Anything but an object reads as an empty record.
macro_rules! records {
    ($($(#[$doc:meta])* $name:ident { $($key:literal => $field:ident: $type:ty,)* })*) => { $(
        $(#[$doc])*
        #[derive(Clone, Debug, Default)]
        pub(in crate::claude) struct $name<'a> {
            $(pub(in crate::claude) $field: $type,)*
            // Not every record borrows something.
            line: PhantomData<&'a ()>,
        }

        impl<'de: 'a, 'a> Deserialize<'de> for $name<'a> {
            fn deserialize<D: serde::Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
                struct Fields<'a>(PhantomData<&'a ()>);
                impl<'de: 'a, 'a> serde::de::Visitor<'de> for Fields<'a> {
                    type Value = $name<'a>;

                    fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<$name<'a>, A::Error> {
                        let mut record = $name::default();
                        while let Some(key) = map.next_key::<lenient::Key<'de>>()? {
                            match key.as_str() {
                                $($key => record.$field = map.next_value()?,)*
                                _ => { map.next_value::<serde::de::IgnoredAny>()?; }
                            }
                        }
                        Ok(record)
                    }

                    lenient::otherwise_default!(scalars seq);
                }
                input.deserialize_any(Fields(PhantomData))
            }
        }
    )* };
}

// Below the macro, because it declares its records with it.
mod rows;

pub(super) use rows::{Heard, Part, Raw, Row, RowContext, RowMessage, Scribed, Sign, Told};

records! {
    /// What every event has, and all of `stream_event`, `assistant` and `user`: nearly all events are one
    /// of these, and are read once.
    Head {
        "type" => kind: Text<'a>,
        "subtype" => subtype: Text<'a>,
        "parent_tool_use_id" => parent_tool_use_id: Text<'a>,
        "api_message_id" => api_message_id: Text<'a>,
        "event" => event: StreamEvent<'a>,
        "message" => message: Message<'a>,
        "error" => error: Text<'a>,
        "api_error" => api_error: Text<'a>,
        "api_error_status" => api_error_status: Count,
        "is_api_error_message" => is_api_error_message: Flag,
        "tool_result_meta" => tool_result_meta: List<ResultMeta<'a>>,
        "timestamp" => timestamp: Text<'a>,
    }

    /// Of a `stream_event`, what kind it is of and whose.
    Origin {
        "type" => kind: Text<'a>,
        "api_message_id" => api_message_id: Text<'a>,
        "event" => event: Typed<'a>,
    }

    /// Whatever has a type.
    Typed {
        "type" => kind: Text<'a>,
    }

    /// An event of the Messages API, passed on.
    StreamEvent {
        "type" => kind: Text<'a>,
        "message" => message: Message<'a>,
        "content_block" => content_block: BlockStart<'a>,
        "delta" => delta: Delta<'a>,
        "usage" => usage: WireUsage<'a>,
    }

    /// The beginning of a block of content.
    BlockStart {
        "type" => kind: Text<'a>,
        "name" => name: Text<'a>,
    }

    /// What a delta adds; of the content only how much it is.
    Delta {
        "stop_reason" => stop_reason: Text<'a>,
        "text" => text: Length,
        "partial_json" => partial_json: Length,
        "thinking" => thinking: Length,
    }

    /// `system/init`.
    Init {
        "session_id" => session_id: Text<'a>,
        "model" => model: Text<'a>,
        "permissionMode" => permission_mode: Text<'a>,
        "claude_code_version" => version: Text<'a>,
        "tools" => tools: List<Text<'a>>,
    }

    /// A message of the Messages API.
    Message {
        "id" => id: Text<'a>,
        "model" => model: Text<'a>,
        "stop_reason" => stop_reason: Text<'a>,
        "usage" => usage: WireUsage<'a>,
        "content" => content: List<Block<'a>>,
    }

    /// A block of a message's content.
    Block {
        "type" => kind: Text<'a>,
        "id" => id: Text<'a>,
        "tool_use_id" => tool_use_id: Text<'a>,
        "name" => name: Text<'a>,
        "text" => text: Text<'a>,
        "thinking" => thinking: Length,
        "input" => input: ToolInput<'a>,
        "is_error" => is_error: Flag,
    }

    /// The arguments of a tool call that say most, and how much the long ones are.
    ToolInput {
        "command" => command: Text<'a>,
        "file_path" => file_path: Text<'a>,
        "notebook_path" => notebook_path: Text<'a>,
        "pattern" => pattern: Text<'a>,
        "url" => url: Text<'a>,
        "query" => query: Text<'a>,
        "skill" => skill: Text<'a>,
        "description" => description: Text<'a>,
        "title" => title: Text<'a>,
        "path" => path: Text<'a>,
        "content" => content: Length,
        "old_string" => old_string: Length,
        "new_string" => new_string: Length,
        "run_in_background" => run_in_background: Flag,
    }

    /// What the agent's program says about a tool's result.
    ResultMeta {
        "id" => id: Text<'a>,
        "non_execution_kind" => non_execution_kind: Text<'a>,
        "permission_decision" => permission_decision: PermissionDecision<'a>,
    }

    /// Who decided on a tool call.
    PermissionDecision {
        "decision" => decision: Text<'a>,
        "source" => source: Text<'a>,
    }

    /// Usage of the Messages API.
    WireUsage {
        "input_tokens" => input: Count,
        "output_tokens" => output: Count,
        "cache_read_input_tokens" => cache_read: Count,
        "cache_creation_input_tokens" => cache_write: Count,
        "cache_creation" => cache_creation: CacheCreation<'a>,
    }

    /// For how long cache entries were written.
    CacheCreation {
        "ephemeral_1h_input_tokens" => hour: Count,
    }

    /// `result`.
    ResultLine {
        "subtype" => subtype: Text<'a>,
        "is_error" => is_error: Flag,
        "terminal_reason" => terminal_reason: Text<'a>,
        "stop_reason" => stop_reason: Text<'a>,
        "api_error_status" => api_error_status: Count,
        "api_error" => api_error: Text<'a>,
        "duration_ms" => duration_ms: Count,
        "num_turns" => num_turns: Count,
        "result" => result: Text<'a>,
        "structured_output" => structured_output: Flag,
        "errors" => errors: List<Text<'a>>,
        "startup_failure_reason" => startup_failure_reason: Text<'a>,
        "session_id" => session_id: Text<'a>,
        "total_cost_usd" => total_cost_usd: Amount,
        "usage" => usage: WireUsage<'a>,
        "modelUsage" => model_usage: Map<'a, ModelUsage<'a>>,
        "model_usage_since_last_result" => since_last: Option<Map<'a, ModelUsage<'a>>>,
        "permission_denials" => permission_denials: List<Denial<'a>>,
    }

    /// What one model used.
    ModelUsage {
        "inputTokens" => input: Count,
        "outputTokens" => output: Count,
        "cacheReadInputTokens" => cache_read: Count,
        "cacheCreationInputTokens" => cache_write: Count,
        "costUSD" => cost: Amount,
    }

    /// A denied tool call, as a result lists it.
    Denial {
        "tool_use_id" => tool_use_id: Text<'a>,
    }

    /// `system/api_retry`.
    ApiRetry {
        "attempt" => attempt: Count,
        "max_retries" => max_retries: Count,
        "retry_delay_ms" => retry_delay_ms: Amount,
        "error_status" => error_status: Count,
        "error" => error: Text<'a>,
    }

    /// `rate_limit_event`.
    RateLimitEvent {
        "rate_limit_info" => info: RateLimitInfo<'a>,
    }

    /// The account's usage window.
    RateLimitInfo {
        "status" => status: Text<'a>,
        "resetsAt" => resets_at: Count,
        "isUsingOverage" => is_using_overage: Flag,
    }

    /// The other `system` events and the control events: a few fields each.
    Note {
        "state" => state: Text<'a>,
        "status" => status: Text<'a>,
        "tasks" => tasks: List<Task<'a>>,
        "tag" => tag: Text<'a>,
        "key" => key: Text<'a>,
        "content" => content: Text<'a>,
        "text" => text: Text<'a>,
        "tool_use_id" => tool_use_id: Text<'a>,
        "is_backgrounded" => is_backgrounded: Flag,
        "task_id" => task_id: Text<'a>,
        "message" => message: Text<'a>,
        "request_id" => request_id: Text<'a>,
        "request" => request: Request<'a>,
        "fallback_model" => fallback_model: Text<'a>,
        "permissionMode" => permission_mode: Text<'a>,
        "hook_name" => hook_name: Text<'a>,
        "stdout" => stdout: Text<'a>,
    }

    /// Something that runs in the background.
    Task {
        "task_id" => task_id: Text<'a>,
        "description" => description: Text<'a>,
    }

    /// A row with results of tools, for their text: most readers do not need it, and it may be long.
    Answers {
        "message" => message: AnswersMessage<'a>,
    }

    /// Its message.
    AnswersMessage {
        "content" => content: List<Answer<'a>>,
    }

    /// The result of one call.
    Answer {
        "tool_use_id" => tool_use_id: Text<'a>,
        "content" => content: Text<'a>,
    }

    /// What a control request asks for.
    Request {
        "subtype" => subtype: Text<'a>,
        "callback_id" => callback_id: Text<'a>,
        "tool_use_id" => tool_use_id: Text<'a>,
        "input" => input: HookInput<'a>,
    }

    /// The call that a hook is asked about.
    HookInput {
        "tool_name" => tool_name: Text<'a>,
        "tool_input" => tool_input: Raw<'a>,
        "cwd" => cwd: Text<'a>,
        "permission_mode" => permission_mode: Text<'a>,
    }

    /// The agent's answer to a control request.
    ControlResponse {
        "response" => response: Response<'a>,
    }

    /// What it says.
    Response {
        "request_id" => request_id: Text<'a>,
        "response" => response: Initialized<'a>,
    }

    /// What it says to `initialize`.
    Initialized {
        "hooks_applied" => hooks_applied: Flag,
    }
}

impl ToolInput<'_> {
    /// About how much the model wrote for it.
    pub(super) fn bytes(&self) -> u64 {
        let texts = [&self.command, &self.query, &self.description].map(|text| text.as_str().len() as u64);
        texts.iter().sum::<u64>() + self.content.0 + self.old_string.0 + self.new_string.0
    }
}

#[cfg(test)]
mod tests;
