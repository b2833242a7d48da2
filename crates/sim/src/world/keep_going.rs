//! Models an agent in a run with keep-going. It stops while work remains, sometimes claims to be done, and
//! does not always change the workspace in between.

use super::World;
use super::agent::Agent;
use longhaul_core::{Notice, PromptKind};

impl World {
    /// Returns the workspace fingerprint that the supervisor takes after an exchange.
    pub(crate) fn fingerprint_notice(&self) -> Option<Notice> {
        self.keeps_going.then_some(Notice::WorkspaceFingerprinted(self.workspace))
    }

    /// Records the end of a tool or a shell. Some of them change nothing.
    pub(super) fn change_workspace(&mut self) {
        self.workspace += u64::from(self.keeps_going && !self.rng.one_in(4));
    }

    /// Draws whether the agent claims to be done, at most once per exchange.
    pub(super) fn claims_done(&mut self, agent: &Agent) -> bool {
        let odds = if self.remaining_work == 0 { self.mix.claims } else { self.mix.claims_early };
        self.keeps_going
            && agent.wrap_up_calls.is_none()
            && !agent.evidence.claimed_done
            && self.rng.chance(odds)
    }

    pub(super) fn stops_early(&mut self, agent: &Agent) -> bool {
        self.keeps_going && agent.wrap_up_calls.is_none() && self.rng.chance(self.mix.stops_early)
    }

    /// Draws whether a prompt lets the agent find more work.
    pub(super) fn draw_new_work(&mut self, prompt: PromptKind) {
        if matches!(prompt, PromptKind::KeepGoing(_) | PromptKind::ConfirmDone)
            && self.remaining_finds > 0
            && self.rng.chance(self.mix.finds_work)
        {
            self.remaining_finds -= 1;
            self.remaining_work += 1 + self.rng.below(3) as u32;
        }
    }
}
