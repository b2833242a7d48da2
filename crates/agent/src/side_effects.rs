//! What tool calls did, as far as it matters when a run goes on: effects outside of the workspace that
//! must not be repeated, and calls whose outcome nobody saw. Decides nothing; the agent is told.

use crate::snapshot::truncate_to_bytes;
use std::collections::VecDeque;

/// How many calls of each kind are remembered: more than a prompt has room for by far.
const CALLS_MAX: usize = 256;
/// A line that a person or a model can take in.
const WHAT_CHARS_MAX: usize = 200;
// Ids have about 30 bytes. A hostile one is cut, and found by its beginning.
const ID_BYTES_MAX: usize = 256;

/// What tool calls did, in one attempt or in a whole run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SideEffects {
    /// Calls with effects outside of the workspace that came to an end.
    pub completed: BoundedLog<CompletedEffect>,
    /// Calls whose end was not seen: they may have taken effect in full, in part or not at all. While the
    /// agent runs, these are the calls under way.
    pub unresolved: BoundedLog<UnresolvedCall>,
    /// Calls of any reach that came to an end, those of sub-agents left out: what the conversation of the
    /// session should show.
    pub ended: BoundedLog<EndedCall>,
    /// How many calls there were.
    pub calls: u64,
}

/// A call with effects outside of the workspace that came to an end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompletedEffect {
    /// The agent's name for the call.
    pub id: String,
    /// The call in one line: `Bash: git push origin main`.
    pub effect: String,
    /// Whether it ended with an error. It may have taken effect in part.
    pub is_error: bool,
    /// When it ended, or at least when it began, if the agent told: `2026-11-21 14:02 UTC`.
    pub when: Option<String>,
}

/// A call that came to an end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndedCall {
    /// The agent's name for the call.
    pub id: String,
    /// The call in one line.
    pub effect: String,
    /// Whether it ended with an error.
    pub is_error: bool,
}

/// A call whose end was not seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnresolvedCall {
    /// The agent's name for the call.
    pub id: String,
    /// The call in one line.
    pub effect: String,
    /// Whether its effects are outside of the workspace.
    pub is_outside: bool,
    /// Whether it goes on in the background: its result then only says that it began.
    pub in_background: bool,
    /// Whether a sub-agent made it, in a conversation of its own.
    pub of_subagent: bool,
    /// When it began, if the agent told.
    pub when: Option<String>,
}

/// The latest of something: the oldest is dropped for the next, and counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundedLog<T> {
    items: VecDeque<T>,
    /// How many older ones were dropped.
    pub dropped: u64,
}

impl SideEffects {
    /// Adds what a later attempt did. What was unknown before it stays so if it called no tool: it
    /// cannot have looked.
    pub fn extend(&mut self, later: &SideEffects) {
        for done in later.completed.iter() {
            self.completed.push(done.clone());
        }
        self.completed.dropped += later.completed.dropped;
        for ended in later.ended.iter() {
            self.ended.push(ended.clone());
        }
        if later.calls > 0 {
            self.unresolved = later.unresolved.clone();
        }
        self.calls += later.calls;
    }

    /// A new session has begun: its conversation shows nothing of what was done before.
    pub fn clear_session(&mut self) {
        self.ended = BoundedLog::default();
    }

    /// A call began. Its line is made plain; one that is known already began no second time.
    pub(crate) fn on_start(&mut self, mut call: UnresolvedCall) {
        call.id = truncate_to_bytes(&call.id, ID_BYTES_MAX).to_owned();
        call.effect = plain(&call.effect);
        if !self.unresolved.iter().any(|known| known.id == call.id) {
            self.unresolved.push(call);
            self.calls += 1;
        }
    }

    /// The call goes on in the background.
    pub(crate) fn on_backgrounded(&mut self, id: &str) {
        if let Some(call) = self.unresolved.items.iter_mut().find(|call| call.is(id)) {
            call.in_background = true;
        }
    }

    /// A result came for the call. In the background, only an error ends it.
    pub(crate) fn on_result(&mut self, id: &str, is_error: bool, when: Option<String>) {
        let goes_on = |call: &UnresolvedCall| call.in_background && !is_error;
        if !self.unresolved.iter().any(|call| call.is(id) && goes_on(call)) {
            self.on_end(id, is_error, when);
        }
    }

    /// The call came to an end.
    pub(crate) fn on_end(&mut self, id: &str, is_error: bool, when: Option<String>) {
        let Some(call) = self.take(id) else { return };
        let UnresolvedCall { id, effect: what, is_outside, of_subagent, when: began, .. } = call;
        if is_outside {
            self.completed.push(CompletedEffect {
                id: id.clone(),
                effect: what.clone(),
                is_error,
                when: when.or(began),
            });
        }
        if !of_subagent {
            self.ended.push(EndedCall { id, effect: what, is_error });
        }
    }

    /// The call did not run after all.
    pub(crate) fn on_never_ran(&mut self, id: &str) {
        self.take(id);
    }

    fn take(&mut self, id: &str) -> Option<UnresolvedCall> {
        let at = self.unresolved.iter().position(|call| call.is(id))?;
        self.unresolved.items.remove(at)
    }
}

impl UnresolvedCall {
    fn is(&self, id: &str) -> bool {
        self.id == truncate_to_bytes(id, ID_BYTES_MAX)
    }
}

impl<T> Default for BoundedLog<T> {
    fn default() -> BoundedLog<T> {
        BoundedLog { items: VecDeque::new(), dropped: 0 }
    }
}

impl<T> BoundedLog<T> {
    /// The oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> + ExactSizeIterator {
        self.items.iter()
    }

    /// Whether there is none, and none was dropped.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty() && self.dropped == 0
    }

    fn push(&mut self, item: T) {
        if self.items.len() == CALLS_MAX {
            self.items.pop_front();
            self.dropped += 1;
        }
        self.items.push_back(item);
    }
}

/// The beginning of a text as one line that nothing can disturb: neither a terminal nor a list.
fn plain(text: &str) -> String {
    // Two bytes for each sign leave room for what is left out of them.
    let (whole, text) = (text.trim(), truncate_to_bytes(text.trim(), 2 * WHAT_CHARS_MAX));
    let lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    let lines: Vec<String> = lines.filter(|line| !line.is_empty()).collect();
    let is_plain = |sign: &char| !sign.is_control() && !is_invisible(*sign);
    let mut line: String = lines.join(" ⏎ ").chars().filter(is_plain).collect();
    let end = line.char_indices().nth(WHAT_CHARS_MAX).map(|(end, _)| end);
    if end.is_some() || (text.len() < whole.len() && !line.is_empty()) {
        line.truncate(end.unwrap_or(line.len()));
        line.push('…');
    }
    line
}

/// Signs that change the order or the look of others.
fn is_invisible(sign: char) -> bool {
    matches!(sign, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests;
