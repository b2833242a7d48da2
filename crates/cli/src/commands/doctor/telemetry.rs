//! Checks the telemetry settings.

use super::finding::Finding;
use crate::telemetry;

const TELEMETRY: &str = "telemetry";

/// Returns the finding, or `None` if telemetry is off, which is the default.
pub fn check() -> Option<Finding> {
    let requested = telemetry::wanted()?;
    Some(match requested.complaint {
        None => Finding::ok(TELEMETRY, requested.standard),
        Some(error) => Finding::warning(TELEMETRY, error, "see to the OTEL_ variables"),
    })
}
