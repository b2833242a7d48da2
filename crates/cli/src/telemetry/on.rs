//! Telemetry in a build that has it.

use super::Wanted;
use crate::args::Global;
use crate::output::talk;
use longhaul::Observer;
use longhaul_telemetry::{Settings, Telemetry, Telling};
use std::env;

/// What sends, if anything is wanted.
pub struct Sending(Option<Telemetry>);

/// Tells of runs, if anything is wanted.
#[derive(Clone)]
pub struct Voice(Option<longhaul_telemetry::Voice>);

fn settings() -> Settings {
    Settings::read(|name| env::var(name).ok())
}

/// What the environment wants; nothing if that is nothing.
pub fn wanted() -> Option<Wanted> {
    let settings = settings();
    let signals = [("traces", &settings.traces), ("metrics", &settings.metrics)];
    let told = signals.into_iter().filter_map(|(signal, target)| {
        target.as_ref().map(|target| format!("{signal} to {} by {}", target.endpoint, target.protocol))
    });
    let told = told.collect::<Vec<_>>().join(", ");
    (!settings.is_silent()).then(|| Wanted { told, complaint: settings.complaints.first().cloned() })
}

impl Sending {
    /// Ready for what the environment wants.
    pub fn start(global: &Global) -> Sending {
        let settings = settings();
        settings.complaints.iter().for_each(|complaint| warn(global, complaint));
        Sending(Telemetry::start(&settings).unwrap_or_else(|error| {
            warn(global, &format!("{error}; see to the OTEL_ variables"));
            None
        }))
    }

    /// For a run.
    pub fn voice(&self) -> Voice {
        Voice(self.0.as_ref().map(Telemetry::voice))
    }

    /// Has what is left sent, and says what did not get through.
    pub fn close(self, global: &Global) {
        if let Some(missed) = self.0.and_then(Telemetry::close) {
            warn(global, &missed);
        }
    }
}

impl Voice {
    pub(super) fn telling<'a>(self, inner: &'a mut dyn Observer) -> impl Observer + 'a {
        Telling::new(inner, self.0)
    }
}

/// Says what keeps telemetry from being sent. No run fails for it.
fn warn(global: &Global, warning: &str) {
    if !global.quiet {
        talk(&format!("warning: {warning}"));
    }
}
