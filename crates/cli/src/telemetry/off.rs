//! Telemetry in a build without it.

use super::Wanted;
use crate::args::GlobalArgs;
use longhaul::Observer;

/// Nothing: this build could not.
pub fn wanted() -> Option<Wanted> {
    None
}

/// Sends nothing.
pub struct TelemetryHandle;

/// Says nothing.
#[derive(Clone)]
pub struct TelemetryExporter;

impl TelemetryHandle {
    pub fn start(_global: &GlobalArgs) -> TelemetryHandle {
        TelemetryHandle
    }

    pub fn exporter(&self) -> TelemetryExporter {
        TelemetryExporter
    }

    pub fn close(self, _global: &GlobalArgs) {}
}

impl TelemetryExporter {
    pub(super) fn with_telemetry<'a>(self, inner: &'a mut dyn Observer) -> impl Observer + 'a {
        inner
    }
}
