//! Reads the clock, in the forms that the protocol uses. All times are in UTC.

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
