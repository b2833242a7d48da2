//! OpenTelemetry, if this build includes it. It starts with a command that supervises runs and is closed
//! after the last run.

#[cfg(not(feature = "otel"))]
mod off;
#[cfg(feature = "otel")]
mod on;

#[cfg(not(feature = "otel"))]
pub use off::{TelemetryHandle, info};
#[cfg(feature = "otel")]
pub use on::{TelemetryHandle, info};
