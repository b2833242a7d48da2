//! OpenTelemetry, if this build includes it. It starts with a command that supervises runs and is closed
//! after the last run.

#[cfg(not(feature = "otel"))]
mod off;
#[cfg(feature = "otel")]
mod on;

#[cfg(not(feature = "otel"))]
pub use off::{TelemetryExporter, TelemetryHandle, info};
#[cfg(feature = "otel")]
pub use on::{TelemetryExporter, TelemetryHandle, info};

/// The telemetry settings of the environment, as text.
pub struct TelemetryInfo {
    /// Which signals are sent where.
    pub targets: String,
    pub error: Option<String>,
}
