//! The simulator's chance: a small generator that gives the same numbers for the same seed on
//! every machine. It never reads entropy.

use crate::Interval;

/// SplitMix64 (Steele, Lea, Flood 2014): 64 bits of state, one multiplication chain a draw.
#[derive(Clone, Debug)]
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Rng {
        Rng(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d)
    }

    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let value = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ value >> 31
    }

    /// A number below `bound`, which is not zero.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// A number in `reach`, each as likely.
    pub(crate) fn within(&mut self, reach: Interval) -> u64 {
        reach.least + self.below(reach.most.saturating_sub(reach.least) + 1)
    }

    /// A number in `reach`, each order of magnitude as likely: most things last short, few last long.
    pub(crate) fn magnitude(&mut self, reach: Interval) -> u64 {
        let (low, high) = (u64::BITS - reach.least.leading_zeros(), u64::BITS - reach.most.leading_zeros());
        let bits = low + self.below(u64::from(high - low) + 1) as u32;
        let floor = if bits == 0 { 0 } else { 1 << (bits - 1) };
        (floor + self.below(floor.max(1))).clamp(reach.least, reach.most)
    }

    /// True with a chance of so many in a million.
    pub(crate) fn odds(&mut self, per_million: u32) -> bool {
        // No draw for what cannot happen: most mixes leave most things out.
        per_million > 0 && self.below(1_000_000) < u64::from(per_million)
    }

    pub(crate) fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }

    pub(crate) fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }
}
