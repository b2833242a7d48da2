//! Reads the clock and formats times in the forms that the protocol uses. All times are in UTC.

use jiff::Timestamp;
use longhaul_core::{Moment, rfc3339};
use std::time::{SystemTime, UNIX_EPOCH};

/// Returns milliseconds since 1970, or 0 if the machine's clock is before that.
pub(crate) fn unix_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |age| age.as_millis() as u64)
}

/// Returns the current time like `2026-11-21T23:40:31.521Z`.
pub(crate) fn timestamp() -> String {
    rfc3339(Moment(unix_ms()))
}

/// Formats a time like `1:46am`, as in the agent's message about the reset of a usage window.
pub(crate) fn hour_of_day(unix_seconds: u64) -> String {
    let is_whole_hour = unix_seconds.is_multiple_of(3600);
    let form = if is_whole_hour { "%-I%P" } else { "%-I:%M%P" };
    let at = i64::try_from(unix_seconds).ok().and_then(|seconds| Timestamp::from_second(seconds).ok());
    at.unwrap_or(Timestamp::MAX).strftime(form).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_times_like_the_agent() {
        assert_eq!(hour_of_day(1_795_311_992), "1:46am");
        assert_eq!(hour_of_day(1_795_305_600), "12am");
        assert_eq!(hour_of_day(951_782_400 + 43_200), "12pm");
    }
}
