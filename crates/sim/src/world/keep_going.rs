//! An agent that is kept going: it stops while work is left, says now and then that the work is finished, and changes
//! the workspace in between, or does not.

use super::World;
use super::agent::Agent;
use longhaul_core::{Notice, PromptKind};

impl World {
    /// What somebody sees who looks at the workspace when a turn has ended.
    pub(crate) fn survey(&self) -> Option<Notice> {
        self.kept.then_some(Notice::WorkspaceFingerprinted(self.workspace))
    }

    /// A tool or a shell has ended; some of them only look.
    pub(super) fn changes(&mut self) {
        self.workspace += u64::from(self.kept && !self.rng.one_in(4));
    }

    /// Whether the agent says that the work is finished; once in a turn says it all.
    pub(super) fn claims(&mut self, agent: &Agent) -> bool {
        let odds = if self.work_left == 0 { self.mix.claims } else { self.mix.claims_early };
        self.kept && agent.saving.is_none() && !agent.evidence.claimed_done && self.rng.odds(odds)
    }

    /// Whether it stops although work is left.
    pub(super) fn stops_early(&mut self, agent: &Agent) -> bool {
        self.kept && agent.saving.is_none() && self.rng.odds(self.mix.stops_early)
    }

    /// It is told this, and may find something to do that nobody had thought of.
    pub(super) fn looks_again(&mut self, say: PromptKind) {
        if matches!(say, PromptKind::KeepGoing(_) | PromptKind::ConfirmDone)
            && self.finds_left > 0
            && self.rng.odds(self.mix.finds_work)
        {
            self.finds_left -= 1;
            self.work_left += 1 + self.rng.below(3) as u32;
        }
    }
}
