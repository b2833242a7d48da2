//! The points of the supervisor's loop at which it may be killed.

use crate::rng::Rng;
use longhaul_core::word_enum;
use serde::Serialize;

word_enum! {
    /// A point of the loop at which the supervisor dies.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
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

impl KillPoint {
    /// Draws the point at which the supervisor dies in this step, or `None` if it survives.
    pub(crate) fn draw(rng: &mut Rng, per_million: u32) -> Option<KillPoint> {
        rng.chance(per_million).then(|| rng.pick(KillPoint::ALL))
    }
}
