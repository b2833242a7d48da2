//! What an attempt's stream tells of its turns and tool calls, each with its beginning and its end. Pure.
//!
//! A turn is a message of the model: it begins when the model has all that it answers to (the attempt's start, what it was told,
//! the results of its calls) and ends with the last part of the message. Times are the agent's own, where it says them.

use crate::time::parsed;
use longhaul_agent::TranscriptDecoder;
use longhaul_agent::transcript_message::{EventKind, MessageOrigin, MessageUsage, TranscriptMessage};
use longhaul_core::Moment;
use std::collections::BTreeMap;

/// The conversation of one attempt.
pub(crate) struct ConversationSpans {
    scribe: Box<dyn TranscriptDecoder>,
    /// Since when the model has all that it answers to, in the main conversation and in each sub-agent's, by the call that
    /// began it.
    prompts: BTreeMap<Thread, Moment>,
    /// Messages whose last part may still come.
    turns: BTreeMap<Thread, TurnSpan>,
    calls: BTreeMap<String, ToolCallSpan>,
    /// How many of the messages to come an earlier supervisor has told of.
    known: usize,
}

/// Whose conversation: nothing for the main one, else the call that began the sub-agent.
type Thread = Option<String>;

/// Something that is over.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum CompletedSpan {
    /// A turn.
    Turn(TurnSpan),
    /// A tool call.
    Call(ToolCallSpan),
}

/// A message of the model.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TurnSpan {
    /// The API's id of it.
    pub(crate) id: String,
    pub(crate) parent: Thread,
    pub(crate) session: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) started_at: Moment,
    pub(crate) ended_at: Moment,
    pub(crate) stop_reason: Option<String>,
    /// What it used; nothing for a sub-agent's, of which the stream does not say so, and for one that was cut.
    pub(crate) usage: Option<MessageUsage>,
    /// Whether an earlier supervisor has told of it.
    pub(crate) is_already_sent: bool,
}

/// A tool call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ToolCallSpan {
    pub(crate) id: String,
    pub(crate) parent: Thread,
    pub(crate) tool: String,
    pub(crate) started_at: Moment,
    pub(crate) ended_at: Moment,
    pub(crate) ending: ToolOutcome,
}

/// How a tool call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ToolOutcome {
    Returned,
    Failed,
    Denied,
    /// Its result never came.
    Interrupted,
}

impl ConversationSpans {
    /// One that begins at `at`, and of which an earlier supervisor has told the first `known` messages.
    pub(crate) fn new(scribe: Box<dyn TranscriptDecoder>, at: Moment, known: usize) -> ConversationSpans {
        let asked = BTreeMap::from([(None, at)]);
        ConversationSpans { scribe, prompts: asked, turns: BTreeMap::new(), calls: BTreeMap::new(), known }
    }

    /// The agent was told something more.
    pub(crate) fn on_prompt(&mut self, at: Moment) {
        self.prompts.insert(None, at);
    }

    /// Takes in some bytes of the stream, which came at `now`.
    pub(crate) fn feed(&mut self, bytes: &[u8], now: Moment) -> Vec<CompletedSpan> {
        let mut messages = Vec::new();
        self.scribe.feed(bytes, &mut messages);
        messages.into_iter().flat_map(|message| self.take(message, now)).collect()
    }

    /// The attempt ended at `at`, and with it all that was under way.
    pub(crate) fn end(&mut self, at: Moment) -> Vec<CompletedSpan> {
        let mut messages = Vec::new();
        self.scribe.finish(&mut messages);
        let mut told: Vec<CompletedSpan> =
            messages.into_iter().flat_map(|message| self.take(message, at)).collect();
        told.extend(std::mem::take(&mut self.turns).into_values().map(CompletedSpan::Turn));
        let cut = std::mem::take(&mut self.calls).into_values();
        told.extend(cut.map(|call| CompletedSpan::Call(call.ended(at, ToolOutcome::Interrupted))));
        told
    }

