//! Converts moments and spans to the formats of OpenTelemetry.

use longhaul_core::{Moment, Span};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub(crate) fn system_time(at: Moment) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(at.0)
}

pub(crate) fn seconds(span: Span) -> f64 {
    Duration::from_millis(span.0).as_secs_f64()
}
