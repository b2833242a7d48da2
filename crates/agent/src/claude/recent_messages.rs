//! The last few thousand messages that are done with. Nothing here counts or prices them.

use std::collections::{BTreeSet, VecDeque};

// A block of a message may come late, but not later than so many other messages.
const MESSAGES_MAX: usize = 4096;

/// Fingerprints of messages, the oldest forgotten for the next.
#[derive(Clone, Debug, Default)]
pub(super) struct RecentMessages {
    order: VecDeque<u64>,
    /// The same, to be asked on every row of the stream.
    known: BTreeSet<u64>,
}

impl RecentMessages {
    pub(super) fn remember(&mut self, message: u64) {
        if !self.known.insert(message) {
            return;
        }
        self.order.push_back(message);
        if self.order.len() > MESSAGES_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
    }

    pub(super) fn contains(&self, message: u64) -> bool {
        self.known.contains(&message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_is_forgotten() {
        let mut recent = RecentMessages::default();
        for message in 0..=MESSAGES_MAX as u64 {
            recent.remember(message);
            recent.remember(message);
        }
        assert!(!recent.contains(0));
        assert!(recent.contains(1) && recent.contains(MESSAGES_MAX as u64));
        assert_eq!(recent.order.len(), recent.known.len());
    }
}
