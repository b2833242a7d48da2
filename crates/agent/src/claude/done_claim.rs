//! Whether the agent says that its work is finished: by a call of our tool, or by words that a person agreed on.
//! What that means is not for this module to say.

use super::finish_tool::FINISH;
use super::wire::Block;
use crate::DoneSignals;
use std::collections::BTreeSet;

// An agent says it once. More open calls of it than this are a stream gone wrong.
const CALLS_MAX: usize = 64;

/// What of it was said in the turn under way, or in the last one.
#[derive(Clone, Debug, Default)]
pub(super) struct DoneClaim {
    claims: DoneSignals,
    /// Calls of the tool that have brought no result yet.
    open: BTreeSet<String>,
    /// Whether it was said.
    pub(super) made: bool,
}

impl DoneClaim {
    pub(super) fn new(claims: DoneSignals) -> DoneClaim {
        DoneClaim { claims, ..DoneClaim::default() }
    }

    /// A turn begins: what was said before it is not the last word.
    pub(super) fn turn_began(&mut self) {
        self.made = false;
        self.open.clear();
    }

    /// The model calls a tool. A sub-agent that has finished has finished its part.
    pub(super) fn called(&mut self, call: &Block<'_>, thread: &str) {
        let counts = self.claims.tool && thread.is_empty() && call.name.is(FINISH);
        if counts && self.open.len() < CALLS_MAX {
            self.open.insert(call.id.as_str().to_owned());
        }
    }

    /// A call brought a result; whether it says that the work is finished. One that was refused says nothing: the
    /// agent did not hear that it was noted.
    pub(super) fn answered(&mut self, result: &Block<'_>) -> bool {
        let says = self.open.remove(result.tool_use_id.as_str()) && !result.is_error.0;
        self.made |= says;
        says
    }

    /// A turn ended well with this answer; whether its last line says that the work is finished.
    pub(super) fn concluded(&mut self, answer: &str) -> bool {
        let last = answer.trim_end().lines().next_back().map(str::trim);
        let says = self.claims.line.as_deref().is_some_and(|line| last == Some(line.trim()));
        self.made |= says;
        says
    }
}
