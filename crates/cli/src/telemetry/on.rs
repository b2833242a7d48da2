//! Telemetry of a build with OpenTelemetry.

use crate::output::print_status;
use longhaul::Observer;
use longhaul_telemetry::{Settings, Telemetry, TelemetryObserver};
use std::env;

/// The running telemetry, if the environment enables it.
pub struct TelemetryHandle(Option<Telemetry>);

fn settings() -> Settings {
    Settings::read(|name| env::var(name).ok())
}

/// Returns which signals the environment sends where, or the first error in it. `None` if telemetry is disabled.
pub fn info() -> Option<Result<String, String>> {
    let settings = settings();
    let signals = [("traces", &settings.traces), ("metrics", &settings.metrics)];
    let targets = signals.into_iter().filter_map(|(signal, target)| {
        target.as_ref().map(|target| format!("{signal} to {} by {}", target.endpoint, target.protocol))
    });
    let targets = targets.collect::<Vec<_>>().join(", ");
    let error = || Telemetry::check(&settings).err().map(|error| error.to_string());
    (!settings.is_disabled())
        .then(|| settings.warnings.first().cloned().or_else(error).map_or(Ok(targets), Err))
}

impl TelemetryHandle {
    pub fn start() -> TelemetryHandle {
        let settings = settings();
        settings.warnings.iter().for_each(|warning| warn(warning));
        TelemetryHandle(Telemetry::start(&settings).unwrap_or_else(|error| {
            warn(&format!("{error}; fix the OTEL_ variables"));
            None
        }))
    }

    pub fn observer(&self) -> Option<Box<dyn Observer>> {
        Some(Box::new(TelemetryObserver::new(self.0.as_ref()?.exporter())))
    }

    /// Sends the remaining data and warns of data that was not delivered.
    pub fn close(self) {
        if let Some(warning) = self.0.and_then(Telemetry::close) {
            warn(&warning);
        }
    }
}

/// Warns of a telemetry problem. It never fails a run.
fn warn(warning: &str) {
    print_status(&format!("warning: {warning}"));
}
