//! OpenTelemetry, where this build has it: started for a command that supervises runs, and closed behind them.

#[cfg(not(feature = "otel"))]
mod off;
#[cfg(feature = "otel")]
mod on;

#[cfg(not(feature = "otel"))]
pub use off::{TelemetryExporter, TelemetryHandle, wanted};
#[cfg(feature = "otel")]
pub use on::{TelemetryExporter, TelemetryHandle, wanted};

use longhaul::Observer;

/// What the environment wants, in words.
pub struct Wanted {
    /// Which signals go where.
    pub standard: String,
    /// What is wrong with that.
    pub complaint: Option<String>,
}

/// Has a run told by `voice`, and shown to `inner`.
pub fn telling<'a>(inner: &'a mut dyn Observer, voice: TelemetryExporter) -> impl Observer + 'a {
    voice.with_telemetry(inner)
}
