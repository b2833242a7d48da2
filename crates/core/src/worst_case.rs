//! Computes the worst case of a policy before a run starts: requests and waits in one stretch without
//! progress. Progress resets the count.

use crate::{OutageBound, Policy, Span};
use serde::Serialize;

// Claude Code 2.1.330 waits 0.5 s · 2^n, at most 32 s, before its inner retry n.
const INNER_BASE: Span = Span(500);
const INNER_CAP: Span = Span::from_secs(32);
// It sends its first request at least this long after its start.
const START_MIN: Span = Span(300);

/// The worst case of one stretch without progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorstCase {
    /// Requests to the API. `None` if unlimited.
    #[serde(rename = "requests_without_progress")]
    pub requests: Option<u64>,
    /// Longest single wait, except for the reset of a usage window.
    #[serde(rename = "longest_backoff_ms")]
    pub backoff_max: Span,
    /// Longest wait for a reset. `None` if it is only bounded by the window.
    #[serde(rename = "longest_park_ms")]
    pub park_max: Option<Span>,
    /// Elapsed time, with the longest waits and one reset. `None` if unlimited.
    #[serde(rename = "wall_without_progress_ms")]
    pub wall_max: Option<Span>,
}

impl Policy {
    /// Returns the worst case of one stretch without progress under this policy.
    pub fn worst_case(&self) -> WorstCase {
        let requests_per_attempt = u64::from(self.inner_retries) + 1;
        let counted_attempts = u64::from(self.retries_max) + 1;
        let attempts = match self.outage_bound {
            OutageBound::Retries => Some(counted_attempts),
            // Every wait may be drawn as zero, so only the attempts themselves take time.
            OutageBound::Time(limit) => {
                limit.map(|limit| (limit.0 / self.attempt_min().0.max(1) + 1).max(counted_attempts))
            }
        };
        WorstCase {
            requests: attempts.map(|attempts| {
                // One handoff in such a stretch includes a summary, which takes one response.
                (attempts + u64::from(self.handoff_summary.is_some()) + self.reviewers_max())
                    .saturating_mul(requests_per_attempt)
            }),
            backoff_max: self.backoff.longest(u32::MAX),
            park_max: self.max_reset_wait,
            wall_max: self.wall_max(attempts),
        }
    }

    /// Returns the longest time of this many attempts in a row.
    fn wall_max(&self, attempts: Option<u64>) -> Option<Span> {
        let stretch = attempts.zip(self.attempt_timeout).zip(self.max_reset_wait);
        let stretch = stretch.map(|((attempts, timeout), park)| {
            let waits = attempts.saturating_sub(1);
            let each = u32::try_from(waits).unwrap_or(u32::MAX);
            // Of many waits, all but the first few have the longest delay.
            let first: u64 = (0..each.min(32)).map(|n| self.backoff.longest(n).0).sum();
            let rest = u64::from(each.saturating_sub(32)).saturating_mul(self.backoff.longest(u32::MAX).0);
            let working = timeout.0.saturating_mul(attempts);
            Span(working.saturating_add(first).saturating_add(rest).saturating_add(park.0))
        });
        stretch.into_iter().chain(self.limits.wall).min()
    }

    /// Returns how many reviewers of one check may each fail at their first request. An outage has its own
    /// bound.
    fn reviewers_max(&self) -> u64 {
        let is_reviewed = self.checks.as_ref().is_some_and(|checks| checks.review.is_some());
        if is_reviewed { u64::from(self.review_retries_max()) + 1 } else { 0 }
    }

    /// Returns the shortest time in which an attempt can fail against a server that rejects everything.
    fn attempt_min(&self) -> Span {
        (0..self.inner_retries)
            .map(|n| INNER_BASE.doubled(n).at_most(INNER_CAP))
            .fold(START_MIN, |sum, wait| sum + wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Checks, HandoffSummary, Preset, Review};

    #[test]
    fn retry_count_bounds_attempts() {
        // Four attempts of five requests each.
        assert_eq!(Preset::Openclawpack.policy().worst_case().requests, Some(20));
        assert_eq!(Preset::Openclawpack.policy().worst_case().backoff_max, Span::from_secs(90));
    }

    #[test]
    fn elapsed_time_has_a_bound_with_a_timeout() {
        let preset = Preset::Openclawpack.policy();
        let policy = Policy {
            attempt_timeout: Some(Span::from_mins(10)),
            max_reset_wait: Some(Span::from_mins(20)),
            ..preset.clone()
        };
        // Four attempts, waits of 3, 6 and 12 seconds, and one reset.
        assert_eq!(policy.worst_case().wall_max, Some(Span::from_secs(40 * 60 + 3 + 6 + 12 + 20 * 60)));
        let unlimited = Policy { attempt_timeout: None, ..policy.clone() };
        assert_eq!(unlimited.worst_case().wall_max, None);
        let mut limited = unlimited;
        limited.limits.wall = Some(Span::from_mins(30));
        assert_eq!(limited.worst_case().wall_max, Some(Span::from_mins(30)));
    }

    #[test]
    fn summary_adds_one_attempt() {
        let summary = HandoffSummary { model: "haiku".to_owned(), timeout: Span::from_secs(60) };
        let policy = Policy { handoff_summary: Some(summary), ..Preset::Openclawpack.policy() };
        assert_eq!(policy.worst_case().requests, Some(25));
    }

    #[test]
    fn review_adds_three_attempts() {
        let checks = Checks { review: Some(Review::new(None)), ..Checks::new(Vec::new()) };
        let policy = Policy { checks: Some(checks), ..Preset::Openclawpack.policy() };
        assert_eq!(policy.worst_case().requests, Some(35));
    }

    #[test]
    fn outage_time_bounds_default() {
        // Six hours of attempts that take 0.3 + 0.5 + 1 + 2 + 4 seconds.
        assert_eq!(Preset::Default.policy().worst_case().requests, Some((21_600_000 / 7_800 + 1) * 5));
    }

    #[test]
    fn unbounded_outage_has_no_worst_case() {
        let policy = Policy { outage_bound: OutageBound::Time(None), ..Preset::Default.policy() };
        assert_eq!(policy.worst_case().requests, None);
    }
}
