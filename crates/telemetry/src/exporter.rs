//! Exports spans and metrics to a collector. OpenTelemetry batches, limits and sends them.

use crate::context::Ids;
use crate::metrics::Metrics;
use crate::settings::{Protocol, Settings};
use opentelemetry::KeyValue;
use opentelemetry::metrics::MeterProvider as _;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::{
    ExporterBuildError, MetricExporter, Protocol as HttpProtocol, SpanExporter, WithExportConfig,
    WithHttpConfig,
};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::metrics::data::ResourceMetrics;
use opentelemetry_sdk::metrics::exporter::PushMetricExporter;
use opentelemetry_sdk::metrics::{PeriodicReader, SdkMeterProvider, Temporality};
use opentelemetry_sdk::resource::{
    EnvResourceDetector, SdkProvidedResourceDetector, TelemetryResourceDetector,
};
use opentelemetry_sdk::trace::{self, SdkTracer, SdkTracerProvider, SpanData};
use reqwest::blocking::Client;
use reqwest::redirect::Policy;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use std::{env, io};
use thiserror::Error;
use tokio::runtime::{Builder, Runtime};

/// Longest delay of a command's exit to send the remaining data.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);
const SCOPE: &str = "longhaul";

/// The reason why telemetry cannot start.
#[derive(Debug, Error)]
pub enum TelemetryError {
    /// The system could not start a thread.
    #[error("cannot start sending telemetry: {0}")]
    Thread(#[from] io::Error),
    /// A variable has an unsupported value.
    #[error("cannot send telemetry: {}", without_endpoint(.0))]
    Exporter(#[from] ExporterBuildError),
    /// TLS is not available.
    #[error("cannot send telemetry: {0}")]
    Client(#[from] reqwest::Error),
}

/// The telemetry pipeline, shared by all runs of this process.
pub struct Telemetry {
    traces: Option<SdkTracerProvider>,
    metrics: Option<SdkMeterProvider>,
    exporter: Exporter,
    dropped: Arc<Mutex<DroppedData>>,
    // The last field, because the fields above use it until they are dropped.
    runtime: Runtime,
}

/// Records spans and metrics of runs. Each run has a copy. The default drops everything.
#[derive(Clone, Default)]
pub struct Exporter {
    pub(crate) tracer: Option<SdkTracer>,
    pub(crate) metrics: Option<Metrics>,
    /// Ids of the next span.
    pub(crate) ids: Ids,
}

/// Data that did not reach the collector.
#[derive(Debug, Default)]
struct DroppedData {
    spans: usize,
    /// Failed exports of metrics in a row. The next successful export includes their data.
    metrics: usize,
    reason: Option<String>,
}

/// Builds an exporter. The builders of both signals have the same methods, but no trait in common.
macro_rules! build_exporter {
    ($builder:expr, $target:expr) => {
        match http_protocol($target.protocol) {
            None => $builder.with_tonic().build()?,
            Some(http_protocol) => $builder
                .with_http()
                .with_protocol(http_protocol)
                .with_http_client(client($target.timeout)?)
                .build()?,
        }
    };
}

/// Exporters that have sent nothing yet.
struct Exporters {
    traces: Option<SpanExporter>,
    metrics: Option<MetricExporter>,
}

impl Exporters {
    /// Must be called within the runtime, for gRPC.
    fn build(settings: &Settings) -> Result<Exporters, TelemetryError> {
        let traces = settings.traces.as_ref().map(|target| -> Result<_, TelemetryError> {
            Ok(build_exporter!(SpanExporter::builder(), target))
        });
        let metrics = settings.metrics.as_ref().map(|target| -> Result<_, TelemetryError> {
            Ok(build_exporter!(MetricExporter::builder(), target))
        });
        Ok(Exporters { traces: traces.transpose()?, metrics: metrics.transpose()? })
    }
}

/// States the flaw of a setting without its endpoint, which may contain a password.
fn without_endpoint(error: &ExporterBuildError) -> String {
    let text = error.to_string();
    match text.split_once(": ").and_then(|(_, flaw)| flaw.split_once(": ")) {
        Some((variable, flaw)) if flaw.starts_with("invalid endpoint '") => {
            format!("{variable} is no URL such as http://localhost:4318")
        }
        Some((variable, flaw)) if flaw.contains("endpoint '") => {
            format!("TLS cannot be configured for {variable}")
        }
        Some(_) | None => text,
    }
}

impl Telemetry {
    /// Checks whether the pipeline can start with these settings. Sends nothing.
    ///
    /// # Errors
    /// Returns [`TelemetryError`] if it cannot start.
    pub fn check(settings: &Settings) -> Result<(), TelemetryError> {
        let runtime = runtime()?;
        let _runtime_guard = runtime.enter();
        Exporters::build(settings).map(drop)
    }

    /// Starts the pipeline, or returns `None` if the settings disable it.
    ///
    /// # Errors
    /// Returns [`TelemetryError`] if the pipeline cannot start. The caller reports it; no run fails because
    /// of it.
    pub fn start(settings: &Settings) -> Result<Option<Telemetry>, TelemetryError> {
        if settings.is_disabled() {
            return Ok(None);
        }
        let runtime = runtime()?;
        let runtime_guard = runtime.enter();
        let dropped: Arc<Mutex<DroppedData>> = Arc::default();
        let ids = Ids::default();
        let exporters = Exporters::build(settings)?;
        let traces = exporters.traces.map(|inner| {
            let exporter = CountingExporter { inner, dropped: Arc::clone(&dropped) };
            let provider =
                SdkTracerProvider::builder().with_id_generator(ids.clone()).with_resource(resource());
            provider.with_batch_exporter(exporter).build()
        });
        let metrics = exporters.metrics.map(|inner| {
            let exporter = CountingExporter { inner, dropped: Arc::clone(&dropped) };
            let reader = PeriodicReader::builder(exporter).build();
            SdkMeterProvider::builder().with_reader(reader).with_resource(resource()).build()
        });
        let exporter = Exporter {
            tracer: traces.as_ref().map(|provider| provider.tracer(SCOPE)),
            metrics: metrics.as_ref().map(|provider| Metrics::new(&provider.meter(SCOPE))),
            ids,
        };
        drop(runtime_guard);
        Ok(Some(Telemetry { traces, metrics, exporter, dropped, runtime }))
    }

    /// Returns an exporter for a run of this process.
    pub fn exporter(&self) -> Exporter {
        self.exporter.clone()
    }

    /// Sends the remaining data, for a few seconds at most. Returns a message for the user if data was lost.
    pub fn close(self) -> Option<String> {
        // Shut down both in parallel: each may wait for a collector that does not answer.
        let metrics = self
            .metrics
            .map(|metrics| std::thread::spawn(move || metrics.shutdown_with_timeout(SHUTDOWN_TIMEOUT)));
        let traces = self.traces.map(|traces| traces.shutdown_with_timeout(SHUTDOWN_TIMEOUT));
        let metrics = metrics.and_then(|metrics| metrics.join().ok());
        self.runtime.shutdown_background();
        let shutdown_error =
            [traces, metrics].into_iter().flatten().find_map(Result::err).map(|error| error.to_string());
        let dropped = self.dropped.lock().unwrap_or_else(PoisonError::into_inner);
        dropped.message(shutdown_error)
    }
}

/// Returns the runtime that sends the requests over gRPC. The exporters block their own threads meanwhile.
fn runtime() -> io::Result<Runtime> {
    Builder::new_multi_thread().worker_threads(1).thread_name("telemetry").enable_all().build()
}

impl DroppedData {
    fn message(&self, shutdown_error: Option<String>) -> Option<String> {
        let data = match (self.spans, self.metrics) {
            (0, 0) => shutdown_error.as_ref().map(|_| "the last of the telemetry".to_owned()),
            (0, _) => Some("the run's metrics".to_owned()),
            (spans, 0) => Some(format!("{spans} of the run's spans")),
            (spans, _) => Some(format!("{spans} of the run's spans, and its metrics,")),
        }?;
        let reason = self.reason.clone().or(shutdown_error).unwrap_or_default();
        Some(format!("{data} could not be sent to the collector: {reason}; the run's files are complete"))
    }
}

/// Returns the attributes that describe the sender. The user's variables override the defaults.
fn resource() -> Resource {
    let defaults =
        [KeyValue::new("service.name", SCOPE), KeyValue::new("service.version", env!("CARGO_PKG_VERSION"))];
    let resource = Resource::builder_empty()
        .with_attributes(defaults)
        .with_detector(Box::new(TelemetryResourceDetector))
        .with_detector(Box::new(EnvResourceDetector::new()));
    // This detector always sets a service name, `unknown` if it finds none.
    if env::var_os("OTEL_SERVICE_NAME").is_some_and(|name| !name.is_empty()) {
        return resource.with_detector(Box::new(SdkProvidedResourceDetector)).build();
    }
    resource.build()
}

/// Returns the protocol over HTTP, or `None` for gRPC.
fn http_protocol(protocol: Protocol) -> Option<HttpProtocol> {
    match protocol {
        Protocol::Grpc => None,
        Protocol::HttpProtobuf => Some(HttpProtocol::HttpBinary),
        Protocol::HttpJson => Some(HttpProtocol::HttpJson),
    }
}

/// An exporter that records lost data, which the library does not report.
#[derive(Debug)]
struct CountingExporter<E> {
    inner: E,
    dropped: Arc<Mutex<DroppedData>>,
}

impl<E> CountingExporter<E> {
    fn count_result(&self, result: &OTelSdkResult, count: impl FnOnce(&mut DroppedData, bool)) {
        let mut dropped = self.dropped.lock().unwrap_or_else(PoisonError::into_inner);
        count(&mut dropped, result.is_err());
        if let Err(error) = result {
            dropped.reason = Some(error.to_string());
        }
    }
}

impl trace::SpanExporter for CountingExporter<SpanExporter> {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let spans = batch.len();
        let result = self.inner.export(batch).await;
        self.count_result(&result, |dropped, failed| dropped.spans += if failed { spans } else { 0 });
        result
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.inner.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.inner.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.inner.set_resource(resource);
    }
}

impl PushMetricExporter for CountingExporter<MetricExporter> {
    async fn export(&self, metrics: &ResourceMetrics) -> OTelSdkResult {
        let result = self.inner.export(metrics).await;
        self.count_result(&result, |dropped, failed| {
            dropped.metrics = if failed { dropped.metrics + 1 } else { 0 }
        });
        result
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.inner.force_flush()
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.inner.shutdown_with_timeout(timeout)
    }

    fn temporality(&self) -> Temporality {
        self.inner.temporality()
    }
}

/// Creates an HTTP client with this timeout for each request, because the exporter limits only its retries. The
/// client follows no redirect: a request may carry a key for one host only. It blocks, because the exporters run on
/// threads of their own.
fn client(timeout: Duration) -> Result<Client, reqwest::Error> {
    // Of the two available providers, this one builds without C++ and an assembler. Installing it fails if
    // another provider is already installed, which is fine.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder().timeout(timeout).redirect(Policy::none()).build()
}
