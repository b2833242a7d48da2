//! Computes the delays between the agent's own retries, as measured with Claude Code 2.1.330. The module is
//! pure.

use std::time::Duration;

use crate::rng::Rng;

const BASE_MS: u64 = 500;
const CAP_MS: u64 = 32_000;
/// The longest `retry-after` that the agent waits for. Above it, the agent gives up immediately.
pub(super) const RETRY_AFTER_MAX_S: u64 = 60;

/// Returns the delay before retry number `attempt`, starting at 1. It doubles from 0.5 s to 32 s, plus up to
/// 25 percent. A `retry-after` is a minimum, plus 5 to 10 percent.
pub(super) fn delay(attempt: u32, retry_after_s: Option<u64>, rng: &mut Rng) -> Duration {
    let backoff_ms = BASE_MS.checked_shl(attempt.saturating_sub(1)).unwrap_or(CAP_MS).min(CAP_MS);
    let retry_after_ms = retry_after_s.unwrap_or(0) * 1000;
    let milliseconds = if retry_after_ms > backoff_ms {
        retry_after_ms + retry_after_ms / 20 + rng.below(retry_after_ms / 20 + 1)
    } else {
        backoff_ms + rng.below(backoff_ms / 4 + 1)
    };
    Duration::from_millis(milliseconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_lie_in_the_measured_ranges() {
        let mut rng = Rng::new(3);
        for (attempt, hint, low, high) in [
            (1, None, 500, 625),
            (3, None, 2000, 2500),
            (7, None, 32_000, 40_000),
            (90, None, 32_000, 40_000),
            (1, Some(3), 3150, 3300),
            (1, Some(60), 63_000, 66_000),
            (5, Some(3), 8000, 10_000),
        ] {
            let delay = delay(attempt, hint, &mut rng).as_millis();
            assert!((low..=high).contains(&delay), "{attempt} {hint:?}: {delay}");
        }
    }
}
