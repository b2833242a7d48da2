//! The types in the [messages](crate::TranscriptMessage) of a conversation and in the
//! [state](crate::AttemptSnapshot) of an attempt. They decide nothing.

pub use longhaul_agent::transcript_message::{
    EventKind, MessageClass, MessageOrigin, MessageRole, MessageUsage, ResultDetails, ToolResultKind,
};
pub use longhaul_agent::{ReviewAnswer, ToolArgument};
