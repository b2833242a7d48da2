//! Detects the agent's claim that its work is done: a call of the finish tool, or a line that the user agreed
//! on. Does not decide what follows from it.

use crate::DoneSignals;
use std::collections::BTreeSet;

/// The name of the finish tool, as an agent lists it: it includes the name of our server. A project may have another
/// server of ours, named `longhaul`, and an agent connects to only one of two servers with the same name.
pub(crate) const FINISH: &str = "mcp__longhaul-run__finish";

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

    /// Records a call of the finish tool in the main conversation. A sub-agent's claim covers only its part of
    /// the work.
    pub(crate) fn on_call(&mut self, id: &str) {
        if self.signals.tool && self.open.len() < CALLS_MAX {
            self.open.insert(id.to_owned());
        }
    }

    /// Records the result of a call and returns whether it makes the claim. A failed call does not, because
    /// the agent did not receive the confirmation.
    pub(crate) fn on_result(&mut self, id: &str, is_error: bool) -> bool {
        let is_claim = self.open.remove(id) && !is_error;
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
