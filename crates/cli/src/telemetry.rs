//! OpenTelemetry, if this build includes it. It starts with a command that supervises runs and is closed
//! after the last run.

#[cfg(not(feature = "otel"))]
mod off;
#[cfg(feature = "otel")]
mod on;

#[cfg(not(feature = "otel"))]
pub use off::{TelemetryExporter, TelemetryHandle, wanted};
#[cfg(feature = "otel")]
pub use on::{TelemetryExporter, TelemetryHandle, wanted};

use longhaul::Observer;

/// The telemetry settings of the environment, as text.
pub struct Wanted {
    /// Which signals are sent where.
    pub standard: String,
    /// An error in these settings.
    pub complaint: Option<String>,
}

/// Returns an observer that exports a run and forwards its events to `inner`.
pub fn telling<'a>(inner: &'a mut dyn Observer, voice: TelemetryExporter) -> impl Observer + 'a {
    voice.with_telemetry(inner)
}
