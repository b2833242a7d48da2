//! The simulator's random numbers. The generator is small, returns the same numbers for the same seed on
//! every machine, and never uses system entropy.

use crate::Interval;
use longhaul_core::split_mix;

#[derive(Clone, Debug)]
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Rng {
        Rng(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d)
    }

    pub(crate) fn bits(&mut self) -> u64 {
        split_mix(&mut self.0)
    }

    /// Returns a number below `bound`, which must not be zero.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// Returns a number in `interval`, uniformly distributed.
    pub(crate) fn uniform(&mut self, interval: Interval) -> u64 {
        interval.min + self.below(interval.max.saturating_sub(interval.min) + 1)
    }

    /// Returns a number in `interval`. Each order of magnitude is equally likely, because most durations are
    /// short and few are long.
    pub(crate) fn log_uniform(&mut self, interval: Interval) -> u64 {
        let (low, high) =
            (u64::BITS - interval.min.leading_zeros(), u64::BITS - interval.max.leading_zeros());
        let bits = low + self.below(u64::from(high - low) + 1) as u32;
        let floor = if bits == 0 { 0 } else { 1 << (bits - 1) };
        (floor + self.below(floor.max(1))).clamp(interval.min, interval.max)
    }

    /// Returns true with a chance of `per_million` in a million.
    pub(crate) fn chance(&mut self, per_million: u32) -> bool {
        // An impossible event consumes no draw: most mixes omit most events.
        per_million > 0 && self.below(1_000_000) < u64::from(per_million)
    }

    pub(crate) fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }

    pub(crate) fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }
}
