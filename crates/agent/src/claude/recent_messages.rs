//! Remembers the last few thousand completed messages. Does not count or price them.

use std::collections::{BTreeSet, VecDeque};

// A block may arrive late, but not later than this many other messages.
const MESSAGES_MAX: usize = 4096;

/// Fingerprints of messages. At the limit, the oldest one is dropped for the next.
#[derive(Clone, Debug, Default)]
pub(super) struct RecentMessages {
    order: VecDeque<u64>,
    /// The same fingerprints, for lookups on every row of the stream.
    fingerprints: BTreeSet<u64>,
}

impl RecentMessages {
    pub(super) fn remember(&mut self, message: u64) {
        if !self.fingerprints.insert(message) {
            return;
        }
        self.order.push_back(message);
        if self.order.len() > MESSAGES_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.fingerprints.remove(&oldest);
        }
    }

    pub(super) fn contains(&self, message: u64) -> bool {
        self.fingerprints.contains(&message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forgets_oldest_message() {
        let mut recent = RecentMessages::default();
        for message in 0..=MESSAGES_MAX as u64 {
            recent.remember(message);
            recent.remember(message);
        }
        assert!(!recent.contains(0));
        assert!(recent.contains(1) && recent.contains(MESSAGES_MAX as u64));
        assert_eq!(recent.order.len(), recent.fingerprints.len());
    }
}
