//! What a policy may cost at worst, told before a run starts: requests and waits in one stretch
//! without progress. With progress the count begins anew.

use crate::{OutageBound, Policy, Span};

// Claude Code 2.1.330 waits 0.5 s · 2^n, at most 32 s, before its inner retry n.
const INNER_BASE: Span = Span(500);
const INNER_CAP: Span = Span::from_secs(32);
// It makes its first request no sooner than this after its start.
const START_MIN: Span = Span(300);

/// The worst case of one stretch without progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorstCase {
    /// Requests to the API; nothing is unlimited.
    pub requests: Option<u64>,
    /// The longest single wait, other than for the reset of a usage window.
    pub backoff_max: Span,
    /// The longest wait for a reset; nothing is as long as the window.
    pub park_max: Option<Span>,
}

impl Policy {
    /// The worst case of one stretch without progress under this policy.
    pub fn worst_case(&self) -> WorstCase {
        let requests_per_attempt = u64::from(self.inner_retries) + 1;
        let counted = u64::from(self.retries_max) + 1;
        let attempts = match self.outage_bound {
            OutageBound::Retries => Some(counted),
            // Every wait may be drawn as nothing, so only the attempts themselves take time.
            OutageBound::Time(limit) => {
                limit.map(|limit| (limit.0 / self.attempt_min().0.max(1) + 1).max(counted))
            }
        };
        WorstCase {
            requests: attempts.map(|attempts| {
                // One seed in such a stretch has its older work condensed, in one answer.
                (attempts + u64::from(self.summarize)).saturating_mul(requests_per_attempt)
            }),
            backoff_max: self.backoff.longest(u32::MAX),
            park_max: self.max_reset_wait,
        }
    }

    /// The shortest time in which an attempt can fail against a server that refuses everything.
    fn attempt_min(&self) -> Span {
        (0..self.inner_retries)
            .map(|n| INNER_BASE.doubled(n).at_most(INNER_CAP))
            .fold(START_MIN, |sum, wait| sum + wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Preset;

    #[test]
    fn counted_policies_are_bounded_by_their_count() {
        // Four attempts of five requests each.
        assert_eq!(Preset::Openclawpack.policy().worst_case().requests, Some(20));
        assert_eq!(Preset::Openclawpack.policy().worst_case().backoff_max, Span::from_secs(90));
    }

    #[test]
    fn a_summary_is_one_more_answer() {
        let policy = Policy { summarize: true, ..Preset::Openclawpack.policy() };
        assert_eq!(policy.worst_case().requests, Some(25));
    }

    #[test]
    fn the_default_is_bounded_by_time() {
        // Six hours of attempts that take 0.3 + 0.5 + 1 + 2 + 4 seconds.
        assert_eq!(Preset::Default.policy().worst_case().requests, Some((21_600_000 / 7_800 + 1) * 5));
    }

    #[test]
    fn without_a_bound_there_is_no_worst_case() {
        let policy = Policy { outage_bound: OutageBound::Time(None), ..Preset::Default.policy() };
        assert_eq!(policy.worst_case().requests, None);
    }
}
