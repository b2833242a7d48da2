//! An OpenTelemetry collector on the loopback interface. It accepts all three encodings of OTLP and stores
//! the data.

use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::IntoResponse;
use axum::routing::post;
use axum::{Router, serve};
use flate2::read::GzDecoder;
use opentelemetry_proto::tonic::collector::metrics::v1::metrics_service_server::{
    MetricsService, MetricsServiceServer,
};
use opentelemetry_proto::tonic::collector::metrics::v1::{
    ExportMetricsServiceRequest, ExportMetricsServiceResponse,
};
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{
    TraceService, TraceServiceServer,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use std::collections::BTreeMap;
use std::io::Read;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status};

/// A running collector. Its threads serve until it is dropped.
pub struct Collector {
    requests: Shared,
    pub http: String,
    pub grpc: String,
    _runtime: Runtime,
}

/// Everything the collector received.
#[derive(Default)]
pub struct Received {
    pub spans: Vec<Span>,
    /// The last sum for each metric, set of attributes and start time.
    pub points: Vec<Point>,
    pub resource: BTreeMap<String, String>,
    /// Paths and headers of all HTTP requests.
    pub requests: Vec<(String, HeaderMap)>,
    /// Debug text of all received requests.
    pub raw: String,
    /// Status that rejects the next HTTP requests, if set.
    pub rejection: Option<StatusCode>,
}

/// A data point of a metric.
#[derive(Clone, Debug)]
pub struct Point {
    pub metric: String,
    pub attributes: BTreeMap<String, String>,
    pub started_at: u64,
    pub sum: f64,
}

#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Received>>);

impl Collector {
    pub fn start() -> Collector {
        let requests = Shared::default();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.expect("there is a runtime");
        let (http, grpc) = runtime.block_on(async {
            let listen = || TcpListener::bind("127.0.0.1:0");
            let (http, grpc) = (listen().await.expect("a port"), listen().await.expect("a port"));
            let addresses =
                [&http, &grpc].map(|listener| listener.local_addr().expect("a listener has an address"));
            let router = Router::new()
                .route("/v1/traces", post(traces))
                .route("/v1/metrics", post(metrics))
                .with_state(requests.clone());
            tokio::spawn(async move { serve(http, router).await });
            let server = tonic::transport::Server::builder()
                .add_service(
                    TraceServiceServer::new(requests.clone())
                        .accept_compressed(tonic::codec::CompressionEncoding::Gzip),
                )
                .add_service(MetricsServiceServer::new(requests.clone()));
            tokio::spawn(server.serve_with_incoming(TcpIncoming::from(grpc)));
            (format!("http://{}", addresses[0]), format!("http://{}", addresses[1]))
        });
        Collector { requests, http, grpc, _runtime: runtime }
    }

    pub fn received(&self) -> MutexGuard<'_, Received> {
        self.requests.lock()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Received> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add_spans(&self, request: ExportTraceServiceRequest) {
        let mut received = self.lock();
        received.raw += &format!("{request:?}");
        for resource in request.resource_spans {
            received.resource = resource.resource.map(|found| plain(&found.attributes)).unwrap_or_default();
            received.spans.extend(resource.scope_spans.into_iter().flat_map(|scope| scope.spans));
        }
    }

    fn add_metrics(&self, request: ExportMetricsServiceRequest) {
        let mut received = self.lock();
        received.raw += &format!("{request:?}");
        let scopes = request.resource_metrics.into_iter().flat_map(|resource| resource.scope_metrics);
        for metric in scopes.flat_map(|scope| scope.metrics) {
            let point = |attributes: &[KeyValue], started_at: u64, sum: f64| Point {
                metric: metric.name.clone(),
                attributes: plain(attributes),
                started_at,
                sum,
            };
            let points: Vec<Point> = match metric.data.as_ref().expect("a metric has data") {
                Data::Histogram(histogram) => histogram
                    .data_points
                    .iter()
                    .map(|data| {
                        let sum = data.sum.expect("a histogram has a sum");
                        point(&data.attributes, data.start_time_unix_nano, sum)
                    })
                    .collect(),
                Data::Sum(sum) => sum
                    .data_points
                    .iter()
                    .map(|data| {
                        let value = match data.value.expect("a data point has a value") {
                            number_data_point::Value::AsDouble(value) => value,
                            number_data_point::Value::AsInt(value) => value as f64,
                        };
                        point(&data.attributes, data.start_time_unix_nano, value)
                    })
                    .collect(),
                other => panic!("unexpected metric data: {other:?}"),
            };
            for point in points {
                let is_same = |existing: &&mut Point| {
                    (&existing.metric, &existing.attributes, existing.started_at)
                        == (&point.metric, &point.attributes, point.started_at)
                };
                match received.points.iter_mut().find(is_same) {
                    Some(existing) => *existing = point,
                    None => received.points.push(point),
                }
            }
        }
    }
}

