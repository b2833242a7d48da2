//! The points of the supervisor's loop at which it may be killed.

use crate::rng::Rng;

/// A point of the loop at which the supervisor dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KillPoint {
    /// An event arrived and is lost.
    BeforeStep,
    /// The records are being written, and the whole entry is lost.
    MidAppend,
    /// The records are on disk, but no action was performed.
    AfterAppend,
    /// The first action was performed, the others were not.
    BetweenActions,
    /// Every action was performed.
    AfterActions,
}

impl KillPoint {
    pub(crate) const WORDS: [&'static str; 5] =
        ["before_step", "mid_append", "after_append", "between_actions", "after_actions"];

    /// Draws the point at which the supervisor dies in this step, or `None` if it survives.
    pub(crate) fn draw(rng: &mut Rng, per_million: u32) -> Option<KillPoint> {
        rng.chance(per_million).then(|| {
            rng.pick(&[
                KillPoint::BeforeStep,
                KillPoint::MidAppend,
                KillPoint::AfterAppend,
                KillPoint::BetweenActions,
                KillPoint::AfterActions,
            ])
        })
    }
}
