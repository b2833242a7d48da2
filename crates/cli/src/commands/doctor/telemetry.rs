//! Checks the telemetry settings.

use super::finding::Finding;
use crate::telemetry;

const TELEMETRY: &str = "telemetry";

/// Returns the finding, or `None` if telemetry is off, which is the default.
pub fn check() -> Option<Finding> {
    let info = telemetry::info()?;
    Some(match info.error {
        None => Finding::ok(TELEMETRY, info.targets),
        Some(error) => Finding::warning(TELEMETRY, error, "fix the OTEL_ variables"),
    })
}
