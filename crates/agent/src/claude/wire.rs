//! Defines the agent's events on the wire, with the fields that are used. Text is borrowed from the line;
//! other fields are skipped without allocation.
//!
//! Parsing is tolerant: keys may have any order and repeat (the last counts). Fields may be missing, or have
//! an unexpected type, which counts as missing. Skipped values may be nested to any depth. Only a line that
//! is not JSON, or has no type, is not an event.

mod lenient;
mod raw;

use crate::json_reader::Reader;
use crate::tool_input::ToolInput;
pub(super) use lenient::{Field, List, Map, Text};
use serde::de::IgnoredAny;

/// Parses a line as a record, or returns `None` if it is not JSON.
pub(super) fn parse<'a, T: Field<'a>>(line: &'a [u8]) -> Option<T> {
    let text = std::str::from_utf8(line).ok()?;
    // Only between values are some of them allowed. Agents write none. Without `any`, the loop is vectorized.
    if line.iter().fold(false, |found, byte| found | (*byte < b' ')) {
        serde_json::from_str::<IgnoredAny>(text).ok()?;
    }
    let mut reader = Reader::new(text);
    let value = T::read(&mut reader)?;
    reader.peek().is_none().then_some(value)
}

/// Declares records, with the keys of each field. A value that is not an object reads as an empty record.
macro_rules! records {
    ($($(#[$meta:meta])* $name:ident {
        $($(#[$field_meta:meta])* $($key:literal)|+ => $field:ident: $type:ty,)*
    })*) => { $(
        $(#[$meta])*
        #[derive(Clone, Debug, Default)]
        pub(in crate::claude) struct $name<'a> {
            $($(#[$field_meta])* pub(in crate::claude) $field: $type,)*
        }

        impl<'a> Field<'a> for $name<'a> {
            fn read(reader: &mut Reader<'a>) -> Option<Self> {
                let mut record = Self::default();
                if reader.peek()? != b'{' {
                    return reader.value().map(|_| record);
                }
                reader.object(|key, reader| {
                    match &*key {
                        $($($key)|+ => record.$field = Field::read(reader)?,)*
                        _ => drop(reader.value()?),
                    }
                    Some(())
                })?;
                Some(record)
            }
        }
    )* };
}

// Below the macro, because `rows` declares its records with it.
mod rows;

pub(super) use raw::{Content, Raw, RawInput};
pub(super) use rows::{Row, RowContext, UnwrittenEvent};

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
        "api_error_status" => api_error_status: Raw<'a>,
        "is_api_error_message" => is_api_error_message: Raw<'a>,
        "isSynthetic" => is_synthetic: Raw<'a>,
        "tool_result_meta" => tool_result_meta: List<ResultMeta<'a>>,
        "timestamp" => timestamp: Text<'a>,
        "summary" => summary: Raw<'a>,
        "tool_use_id" => tool_use_id: Text<'a>,
        "is_backgrounded" => is_backgrounded: Raw<'a>,
        "status" => status: Text<'a>,
        "tool_use_result" => tool_use_result: ToolUseResult<'a>,
    }

    /// Says whether a call continues in the background: of a sub-agent, and of a command.
    ToolUseResult {
        "isAsync" => is_async: Raw<'a>,
        "backgroundTaskId" => background_task_id: Text<'a>,
    }

    /// The fields that a reader needs to skip or forward an event.
    LineHeader {
        "type" => kind: Text<'a>,
        "timestamp" => timestamp: Text<'a>,
    }

    StreamEvent {
        "type" => kind: Text<'a>,
        "message" => message: Message<'a>,
        "content_block" => content_block: Block<'a>,
        "delta" => delta: Delta<'a>,
        "usage" => usage: WireUsage<'a>,
    }

    /// The additions of a delta. Only the length of content is kept.
    Delta {
        "stop_reason" => stop_reason: Text<'a>,
        "text" => text: Raw<'a>,
        "partial_json" => partial_json: Raw<'a>,
        "thinking" => thinking: Raw<'a>,
    }

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
        "input" => input: RawInput<'a>,
        "content" => content: Raw<'a>,
        "is_error" => is_error: Raw<'a>,
    }

    ResultMeta {
        "id" => id: Text<'a>,
        "non_execution_kind" => non_execution_kind: Text<'a>,
        "permission_decision" => permission_decision: PermissionDecision<'a>,
    }

    PermissionDecision {
        "decision" => decision: Text<'a>,
        "source" => source: Text<'a>,
    }

    /// Usage as in the Messages API, or of one model in a result.
    WireUsage {
        "input_tokens" | "inputTokens" => input: Raw<'a>,
        "output_tokens" | "outputTokens" => output: Raw<'a>,
        "cache_read_input_tokens" | "cacheReadInputTokens" => cache_read: Raw<'a>,
        "cache_creation_input_tokens" | "cacheCreationInputTokens" => cache_write: Raw<'a>,
        "cache_creation" => cache_creation: CacheCreation<'a>,
        "costUSD" => cost: Raw<'a>,
    }

    CacheCreation {
        "ephemeral_1h_input_tokens" => hour: Raw<'a>,
    }

    /// `result`.
    ResultLine {
        "subtype" => subtype: Text<'a>,
        "is_error" => is_error: Raw<'a>,
        "terminal_reason" => terminal_reason: Text<'a>,
        "stop_reason" => stop_reason: Text<'a>,
        "api_error_status" => api_error_status: Raw<'a>,
        "api_error" => api_error: Text<'a>,
        "duration_ms" => duration_ms: Raw<'a>,
        "duration_api_ms" => duration_api_ms: Raw<'a>,
        "num_turns" => num_turns: Raw<'a>,
        "result" => result: Text<'a>,
        "structured_output" => structured_output: Raw<'a>,
        "errors" => errors: List<Text<'a>>,
        "startup_failure_reason" => startup_failure_reason: Text<'a>,
        "session_id" => session_id: Text<'a>,
        "total_cost_usd" => total_cost_usd: Raw<'a>,
        "usage" => usage: WireUsage<'a>,
        "modelUsage" => model_usage: Map<'a, WireUsage<'a>>,
        "model_usage_since_last_result" => since_last: Option<Map<'a, WireUsage<'a>>>,
        "permission_denials" => permission_denials: List<Denial<'a>>,
    }

    Denial {
        "tool_use_id" => tool_use_id: Text<'a>,
    }

    RateLimitInfo {
        "status" => status: Text<'a>,
        "resetsAt" => resets_at: Raw<'a>,
        "isUsingOverage" => is_using_overage: Raw<'a>,
    }

    /// The rare events, a few fields each.
    Note {
        "session_id" => session_id: Text<'a>,
        "model" => model: Text<'a>,
        "claude_code_version" => version: Text<'a>,
        "tools" => tools: List<Text<'a>>,
        "attempt" => attempt: Raw<'a>,
        "max_retries" => max_retries: Raw<'a>,
        "retry_delay_ms" => retry_delay_ms: Raw<'a>,
        "error_status" => error_status: Raw<'a>,
        "rate_limit_info" => rate_limit: RateLimitInfo<'a>,
        "state" => state: Text<'a>,
        "status" => status: Text<'a>,
        "tasks" => tasks: List<TaskEntry<'a>>,
        "tag" => tag: Text<'a>,
        "key" => key: Text<'a>,
        "content" => content: Text<'a>,
        "text" => text: Text<'a>,
        "tool_use_id" => tool_use_id: Text<'a>,
        "is_backgrounded" => is_backgrounded: Raw<'a>,
        "task_id" => task_id: Text<'a>,
        "message" => message: Text<'a>,
        "request_id" => request_id: Text<'a>,
        "request" => request: Request<'a>,
        "response" => response: Response<'a>,
        "fallback_model" => fallback_model: Text<'a>,
        "permissionMode" => permission_mode: Text<'a>,
        "hook_name" => hook_name: Text<'a>,
        "stdout" => stdout: Text<'a>,
    }

    TaskEntry {
        "task_id" => task_id: Text<'a>,
        "task_type" => task_type: Text<'a>,
        "description" => description: Text<'a>,
    }

    Request {
        "subtype" => subtype: Text<'a>,
        "callback_id" => callback_id: Text<'a>,
        "tool_use_id" => tool_use_id: Text<'a>,
        "input" => input: HookInput<'a>,
    }

    HookInput {
        "tool_name" => tool_name: Text<'a>,
        "tool_input" => tool_input: Raw<'a>,
        "cwd" => cwd: Text<'a>,
        "permission_mode" => permission_mode: Text<'a>,
    }

    Response {
        "request_id" => request_id: Text<'a>,
        "response" => response: Initialized<'a>,
    }

    Initialized {
        "hooks_applied" => hooks_applied: Raw<'a>,
        "session" => session: SessionUsage<'a>,
    }

    /// The answer to `get_usage`.
    SessionUsage {
        "total_cost_usd" => total_cost_usd: Raw<'a>,
        "model_usage" => model_usage: Map<'a, WireUsage<'a>>,
    }
}

impl ResultMeta<'_> {
    pub(super) fn has_decision(&self) -> bool {
        self.permission_decision.decision.non_empty().is_some()
    }
}

impl Delta<'_> {
    /// Returns the number of bytes that the model wrote, as JSON.
    pub(super) fn written_bytes(&self) -> u64 {
        self.text.text_bytes() + self.partial_json.text_bytes() + self.thinking.text_bytes()
    }
}

impl<'a> Block<'a> {
    pub(super) fn tool_input(&self) -> ToolInput<'a> {
        ToolInput::parse(self.input.json())
    }

    /// Returns the number of bytes that the model wrote, as JSON, like those of a delta.
    pub(super) fn written_bytes(&self) -> u64 {
        self.text.text_bytes() + self.thinking.text_bytes() + self.input.json().len() as u64
    }
}

#[cfg(test)]
mod tests;
