//! The points of the supervisor's loop at which it may be killed.

use crate::rng::Rng;
use longhaul_core::word_enum;

word_enum! {
    pub(crate) enum KillPoint {
        /// An event arrived and is lost.
        BeforeStep = "before_step",
        /// The records are being written, and the whole entry is lost.
        MidAppend = "mid_append",
        /// The records are on disk, but no action was performed.
        AfterAppend = "after_append",
        /// The first action was performed, the others were not.
        BetweenActions = "between_actions",
        /// Every action was performed.
        AfterActions = "after_actions",
    }
}

// A run whose supervisor dies at every step would never finish.
const KILLS_MAX: u32 = 12;

/// The kills of one simulation so far.
#[derive(Debug, Default)]
pub(crate) struct Kills(u32);

impl Kills {
    /// Draws the point at which the supervisor dies in this step, or `None` if it survives.
    pub(crate) fn draw(&mut self, rng: &mut Rng, per_million: u32) -> Option<KillPoint> {
        let dies = self.0 < KILLS_MAX && rng.chance(per_million);
        self.0 += u32::from(dies);
        dies.then(|| rng.pick(KillPoint::ALL))
    }
}
