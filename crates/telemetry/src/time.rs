//! Moments as OpenTelemetry and as agents write them.

use jiff::Timestamp;
use longhaul_core::{Moment, Span};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A moment of the system's clock.
pub(crate) fn system_time(at: Moment) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(at.0)
}

/// A moment in RFC 3339, if it is one.
pub(crate) fn parsed(text: &str) -> Option<Moment> {
    let at: Timestamp = text.parse().ok()?;
    u64::try_from(at.as_millisecond()).ok().map(Moment)
}

/// In seconds.
pub(crate) fn seconds(span: Span) -> f64 {
    Duration::from_millis(span.0).as_secs_f64()
}
