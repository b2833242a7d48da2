//! Detects the agent's claim that its work is done: a call of the finish tool, or a line that the user agreed
//! on. Does not decide what follows from it.

use super::finish_tool::FINISH;
use super::wire::Block;
use crate::DoneSignals;
use std::collections::BTreeSet;

// An agent claims it once. More open calls than this indicate a damaged stream.
const CALLS_MAX: usize = 64;

#[derive(Clone, Debug, Default)]
pub(crate) struct DoneClaim {
    signals: DoneSignals,
    /// Calls of the tool without a result.
    open: BTreeSet<String>,
    pub(crate) made: bool,
}

impl DoneClaim {
    pub(crate) fn new(done_signals: DoneSignals) -> DoneClaim {
        DoneClaim { signals: done_signals, ..DoneClaim::default() }
    }

    /// Resets the claim, because a new exchange replaces an earlier claim.
    pub(crate) fn on_exchange_start(&mut self) {
        self.made = false;
        self.open.clear();
    }

    /// Records a tool call. A sub-agent's claim covers only its part of the work.
    pub(super) fn on_call(&mut self, call: &Block<'_>, thread: &str) {
        let counts = self.signals.tool && thread.is_empty() && call.name.is(FINISH);
        if counts && self.open.len() < CALLS_MAX {
            self.open.insert(call.id.as_str().to_owned());
        }
    }

    /// Records the result of a call and returns whether it makes the claim. A failed call does not, because
    /// the agent did not receive the confirmation.
    pub(super) fn on_result(&mut self, result: &Block<'_>) -> bool {
        let is_claim = self.open.remove(result.tool_use_id.as_str()) && !result.is_error.is_set();
        self.made |= is_claim;
        is_claim
    }

    /// Records the text of a successful result and returns whether its last line makes the claim.
    pub(crate) fn on_exchange_end(&mut self, text: &str) -> bool {
        let last = text.trim_end().lines().next_back().map(str::trim);
        let is_claim = self.signals.line.as_deref().is_some_and(|line| last == Some(line.trim()));
        self.made |= is_claim;
        is_claim
    }
}
