//! A run as OpenTelemetry sees it: a span for the run, each of its attempts, turns, tool calls, waits and checks, and what they
//! used as metrics, by the semantic conventions for generative AI. It is sent over OTLP.
//!
//! It is silent unless the usual `OTEL_` variables ask for it ([`Settings`]), and decides nothing: a collector that does not
//! answer delays no run and fails none. What a prompt, a message or a tool says is never sent.
//!
//! A run has one trace, whoever supervises it: its ids are in the run's `trace.json`, and those of its spans are derived from
//! them, so that a supervisor that takes the run over goes on with the same spans.

mod attributes;
mod client;
mod context;
mod conversation;
mod exporter;
mod metrics;
mod observer;
mod settings;
mod spans;
mod time;

pub use context::Trace;
pub use exporter::{Exporter, Telemetry, TelemetryError};
pub use observer::TelemetryObserver;
pub use settings::{Protocol, Settings, Target};
