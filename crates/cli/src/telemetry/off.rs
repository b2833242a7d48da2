//! Telemetry stubs for a build without OpenTelemetry.

use super::TelemetryInfo;
use longhaul::{NoObserver, Observer};

pub fn info() -> Option<TelemetryInfo> {
    None
}

/// Sends nothing.
pub struct TelemetryHandle;

/// Exports nothing.
#[derive(Clone)]
pub struct TelemetryExporter;

impl TelemetryHandle {
    pub fn start() -> TelemetryHandle {
        TelemetryHandle
    }

    pub fn exporter(&self) -> TelemetryExporter {
        TelemetryExporter
    }

    pub fn close(self) {}
}

impl TelemetryExporter {
    pub fn observer(self) -> Option<impl Observer> {
        None::<NoObserver>
    }
}
