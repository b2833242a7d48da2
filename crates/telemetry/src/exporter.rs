//! From spans and figures to a collector: what batches, limits and sends them is OpenTelemetry's own.

use crate::client::Client;
use crate::context::Ids;
use crate::metrics::Metrics;
use crate::settings::{Protocol, Settings, Target};
use opentelemetry::KeyValue;
use opentelemetry::metrics::MeterProvider as _;
use opentelemetry::trace::{SpanId, TraceId, TracerProvider as _};
use opentelemetry_otlp::{
    ExporterBuildError, MetricExporter, Protocol as Carried, SpanExporter, WithExportConfig, WithHttpConfig,
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
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use std::{env, io};
use thiserror::Error;
use tokio::runtime::{Builder, Runtime};

/// How long the end of a command may be delayed by what is still to be sent.
const LAST: Duration = Duration::from_secs(5);
const SCOPE: &str = "longhaul";

/// Why nothing is sent.
#[derive(Debug, Error)]
pub enum TelemetryError {
    /// The system gave no thread.
    #[error("start sending telemetry: {0}")]
    Thread(#[from] io::Error),
    /// A variable says something that cannot be done.
    #[error("send telemetry: {0}")]
    Exporter(#[from] ExporterBuildError),
    /// There is no use of TLS.
    #[error("send telemetry: {0}")]
    Client(#[from] reqwest::Error),
}

/// What sends, for all runs of this process.
pub struct Telemetry {
    traces: Option<SdkTracerProvider>,
    metrics: Option<SdkMeterProvider>,
    voice: Exporter,
    missed: Arc<Mutex<DroppedData>>,
    // Last: what is above uses it until it is gone.
    runtime: Runtime,
}

/// Tells of runs. Each one has a copy.
#[derive(Clone)]
pub struct Exporter {
    tracer: Option<SdkTracer>,
    figures: Option<Metrics>,
    ids: Ids,
}

/// What did not get to the collector.
#[derive(Debug, Default)]
struct DroppedData {
    spans: usize,
    /// Exports of metrics in a row; what they had is in the next one that gets through.
    metrics: usize,
    reason: Option<String>,
}

impl Telemetry {
    /// What the settings want; nothing if that is nothing.
    ///
    /// # Errors
    /// [`TelemetryError`]. No run fails for it: whoever asked for telemetry is told.
    pub fn start(settings: &Settings) -> Result<Option<Telemetry>, TelemetryError> {
        if settings.is_disabled() {
            return Ok(None);
        }
        // The exporters wait on threads of their own, which this one serves.
        let runtime =
            Builder::new_multi_thread().worker_threads(1).thread_name("telemetry").enable_all().build()?;
        let inside = runtime.enter();
        let missed: Arc<Mutex<DroppedData>> = Arc::default();
        let ids = Ids::default();
        let traces = settings.traces.as_ref().map(|target| -> Result<_, TelemetryError> {
            let exporter =
                CountingExporter { inner: spans_by(target, &runtime)?, missed: Arc::clone(&missed) };
            let provider =
                SdkTracerProvider::builder().with_id_generator(ids.clone()).with_resource(resource());
            Ok(provider.with_batch_exporter(exporter).build())
        });
        let traces = traces.transpose()?;
        let metrics = settings.metrics.as_ref().map(|target| -> Result<_, TelemetryError> {
            let exporter =
                CountingExporter { inner: metrics_by(target, &runtime)?, missed: Arc::clone(&missed) };
            let reader = PeriodicReader::builder(exporter).build();
            Ok(SdkMeterProvider::builder().with_reader(reader).with_resource(resource()).build())
        });
        let metrics = metrics.transpose()?;
        let voice = Exporter {
            tracer: traces.as_ref().map(|provider| provider.tracer(SCOPE)),
            figures: metrics.as_ref().map(|provider| Metrics::new(&provider.meter(SCOPE))),
            ids,
        };
        drop(inside);
        Ok(Some(Telemetry { traces, metrics, voice, missed, runtime }))
    }

    /// For a run of this process.
    pub fn exporter(&self) -> Exporter {
        self.voice.clone()
    }

    /// Has what is left sent, for a few seconds at most. Returns what a person is to know.
    pub fn close(self) -> Option<String> {
        // Both at once: each may wait for a collector that does not answer.
        let metrics =
            self.metrics.map(|metrics| std::thread::spawn(move || metrics.shutdown_with_timeout(LAST)));
        let traces = self.traces.map(|traces| traces.shutdown_with_timeout(LAST));
        let metrics = metrics.and_then(|metrics| metrics.join().ok());
        self.runtime.shutdown_background();
        let late =
            [traces, metrics].into_iter().flatten().find_map(Result::err).map(|error| error.to_string());
        let missed = self.missed.lock().unwrap_or_else(PoisonError::into_inner);
        missed.message(late)
    }
}

impl DroppedData {
    fn message(&self, late: Option<String>) -> Option<String> {
        let what = match (self.spans, self.metrics) {
            (0, 0) => late.as_ref().map(|_| "the last of the telemetry".to_owned()),
            (0, _) => Some("the run's metrics".to_owned()),
            (spans, 0) => Some(format!("{spans} of the run's spans")),
            (spans, _) => Some(format!("{spans} of the run's spans, and its metrics,")),
        }?;
        let reason = self.reason.clone().or(late).unwrap_or_default();
        Some(format!("{what} did not get to the collector: {reason}; the run's own files have it all"))
    }
}

impl Exporter {
    /// One that nobody hears.
    pub(crate) fn disabled() -> Exporter {
        Exporter { tracer: None, figures: None, ids: Ids::default() }
    }

    pub(crate) fn tracer(&self) -> Option<&SdkTracer> {
        self.tracer.as_ref()
    }

    pub(crate) fn figures(&self) -> Option<&Metrics> {
        self.figures.as_ref()
    }

    /// The span that is begun next has these ids.
    pub(crate) fn set_next_ids(&self, ids: (TraceId, SpanId)) {
        self.ids.settle(ids);
    }
}

/// Who sends: the user's own words over ours.
fn resource() -> Resource {
    let ours =
        [KeyValue::new("service.name", SCOPE), KeyValue::new("service.version", env!("CARGO_PKG_VERSION"))];
    let resource = Resource::builder_empty()
        .with_attributes(ours)
        .with_detector(Box::new(TelemetryResourceDetector))
        .with_detector(Box::new(EnvResourceDetector::new()));
    // This one names the service in any case, if only as unknown.
    if env::var_os("OTEL_SERVICE_NAME").is_some_and(|name| !name.is_empty()) {
        return resource.with_detector(Box::new(SdkProvidedResourceDetector)).build();
    }
    resource.build()
}

fn spans_by(target: &Target, runtime: &Runtime) -> Result<SpanExporter, TelemetryError> {
    let builder = SpanExporter::builder();
    Ok(match carried(target.protocol) {
        None => builder.with_tonic().build()?,
        Some(carried) => builder
            .with_http()
            .with_protocol(carried)
            .with_http_client(Client::new(runtime.handle().clone(), target.timeout)?)
            .build()?,
    })
}

fn metrics_by(target: &Target, runtime: &Runtime) -> Result<MetricExporter, TelemetryError> {
    let builder = MetricExporter::builder();
    Ok(match carried(target.protocol) {
        None => builder.with_tonic().build()?,
        Some(carried) => builder
            .with_http()
            .with_protocol(carried)
            .with_http_client(Client::new(runtime.handle().clone(), target.timeout)?)
            .build()?,
    })
}

/// How HTTP carries it; nothing for gRPC.
fn carried(protocol: Protocol) -> Option<Carried> {
    match protocol {
        Protocol::Grpc => None,
        Protocol::HttpProtobuf => Some(Carried::HttpBinary),
        Protocol::HttpJson => Some(Carried::HttpJson),
    }
}

/// An exporter that remembers what it could not send: the library tells nobody.
#[derive(Debug)]
struct CountingExporter<E> {
    inner: E,
    missed: Arc<Mutex<DroppedData>>,
}

impl<E> CountingExporter<E> {
    fn note(&self, result: &OTelSdkResult, count: impl FnOnce(&mut DroppedData, bool)) {
        let mut missed = self.missed.lock().unwrap_or_else(PoisonError::into_inner);
        count(&mut missed, result.is_err());
        if let Err(error) = result {
            missed.reason = Some(error.to_string());
        }
    }
}

impl trace::SpanExporter for CountingExporter<SpanExporter> {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let spans = batch.len();
        let result = self.inner.export(batch).await;
        self.note(&result, |missed, failed| missed.spans += if failed { spans } else { 0 });
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
        self.note(&result, |missed, failed| missed.metrics = if failed { missed.metrics + 1 } else { 0 });
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