impl Received {
    /// Returns the sum of a metric over all points with these attributes.
    pub fn sum(&self, metric: &str, attributes: &[(&str, &str)]) -> f64 {
        let has_attributes = |point: &&Point| {
            attributes
                .iter()
                .all(|(name, value)| point.attributes.get(*name).is_some_and(|found| found == value))
        };
        self.points
            .iter()
            .filter(|point| point.metric == metric)
            .filter(has_attributes)
            .map(|point| point.sum)
            .sum()
    }
}

async fn traces(
    State(requests): State<Shared>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> impl IntoResponse {
    receive(&requests, &uri, headers, &body, Shared::add_spans)
}

async fn metrics(
    State(requests): State<Shared>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> impl IntoResponse {
    receive(&requests, &uri, headers, &body, Shared::add_metrics)
}

fn receive<R: Message + Default + serde::de::DeserializeOwned>(
    requests: &Shared,
    uri: &Uri,
    headers: HeaderMap,
    body: &[u8],
    add: fn(&Shared, R),
) -> impl IntoResponse + use<R> {
    let is_json = headers["content-type"] == "application/json";
    let mut unpacked = Vec::new();
    let body = if headers.get("content-encoding").is_some_and(|encoding| encoding == "gzip") {
        GzDecoder::new(body).read_to_end(&mut unpacked).expect("the body is valid gzip");
        unpacked.as_slice()
    } else {
        body
    };
    let status = {
        let mut received = requests.lock();
        received.requests.push((uri.path().to_owned(), headers));
        received.rejection
    };
    if let Some(status) = status {
        return (status, [("content-type", "text/plain"), ("location", "/elsewhere")], Vec::new());
    }
    if is_json {
        add(requests, serde_json::from_slice(body).expect("a request in JSON"));
        (StatusCode::OK, [("content-type", "application/json"), ("location", "")], b"{}".to_vec())
    } else {
        add(requests, R::decode(body).expect("a request in protocol buffers"));
        (StatusCode::OK, [("content-type", "application/x-protobuf"), ("location", "")], Vec::new())
    }
}

#[tonic::async_trait]
impl TraceService for Shared {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        self.add_spans(request.into_inner());
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

#[tonic::async_trait]
impl MetricsService for Shared {
    async fn export(
        &self,
        request: Request<ExportMetricsServiceRequest>,
    ) -> Result<Response<ExportMetricsServiceResponse>, Status> {
        self.add_metrics(request.into_inner());
        Ok(Response::new(ExportMetricsServiceResponse::default()))
    }
}

/// Returns the attributes by name, as text.
pub fn plain(attributes: &[KeyValue]) -> BTreeMap<String, String> {
    attributes.iter().map(|pair| (pair.key.clone(), text(pair.value.as_ref()))).collect()
}

fn text(value: Option<&AnyValue>) -> String {
    match value.and_then(|value| value.value.as_ref()) {
        Some(Value::StringValue(text)) => text.clone(),
        Some(Value::IntValue(number)) => number.to_string(),
        Some(Value::DoubleValue(number)) => number.to_string(),
        Some(Value::BoolValue(value)) => value.to_string(),
        Some(Value::ArrayValue(array)) => {
            array.values.iter().map(|value| text(Some(value))).collect::<Vec<_>>().join(",")
        }
        other => panic!("unexpected metric data: {other:?}"),
    }
}