    fn take(&mut self, message: TranscriptMessage, now: Moment) -> Vec<CompletedSpan> {
        let is_known = self.known > 0;
        self.known = self.known.saturating_sub(1);
        let at = message.timestamp.as_deref().and_then(parsed).unwrap_or(now);
        match message.kind {
            EventKind::Text | EventKind::Thinking => self.part(message, at, is_known),
            EventKind::ToolCall => {
                if let (Some(id), Some(tool)) = (message.tool_use_id.clone(), message.tool.clone()) {
                    let within = message.parent_tool_use_id.clone();
                    // What a sub-agent answers to is what its call says.
                    self.prompts.insert(Some(id.clone()), at);
                    let ending = ToolOutcome::Interrupted;
                    self.calls.insert(
                        id.clone(),
                        ToolCallSpan { id, parent: within, tool, started_at: at, ended_at: at, ending },
                    );
                }
                self.part(message, at, is_known)
            }
            EventKind::ToolResult => {
                let speaker = message.parent_tool_use_id;
                let mut told: Vec<CompletedSpan> =
                    self.turns.remove(&speaker).map(CompletedSpan::Turn).into_iter().collect();
                self.prompts.insert(speaker, at);
                let Some(call) = message.tool_use_id.and_then(|id| self.calls.remove(&id)) else {
                    return told;
                };
                // With a sub-agent's call ends its conversation.
                self.prompts.remove(&Some(call.id.clone()));
                told.extend(self.turns.remove(&Some(call.id.clone())).map(CompletedSpan::Turn));
                let ending = match (message.denied, message.interrupted, message.is_error) {
                    (true, _, _) => ToolOutcome::Denied,
                    (false, true, _) => ToolOutcome::Interrupted,
                    (false, false, Some(true)) => ToolOutcome::Failed,
                    (false, false, Some(false) | None) => ToolOutcome::Returned,
                };
                told.push(CompletedSpan::Call(call.ended(at, ending)));
                told
            }
            EventKind::Prompt | EventKind::Note | EventKind::Summary => Vec::new(),
            EventKind::Result => self.turns.remove(&None).map(CompletedSpan::Turn).into_iter().collect(),
        }
    }

    /// A part of the model's message. Returns the message before it, if that was still open, and this one if that was its
    /// last part.
    fn part(&mut self, message: TranscriptMessage, at: Moment, is_known: bool) -> Vec<CompletedSpan> {
        // What the agent's program says in the model's place is no turn.
        let Some(id) = message.id.filter(|_| message.origin == MessageOrigin::Model) else {
            return Vec::new();
        };
        let within = message.parent_tool_use_id;
        let began = self.prompts.get(&within).copied().unwrap_or(at).min(at);
        let (open, before) = match self.turns.remove(&within) {
            Some(turn) if turn.id == id => (Some(turn), None),
            before => (None, before),
        };
        let turn = open.unwrap_or(TurnSpan {
            id,
            parent: within.clone(),
            session: None,
            model: None,
            started_at: began,
            ended_at: at,
            stop_reason: None,
            usage: None,
            is_already_sent: is_known,
        });
        let turn = TurnSpan {
            session: message.session_id.or(turn.session),
            model: message.model.or(turn.model),
            ended_at: at.max(turn.ended_at),
            stop_reason: message.stop_reason,
            usage: message.usage,
            is_already_sent: is_known,
            ..turn
        };
        let mut over: Vec<TurnSpan> = before.into_iter().collect();
        if turn.stop_reason.is_some() {
            over.push(turn);
        } else {
            self.turns.insert(within.clone(), turn);
        }
        if let Some(last) = over.last() {
            self.prompts.insert(within, last.ended_at);
        }
        over.into_iter().map(CompletedSpan::Turn).collect()
    }
}

impl ToolCallSpan {
    fn ended(self, at: Moment, ending: ToolOutcome) -> ToolCallSpan {
        ToolCallSpan { ended_at: at.max(self.started_at), ending, ..self }
    }
}

#[cfg(test)]
mod tests;
