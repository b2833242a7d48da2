//! Derives turn and tool-call spans from the messages of an attempt. It never reads a file or a clock.
//!
//! A turn is one message of the model. It starts when the model has all its input: the start of the attempt,
//! a prompt, or the results of its calls. It ends with the last part of the message. Times come from the
//! agent where it reports them.

use longhaul_agent::transcript_message::{EventKind, MessageOrigin, MessageUsage, TranscriptMessage};
use longhaul_core::{Moment, parse_rfc3339};
use std::collections::BTreeMap;

pub(crate) struct ConversationSpans {
    /// Time at which the model had all its input, for the main conversation and for each sub-agent.
    input_times: BTreeMap<Thread, Moment>,
    /// Open messages, which may have further parts.
    turns: BTreeMap<Thread, TurnSpan>,
    calls: BTreeMap<String, ToolCallSpan>,
    /// Number of the next messages that an earlier supervisor has already reported.
    reported: usize,
}

/// A conversation: `None` for the main one, else the id of the call that started the sub-agent.
type Thread = Option<String>;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum CompletedSpan {
    Turn(TurnSpan),
    Call(ToolCallSpan),
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TurnSpan {
    /// The API's id of the message.
    pub(crate) id: String,
    pub(crate) parent: Thread,
    pub(crate) session: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) started_at: Moment,
    pub(crate) ended_at: Moment,
    pub(crate) stop_reason: Option<String>,
    /// Usage. `None` for a sub-agent, whose stream does not report it, and for a truncated message.
    pub(crate) usage: Option<MessageUsage>,
    /// Whether an earlier supervisor has reported the turn.
    pub(crate) is_already_sent: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ToolCallSpan {
    pub(crate) id: String,
    pub(crate) parent: Thread,
    pub(crate) tool: String,
    pub(crate) started_at: Moment,
    pub(crate) ended_at: Moment,
    pub(crate) outcome: ToolOutcome,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ToolOutcome {
    Returned,
    Failed,
    Denied,
    /// No result arrived.
    Interrupted,
}

impl ConversationSpans {
    /// Creates the conversation of an attempt that started at `at`. An earlier supervisor has reported the
    /// first `reported` messages.
    pub(crate) fn new(at: Moment, reported: usize) -> ConversationSpans {
        let input_times = BTreeMap::from([(None, at)]);
        ConversationSpans { input_times, turns: BTreeMap::new(), calls: BTreeMap::new(), reported }
    }

    pub(crate) fn on_prompt(&mut self, at: Moment) {
        self.input_times.insert(None, at);
    }

    /// Adds messages that arrived at `now`, and returns the completed spans.
    pub(crate) fn add(&mut self, messages: &[TranscriptMessage], now: Moment) -> Vec<CompletedSpan> {
        messages.iter().flat_map(|message| self.apply(message, now)).collect()
    }

    /// Ends all open spans, because the attempt ended at `at`.
    pub(crate) fn end(&mut self, at: Moment) -> Vec<CompletedSpan> {
        let mut completed: Vec<CompletedSpan> =
            std::mem::take(&mut self.turns).into_values().map(CompletedSpan::Turn).collect();
        let interrupted = std::mem::take(&mut self.calls).into_values();
        completed.extend(interrupted.map(|call| CompletedSpan::Call(call.end(at, ToolOutcome::Interrupted))));
        completed
    }

    fn apply(&mut self, message: &TranscriptMessage, now: Moment) -> Vec<CompletedSpan> {
        let is_already_sent = self.reported > 0;
        self.reported = self.reported.saturating_sub(1);
        let at = message.timestamp.as_deref().and_then(parse_rfc3339).unwrap_or(now);
        match message.kind {
            EventKind::Text | EventKind::Thinking => self.add_part(message, at, is_already_sent),
            EventKind::ToolCall => {
                if let (Some(id), Some(tool)) = (message.tool_use_id.clone(), message.tool.clone()) {
                    let parent = message.parent_tool_use_id.clone();
                    // The call is the prompt of a sub-agent.
                    self.input_times.insert(Some(id.clone()), at);
                    let outcome = ToolOutcome::Interrupted;
                    self.calls.insert(
                        id.clone(),
                        ToolCallSpan { id, parent, tool, started_at: at, ended_at: at, outcome },
                    );
                }
                self.add_part(message, at, is_already_sent)
            }
            EventKind::ToolResult => {
                let parent = &message.parent_tool_use_id;
                let mut completed: Vec<CompletedSpan> =
                    self.turns.remove(parent).map(CompletedSpan::Turn).into_iter().collect();
                self.input_times.insert(parent.clone(), at);
                let Some(call) = message.tool_use_id.as_ref().and_then(|id| self.calls.remove(id)) else {
                    return completed;
                };
                // The end of a sub-agent's call ends its conversation.
                self.input_times.remove(&Some(call.id.clone()));
                completed.extend(self.turns.remove(&Some(call.id.clone())).map(CompletedSpan::Turn));
                let outcome = match (message.denied, message.interrupted, message.is_error) {
                    (true, _, _) => ToolOutcome::Denied,
                    (false, true, _) => ToolOutcome::Interrupted,
                    (false, false, Some(true)) => ToolOutcome::Failed,
                    (false, false, Some(false) | None) => ToolOutcome::Returned,
                };
                completed.push(CompletedSpan::Call(call.end(at, outcome)));
                completed
            }
            EventKind::Prompt | EventKind::Note | EventKind::Summary => Vec::new(),
            EventKind::Result => self.turns.remove(&None).map(CompletedSpan::Turn).into_iter().collect(),
        }
    }

    /// Adds a part of a model message. Returns the previous message if it was still open, and this one if the
    /// part is its last.
    fn add_part(
        &mut self,
        message: &TranscriptMessage,
        at: Moment,
        is_already_sent: bool,
    ) -> Vec<CompletedSpan> {
        // Messages that the agent itself writes in place of the model are not turns.
        let Some(id) = message.id.clone().filter(|_| message.origin == MessageOrigin::Model) else {
            return Vec::new();
        };
        let parent = message.parent_tool_use_id.clone();
        let started_at = self.input_times.get(&parent).copied().unwrap_or(at).min(at);
        let (open, previous) = match self.turns.remove(&parent) {
            Some(turn) if turn.id == id => (Some(turn), None),
            previous => (None, previous),
        };
        let turn = open.unwrap_or(TurnSpan {
            id,
            parent: parent.clone(),
            started_at,
            ended_at: at,
            ..TurnSpan::default()
        });
        let turn = TurnSpan {
            session: message.session_id.clone().or(turn.session),
            model: message.model.clone().or(turn.model),
            ended_at: at.max(turn.ended_at),
            stop_reason: message.stop_reason.clone(),
            usage: message.usage,
            is_already_sent,
            ..turn
        };
        let mut completed: Vec<TurnSpan> = previous.into_iter().collect();
        if turn.stop_reason.is_some() {
            completed.push(turn);
        } else {
            self.turns.insert(parent.clone(), turn);
        }
        if let Some(last) = completed.last() {
            self.input_times.insert(parent, last.ended_at);
        }
        completed.into_iter().map(CompletedSpan::Turn).collect()
    }
}

impl ToolCallSpan {
    fn end(self, at: Moment, outcome: ToolOutcome) -> ToolCallSpan {
        ToolCallSpan { ended_at: at.max(self.started_at), outcome, ..self }
    }
}

#[cfg(test)]
mod tests;
