//! Where to telemetry would go, if anybody wants any.

use super::finding::Finding;
use crate::telemetry;

const TELEMETRY: &str = "telemetry";

/// Nothing where nothing is wanted: most people want none.
pub fn check() -> Option<Finding> {
    let wanted = telemetry::wanted()?;
    Some(match wanted.complaint {
        None => Finding::ok(TELEMETRY, wanted.standard),
        Some(error) => Finding::warning(TELEMETRY, error, "see to the OTEL_ variables"),
    })
}
