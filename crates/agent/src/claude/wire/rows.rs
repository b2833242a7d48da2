//! The rows of a session file, and the events of a stream that become such rows.

use super::{Field, List, Message, Raw, ResultMeta, Text};
use crate::claude::vendor_terms::is_interrupted;
use crate::json_reader::Reader;
use serde::Serialize;

records! {
    Row {
        "type" => kind: Text<'a>,
        "uuid" => uuid: Text<'a>,
        // Distinguish a row of a session file from an event of a stream.
        "sessionId" => session_file_id: Text<'a>,
        "session_id" => stream_id: Text<'a>,
        "parentUuid" => parent: Text<'a>,
        "logicalParentUuid" => logical_parent: Text<'a>,
        "isSidechain" => is_sidechain: Raw<'a>,
        "isMeta" => is_meta: Raw<'a>,
        "isCompactSummary" => is_compact_summary: Raw<'a>,
        "isApiErrorMessage" => is_api_error_message: Raw<'a>,
        "promptSource" => prompt_source: Text<'a>,
        "turnOrigin" => turn_origin: Text<'a>,
        "origin" => origin: PromptOrigin<'a>,
        "toolDenialKind" => denial_kind: Text<'a>,
        "permissionDecision" => permission_decision: Raw<'a>,
        "timestamp" => timestamp: Text<'a>,
        "message" => message: Message<'a>,
        "attachment" => attachment: Attachment<'a>,
        "operation" => operation: Text<'a>,
        "content" => content: Raw<'a>,
    }

    /// A stream event with its message unparsed, to be written as a session row.
    UnwrittenEvent {
        "type" => kind: Text<'a>,
        "subtype" => subtype: Text<'a>,
        "uuid" => uuid: Text<'a>,
        "session_id" => session_id: Text<'a>,
        "parent_tool_use_id" => parent_tool_use_id: Text<'a>,
        "is_api_error_message" => is_api_error_message: Raw<'a>,
        "timestamp" => timestamp: Text<'a>,
        "message" => message: Raw<'a>,
        "tool_use_result" => tool_use_result: Raw<'a>,
        "tool_result_meta" => tool_result_meta: List<ResultMeta<'a>>,
    }

    /// The origin of a prompt, unless it is from a person or a host.
    PromptOrigin {
        "kind" => kind: Text<'a>,
    }

    /// Content that the agent program adds to the conversation.
    Attachment {
        "type" => kind: Text<'a>,
        "commandMode" => command_mode: Text<'a>,
        "prompt" => prompt: Raw<'a>,
    }

    /// Fields that every row of a session file repeats.
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    RowContext {
        #[serde(skip_serializing_if = "Raw::is_missing")]
        "userType" => user_type: Raw<'a>,
        #[serde(skip_serializing_if = "Raw::is_missing")]
        "entrypoint" => entrypoint: Raw<'a>,
        #[serde(skip_serializing_if = "Raw::is_missing")]
        "cwd" => cwd: Raw<'a>,
        #[serde(skip_serializing_if = "Raw::is_missing")]
        "sessionId" => session_id: Raw<'a>,
        #[serde(skip_serializing_if = "Raw::is_missing")]
        "version" => version: Raw<'a>,
        #[serde(skip_serializing_if = "Raw::is_missing")]
        "gitBranch" => git_branch: Raw<'a>,
    }
}

impl RowContext<'_> {
    pub(in crate::claude) fn belongs_to(&self, session: &str) -> bool {
        self.session_id.text().is_some_and(|id| id == session)
    }
}

impl Row<'_> {
    pub(in crate::claude) fn is_interrupted(&self) -> bool {
        is_interrupted(self.denial_kind.as_str(), self.permission_decision.is_set())
    }
}
