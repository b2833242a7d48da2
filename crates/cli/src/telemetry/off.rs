//! Telemetry stubs for a build without OpenTelemetry.

use longhaul::Observer;

pub fn info() -> Option<Result<String, String>> {
    None
}

/// Sends nothing.
pub struct TelemetryHandle;

impl TelemetryHandle {
    pub fn start() -> TelemetryHandle {
        TelemetryHandle
    }

    pub fn observer(&self) -> Option<Box<dyn Observer>> {
        None
    }

    pub fn close(self) {}
}
