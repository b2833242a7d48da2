//! The types of the agent's events. Events of unknown types, which new versions add, are counted and
//! otherwise ignored.

macro_rules! kinds {
    ($($name:ident = $as_str:literal,)*) => {
        /// A type of event. `system` events are distinguished by their subtype.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Kind {
            $($name,)*
        }

        impl Kind {
            const ALL: &'static [Kind] = &[$(Kind::$name,)*];

            pub(super) fn as_str(self) -> &'static str {
                match self { $(Kind::$name => $as_str,)* }
            }
        }
    };
}

// The most frequent first, because the search is linear.
kinds! {
    StreamEvent = "stream_event",
    Assistant = "assistant",
    User = "user",
    Status = "system/status",
    TaskProgress = "system/task_progress",
    ToolProgress = "tool_progress",
    ThinkingTokens = "system/thinking_tokens",
    ApiRetry = "system/api_retry",
    Init = "system/init",
    Result = "result",
    SessionState = "system/session_state_changed",
    RateLimit = "rate_limit_event",
    BackgroundTasks = "system/background_tasks_changed",
    TaskStarted = "system/task_started",
    TaskUpdated = "system/task_updated",
    TaskNotification = "system/task_notification",
    TaskSummary = "system/task_summary",
    HookStarted = "system/hook_started",
    HookProgress = "system/hook_progress",
    HookResponse = "system/hook_response",
    ControlRequest = "control_request",
    ControlResponse = "control_response",
    ControlCancel = "control_cancel_request",
    CommandLifecycle = "command_lifecycle",
    Informational = "system/informational",
    Notification = "system/notification",
    PermissionDenied = "system/permission_denied",
    CompactBoundary = "system/compact_boundary",
    ModelFallback = "system/model_fallback",
    ModelRefusal = "system/model_refusal_no_fallback",
    KeepAlive = "keep_alive",
}

impl Kind {
    pub(super) fn from_name(kind: &str, subtype: &str) -> Option<Kind> {
        let is = |as_str: &str| match as_str.strip_prefix("system/") {
            Some(name) => kind == "system" && subtype == name,
            None => kind == as_str,
        };
        Kind::ALL.iter().copied().find(|known| is(known.as_str()))
    }
}
