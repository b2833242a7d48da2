//! A seeded random number generator (splitmix64): a drill with the same seed draws the same ids, chunks and
//! turns. It is never used for secrets.

use longhaul_core::{draw_uuid, split_mix};

#[derive(Debug, Clone)]
pub(crate) struct Rng {
    state: u64,
}

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    fn next_u64(&mut self) -> u64 {
        split_mix(&mut self.state)
    }

    /// Returns a number below `end`, or 0 if `end` is 0.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        if end == 0 { 0 } else { self.next_u64() % end }
    }

    /// Returns a random (version 4) UUID.
    pub(crate) fn uuid(&mut self) -> String {
        draw_uuid(self.next_u64(), self.next_u64()).to_string()
    }

    pub(crate) fn letters(&mut self, count: usize) -> String {
        const ALPHABET: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";
        (0..count).map(|_| char::from(ALPHABET[self.below(36) as usize])).collect()
    }
}
