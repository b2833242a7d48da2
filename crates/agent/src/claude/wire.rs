//! Defines the agent's events on the wire, with the fields that are used. Text is borrowed from the line;
//! other fields are skipped without allocation.
//!
//! Parsing is tolerant: keys may have any order and repeat (the last counts). Fields may be missing, or have
//! an unexpected type, which counts as missing. Skipped values may be nested to any depth. Only a line that
//! is not JSON, or has no type, is not an event.

mod lenient;
mod raw;

pub(super) use lenient::{Amount, Count, Flag, Length, List, Map, Text};
use serde::Deserialize;
use std::marker::PhantomData;

/// Parses a line as a record, or returns `None` if it is not JSON.
pub(super) fn parse<'a, T: Deserialize<'a>>(line: &'a [u8]) -> Option<T> {
    // One UTF-8 check of the whole line is cheaper than serde_json's check of each string, and also covers
    // skipped values.
    serde_json::from_str(std::str::from_utf8(line).ok()?).ok()
}

/// Declares records, with the key of each field. A value that is not an object reads as an empty record.
macro_rules! records {
    ($($(#[$doc:meta])* $name:ident { $($key:literal => $field:ident: $type:ty,)* })*) => { $(
        $(#[$doc])*
        #[derive(Clone, Debug, Default)]
        pub(in crate::claude) struct $name<'a> {
            $(pub(in crate::claude) $field: $type,)*
            // Some records borrow nothing.
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

// Below the macro, because `rows` declares its records with it.
mod rows;

pub(super) use raw::{Content, Raw};
pub(super) use rows::{FormatSignature, Row, RowContext, UnwrittenEvent};

records! {
    /// Fields of every event, and all fields of `stream_event`, `assistant` and `user`. Nearly all events are
    /// of these types and are parsed once, for all readers.
    StreamLine {
        "type" => kind: Text<'a>,
        "subtype" => subtype: Text<'a>,
        "session_id" => session_id: Text<'a>,
        "parent_tool_use_id" => parent_tool_use_id: Text<'a>,
        "api_message_id" => api_message_id: Text<'a>,
        "event" => event: StreamEvent<'a>,
        "message" => message: Message<'a>,
        "error" => error: Text<'a>,
        "api_error" => api_error: Text<'a>,
        "api_error_status" => api_error_status: Count,
        "is_api_error_message" => is_api_error_message: Flag,
        "isSynthetic" => is_synthetic: Flag,
        "tool_result_meta" => tool_result_meta: List<ResultMeta<'a>>,
        "timestamp" => timestamp: Text<'a>,
        "summary" => summary: Raw<'a>,
    }

    /// The type and the message of a `stream_event`.
    Origin {
        "type" => kind: Text<'a>,
        "api_message_id" => api_message_id: Text<'a>,
        "event" => event: Typed<'a>,
    }

    /// Any object with a type.
    Typed {
        "type" => kind: Text<'a>,
    }

    /// A forwarded event of the Messages API.
    StreamEvent {
        "type" => kind: Text<'a>,
        "message" => message: Message<'a>,
        "content_block" => content_block: BlockStart<'a>,
        "delta" => delta: Delta<'a>,
        "usage" => usage: WireUsage<'a>,
    }

    /// The start of a content block.
    BlockStart {
        "type" => kind: Text<'a>,
        "name" => name: Text<'a>,
    }

    /// The additions of a delta. Only the length of content is kept.
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
        "content" => content: Content<'a>,
    }

    /// A block of a message's content. Its own content stays unparsed until it is needed.
    Block {
        "type" => kind: Text<'a>,
        "id" => id: Text<'a>,
        "tool_use_id" => tool_use_id: Text<'a>,
        "name" => name: Text<'a>,
        "text" => text: Raw<'a>,
        "thinking" => thinking: Raw<'a>,
        "input" => input: Raw<'a>,
        "content" => content: Raw<'a>,
        "is_error" => is_error: Flag,
    }

    /// The most informative arguments of a tool call, and the lengths of long ones.
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

    /// The agent program's metadata of a tool's result.
    ResultMeta {
        "id" => id: Text<'a>,
        "non_execution_kind" => non_execution_kind: Text<'a>,
        "permission_decision" => permission_decision: PermissionDecision<'a>,
    }

    /// The decision on a tool call and its source.
    PermissionDecision {
        "decision" => decision: Text<'a>,
        "source" => source: Text<'a>,
    }

    /// Usage as in the Messages API.
    WireUsage {
        "input_tokens" => input: Count,
        "output_tokens" => output: Count,
        "cache_read_input_tokens" => cache_read: Count,
        "cache_creation_input_tokens" => cache_write: Count,
        "cache_creation" => cache_creation: CacheCreation<'a>,
    }

    /// Cache writes by lifetime.
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

    /// The usage of one model.
    ModelUsage {
        "inputTokens" => input: Count,
        "outputTokens" => output: Count,
        "cacheReadInputTokens" => cache_read: Count,
        "cacheCreationInputTokens" => cache_write: Count,
        "costUSD" => cost: Amount,
    }

    /// A denied tool call in a result.
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

    /// The other `system` events and the control events, a few fields each.
    Note {
        "state" => state: Text<'a>,
        "status" => status: Text<'a>,
        "tasks" => tasks: List<TaskEntry<'a>>,
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

    /// A background task.
    TaskEntry {
        "task_id" => task_id: Text<'a>,
        "description" => description: Text<'a>,
    }

    /// The content of a control request.
    Request {
        "subtype" => subtype: Text<'a>,
        "callback_id" => callback_id: Text<'a>,
        "tool_use_id" => tool_use_id: Text<'a>,
        "input" => input: HookInput<'a>,
    }

    /// The call of a hook request.
    HookInput {
        "tool_name" => tool_name: Text<'a>,
        "tool_input" => tool_input: Raw<'a>,
        "cwd" => cwd: Text<'a>,
        "permission_mode" => permission_mode: Text<'a>,
    }

    /// The agent's response to a control request.
    ControlResponse {
        "response" => response: Response<'a>,
    }

    /// The content of the response.
    Response {
        "request_id" => request_id: Text<'a>,
        "response" => response: Initialized<'a>,
    }

    /// The response to `initialize`.
    Initialized {
        "hooks_applied" => hooks_applied: Flag,
    }
}

impl ResultMeta<'_> {
    /// Returns whether a permission decision was made about the call.
    pub(super) fn has_decision(&self) -> bool {
        self.permission_decision.decision.non_empty().is_some()
    }
}

impl Block<'_> {
    /// Returns the arguments of a tool call, which are empty in other blocks.
    pub(super) fn tool_input(&self) -> ToolInput<'_> {
        parse(self.input.json().as_bytes()).unwrap_or_default()
    }

    /// Returns the approximate number of bytes that the model wrote.
    pub(super) fn written_bytes(&self) -> u64 {
        let ToolInput { command, query, description, content, old_string, new_string, .. } =
            self.tool_input();
        let text = self.text.text().unwrap_or_default();
        let texts = [&*text, command.as_str(), query.as_str(), description.as_str()];
        let thinking: Length = parse(self.thinking.json().as_bytes()).unwrap_or_default();
        texts.iter().map(|text| text.len() as u64).sum::<u64>()
            + thinking.0
            + content.0
            + old_string.0
            + new_string.0
    }
}

#[cfg(test)]
mod tests;
