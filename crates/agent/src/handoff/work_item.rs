//! One step of the work that a handoff prompt describes.

use crate::ToolArgument;
use crate::transcript_message::{ToolResultKind, TranscriptMessage};

#[derive(Clone, Debug)]
pub(super) enum WorkItem<'a> {
    ModelText(&'a str),
    /// A note from the agent program to the model.
    Note(&'a str),
    Call(RecordedCall<'a>),
    /// The start of a wrap-up. Without it, the agent's last words would read as a decision to stop.
    WrapUp,
    /// The result of a call that is not in the record.
    OrphanResult(&'a TranscriptMessage),
}

#[derive(Clone, Debug)]
pub(super) struct RecordedCall<'a> {
    pub(super) tool: &'a str,
    pub(super) input: &'a str,
    pub(super) argument: Option<ToolArgument<'a>>,
    pub(super) result: Option<&'a TranscriptMessage>,
    /// The report of its end, if it was seen, of a call in the background.
    pub(super) end: Option<&'a TranscriptMessage>,
}

impl<'a> RecordedCall<'a> {
    pub(super) fn new(
        call: &'a TranscriptMessage,
        result: Option<&'a TranscriptMessage>,
        end: Option<&'a TranscriptMessage>,
    ) -> RecordedCall<'a> {
        RecordedCall {
            tool: call.tool.as_deref().unwrap_or_default(),
            input: call.input.as_ref().map_or("", |input| input.get()),
            argument: call.argument(),
            result,
            end,
        }
    }

    /// Returns whether the result only reports that the call continues in the background.
    pub(super) fn is_background(&self) -> bool {
        self.result.is_some_and(|result| result.background && result.result_kind() == ToolResultKind::Ok)
    }

    /// Returns the message that states the outcome, if there is one.
    fn last_report(&self) -> Option<&'a TranscriptMessage> {
        if self.is_background() { self.end } else { self.result }
    }

    pub(super) fn outcome(&self) -> ToolResultKind {
        self.last_report().map_or(ToolResultKind::Unknown, TranscriptMessage::result_kind)
    }

    pub(super) fn output(&self) -> &'a str {
        self.last_report().map_or("", TranscriptMessage::text)
    }
}
