//! Converts moments to and from the formats of OpenTelemetry and of agents.

use jiff::Timestamp;
use longhaul_core::{Moment, Span};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Returns the moment as the standard library's type.
pub(crate) fn system_time(at: Moment) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(at.0)
}

/// Parses a moment in RFC 3339. Returns `None` if it is invalid.
pub(crate) fn parse_moment(text: &str) -> Option<Moment> {
    let at: Timestamp = text.parse().ok()?;
    u64::try_from(at.as_millisecond()).ok().map(Moment)
}

/// Returns the span in seconds.
pub(crate) fn seconds(span: Span) -> f64 {
    Duration::from_millis(span.0).as_secs_f64()
}
