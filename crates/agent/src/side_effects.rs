//! Tracks the tool calls that matter when a run continues: side effects outside the workspace that must not
//! be repeated, and calls with an unknown outcome. Makes no decisions; a prompt lists them for the agent.

use crate::byte_scan::leading;
use crate::snapshot::truncate_to_bytes;
use std::collections::VecDeque;
use std::mem;

/// Maximum number of calls to remember per list, far more than a prompt has room for.
const CALLS_MAX: usize = 256;
/// A line that a person or a model reads easily.
const EFFECT_CHARS_MAX: usize = 200;
// Ids have about 30 bytes. A hostile one is truncated and matched by its prefix.
const ID_BYTES_MAX: usize = 256;

/// Tool calls of one attempt or of a whole run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SideEffects {
    /// Calls with side effects outside the workspace that ended.
    pub completed: BoundedLog<EndedCall>,
    /// Calls whose end was not seen: they may have taken effect in full, in part or not at all. While the
    /// agent runs, these are the running calls.
    pub unresolved: BoundedLog<UnresolvedCall>,
    /// All calls that ended, except those of sub-agents. The conversation of the session should contain them.
    pub ended: BoundedLog<EndedCall>,
    /// Number of calls.
    pub calls: u64,
}

/// A call that ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EndedCall {
    /// The agent's id of the call.
    pub id: String,
    /// The call on one line: `Bash: git push origin main`.
    pub effect: String,
    /// Whether it failed. It may have taken effect in part.
    pub is_error: bool,
    /// When it ended, or else when it started, if the agent states it: `2026-11-21 14:02 UTC`.
    pub time: Option<String>,
}

/// A call whose end was not seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnresolvedCall {
    /// The agent's id of the call.
    pub id: String,
    /// The call on one line.
    pub effect: String,
    /// Whether its side effects are outside the workspace.
    pub is_outside: bool,
    /// Whether it continues in the background, so that its result only reports its start.
    pub in_background: bool,
    /// Whether a sub-agent made it, in its own conversation.
    pub is_subagent: bool,
    /// When it started, if the agent states it.
    pub time: Option<String>,
}

/// The latest items. When it is full, the oldest item is dropped and counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BoundedLog<T> {
    items: VecDeque<T>,
    /// Number of items that were dropped.
    pub dropped: u64,
}

impl SideEffects {
    /// Adds the calls of a later attempt. Earlier unresolved calls stay unresolved if it called no tool, because it
    /// cannot have checked them, or if it was a wrap-up, because the session continues without it.
    pub fn extend(&mut self, later: &SideEffects, was_wrap_up: bool) {
        later.completed.iter().for_each(|call| self.completed.push(call.clone()));
        self.completed.dropped += later.completed.dropped;
        later.ended.iter().for_each(|call| self.ended.push(call.clone()));
        if later.calls > 0 && !was_wrap_up {
            self.unresolved = BoundedLog::default();
        }
        later.unresolved.iter().for_each(|call| self.unresolved.push(call.clone()));
        self.unresolved.dropped += later.unresolved.dropped;
        self.calls += later.calls;
    }

    /// Clears the ended calls at the start of a new session, whose conversation does not contain them.
    pub fn clear_session(&mut self) {
        self.ended = BoundedLog::default();
    }

    /// Records the start of a call. Its line is sanitized, and a second start of the same call is ignored.
    pub(crate) fn on_start(&mut self, mut call: UnresolvedCall) {
        call.id = truncate_to_bytes(&call.id, ID_BYTES_MAX).to_owned();
        call.effect = sanitize_line(&call.effect);
        if !self.unresolved.iter().any(|existing| existing.id == call.id) {
            self.unresolved.push(call);
            self.calls += 1;
        }
    }

    pub(crate) fn on_backgrounded(&mut self, id: &str) {
        if let Some(call) = self.unresolved.items.iter_mut().find(|call| call.is(id)) {
            call.in_background = true;
        }
    }

    /// Records the result of a call. In the background, only an error ends the call.
    pub(crate) fn on_result(&mut self, id: &str, is_error: bool, time: Option<String>) {
        let continues = |call: &UnresolvedCall| call.in_background && !is_error;
        if !self.unresolved.iter().any(|call| call.is(id) && continues(call)) {
            self.on_end(id, is_error, time);
        }
    }

    pub(crate) fn on_end(&mut self, id: &str, is_error: bool, time: Option<String>) {
        let Some(call) = self.take(id) else { return };
        let UnresolvedCall { id, effect, is_outside, is_subagent, time: started, .. } = call;
        let ended = EndedCall { id, effect, is_error, time: time.or(started) };
        if is_outside {
            self.completed.push(ended.clone());
        }
        if !is_subagent {
            self.ended.push(ended);
        }
    }

    pub(crate) fn on_never_ran(&mut self, id: &str) {
        self.take(id);
    }

    fn take(&mut self, id: &str) -> Option<UnresolvedCall> {
        let index = self.unresolved.iter().position(|call| call.is(id))?;
        self.unresolved.items.remove(index)
    }
}

impl UnresolvedCall {
    fn is(&self, id: &str) -> bool {
        self.id == truncate_to_bytes(id, ID_BYTES_MAX)
    }
}

impl<T> BoundedLog<T> {
    /// Returns the items, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> + ExactSizeIterator {
        self.items.iter()
    }

    /// Returns whether there are no items and none was dropped.
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

/// Truncates a text to one line without characters that could disturb a terminal or a list.
fn sanitize_line(text: &str) -> String {
    // Two bytes per character leave room for the characters that are dropped.
    let (whole, text) = (text.trim(), truncate_to_bytes(text.trim(), 2 * EFFECT_CHARS_MAX));
    let mut line = String::with_capacity(text.len());
    let (mut rest, mut separator) = (text, "");
    while !rest.is_empty() {
        // Plain characters are copied together.
        let plain = leading(rest.as_bytes(), |byte| byte.is_ascii_graphic());
        let (word, others) = rest.split_at(plain);
        let other = others.chars().next();
        rest = &others[other.map_or(0, char::len_utf8)..];
        if !word.is_empty() {
            line.push_str(mem::take(&mut separator));
            line.push_str(word);
        }
        match other {
            Some('\n') if !line.is_empty() => separator = " ⏎ ",
            Some(c) if c.is_whitespace() => {
                if separator.is_empty() && !line.is_empty() {
                    separator = " ";
                }
            }
            Some(c) if !c.is_control() && !is_invisible(c) => {
                line.push_str(mem::take(&mut separator));
                line.push(c);
            }
            Some(_) | None => {}
        }
    }
    let end = if line.is_ascii() {
        (line.len() > EFFECT_CHARS_MAX).then_some(EFFECT_CHARS_MAX)
    } else {
        line.char_indices().nth(EFFECT_CHARS_MAX).map(|(end, _)| end)
    };
    if end.is_some() || (text.len() < whole.len() && !line.is_empty()) {
        line.truncate(end.unwrap_or(line.len()));
        line.push('…');
    }
    line
}

/// Characters that change the order or the appearance of others.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests;
