//! The time and the random bits of one step, as data.
//!
//! This module has no random generator: a fixed function derives as many draws as a step needs from one
//! `roll`.

use crate::{Moment, SessionId};

/// The time and the random bits of one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    /// Time of the step.
    pub at: Moment,
    /// 64 random bits.
    pub roll: u64,
}

/// Returns a number in `0..=max`, derived from `roll`. Different `salt`s give independent draws from one
/// roll.
pub fn draw(roll: u64, salt: u64, max: u64) -> u64 {
    let bits = mix(roll ^ mix(salt));
    // The bias of taking the high half of a 128-bit product is below 2^-40 for spans of days in ms.
    ((u128::from(bits) * (u128::from(max) + 1)) >> 64) as u64
}

/// Returns a version-4 UUID derived from `roll`. Agents accept this form for a new session.
pub fn draw_uuid(roll: u64, salt: u64) -> SessionId {
    let high = mix(roll ^ mix(salt)) & !0xf000 | 0x4000;
    let low = mix(high ^ mix(roll)) >> 2 | 1 << 63;
    let (a, b, c) = (high >> 32, high >> 16 & 0xffff, high & 0xffff);
    let (d, e) = (low >> 48, low & 0xffff_ffff_ffff);
    format!("{a:08x}-{b:04x}-{c:04x}-{d:04x}-{e:012x}").into()
}

/// Increment of the state of SplitMix64.
const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// Returns the next 64 bits of a SplitMix64 generator (Steele, Lea, Flood 2014) and advances its state. The
/// same state gives the same bits on every machine.
pub fn split_mix(state: &mut u64) -> u64 {
    let bits = mix(*state);
    *state = state.wrapping_add(GAMMA);
    bits
}

/// The finalizer of SplitMix64: every input bit affects every output bit.
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(GAMMA);
    let value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ value >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_are_in_range_and_uniform() {
        let mut halves = [0_u32; 2];
        for roll in 0..10_000 {
            let value = draw(roll, 1, 99);
            assert!(value <= 99);
            halves[usize::from(value >= 50)] += 1;
        }
        assert!(halves.iter().all(|half| (4_700..5_300).contains(half)), "{halves:?}");
    }

    #[test]
    fn uuids_are_version_4_and_unique() {
        let first = draw_uuid(7, 1);
        assert_eq!(first.as_str().len(), 36);
        assert_eq!(&first.as_str()[14..15], "4");
        assert!(matches!(&first.as_str()[19..20], "8" | "9" | "a" | "b"));
        assert_ne!(first, draw_uuid(7, 2));
        assert_ne!(first, draw_uuid(8, 1));
    }
}
