//! Where in the driver's loop a supervisor may be killed.

use crate::rng::Rng;

/// A point of the loop at which the supervisor dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KillPoint {
    /// An event has come and is lost.
    BeforeStep,
    /// The records were being written; the entry is lost whole.
    MidAppend,
    /// The records are on disk, no action is performed.
    AfterAppend,
    /// The first action is performed, the others are not.
    BetweenActions,
    /// Everything is performed.
    AfterActions,
}

impl KillPoint {
    pub(crate) const WORDS: [&'static str; 5] =
        ["before_step", "mid_append", "after_append", "between_actions", "after_actions"];

    /// Where the supervisor dies in this step, if it does.
    pub(crate) fn draw(rng: &mut Rng, per_million: u32) -> Option<KillPoint> {
        rng.odds(per_million).then(|| {
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
