//! Exports runs to OpenTelemetry over OTLP. Each run, attempt, turn, tool call, wait and check has a span,
//! and usage is exported as metrics. Names follow the semantic conventions for generative AI.
//!
//! Export is off unless the standard `OTEL_` variables enable it ([`Settings`]). It affects no decision: a
//! collector that does not answer neither delays nor fails a run. The text of prompts, messages and tools is
//! never sent.
//!
//! A run has one trace for all its supervisors. Its ids are in the run's `trace.json` and span ids are
//! derived from them, so a later supervisor continues the same spans.

mod attributes;
mod context;
mod conversation;
mod exporter;
mod metrics;
mod observer;
mod settings;
mod spans;

pub use context::Trace;
pub use exporter::{Exporter, Telemetry, TelemetryError};
pub use observer::TelemetryObserver;
pub use settings::{Protocol, Settings, Target};
