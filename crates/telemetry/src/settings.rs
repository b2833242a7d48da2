//! Which signals are wanted, by the variables that OpenTelemetry has for that. How they are sent (endpoint, headers,
//! sampling) the exporters read themselves, but for the time that a request may take: we make these.

use std::fmt;
use std::time::Duration;

/// As long as the specification gives an export unless it is told otherwise.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Where to a signal goes, and which of them are wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Traces.
    pub traces: Option<Target>,
    /// Metrics.
    pub metrics: Option<Target>,
    /// Values that cannot be used, each as a sentence that says what is done instead.
    pub complaints: Vec<String>,
}

/// Where to a signal goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// How.
    pub protocol: Protocol,
    /// As it was written, credentials left out.
    pub endpoint: String,
    /// How long a request may take.
    pub timeout: Duration,
}

/// How OTLP is carried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// gRPC.
    Grpc,
    /// HTTP with protocol buffers; what the specification recommends as the default.
    #[default]
    HttpProtobuf,
    /// HTTP with JSON.
    HttpJson,
}

/// A signal by its name in variables.
const TRACES: &str = "TRACES";
const METRICS: &str = "METRICS";

impl Settings {
    /// Reads them with `variable`, which returns what a variable is set to.
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> Settings {
        let variable = |name: &str| {
            variable(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
        };
        let mut settings = Settings::default();
        if variable("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true")) {
            return settings;
        }
        settings.traces = target(TRACES, &variable, &mut settings.complaints);
        settings.metrics = target(METRICS, &variable, &mut settings.complaints);
        settings
    }

    /// Whether nothing is wanted.
    pub fn is_disabled(&self) -> bool {
        self.traces.is_none() && self.metrics.is_none()
    }
}

fn target(
    signal: &str,
    variable: &impl Fn(&str) -> Option<String>,
    complaints: &mut Vec<String>,
) -> Option<Target> {
    let own = format!("OTEL_EXPORTER_OTLP_{signal}_ENDPOINT");
    let endpoint = variable(&own).or_else(|| variable("OTEL_EXPORTER_OTLP_ENDPOINT"));
    let wanted = match variable(&format!("OTEL_{signal}_EXPORTER")) {
        Some(exporters) => exporters.split(',').any(|exporter| exporter.trim() == "otlp"),
        None => endpoint.is_some(),
    };
    if !wanted {
        return None;
    }
    let protocol = protocol(signal, variable, complaints);
    let endpoint = endpoint.unwrap_or_else(|| protocol.endpoint().to_owned());
    let timeout = timeout(signal, variable, complaints);
    Some(Target { protocol, endpoint: without_credentials(&endpoint), timeout })
}

/// In milliseconds, as the specification has it.
fn timeout(
    signal: &str,
    variable: &impl Fn(&str) -> Option<String>,
    complaints: &mut Vec<String>,
) -> Duration {
    for name in [format!("OTEL_EXPORTER_OTLP_{signal}_TIMEOUT"), "OTEL_EXPORTER_OTLP_TIMEOUT".to_owned()] {
        let Some(value) = variable(&name) else { continue };
        if let Some(milliseconds) = value.parse().ok().filter(|milliseconds| *milliseconds > 0) {
            return Duration::from_millis(milliseconds);
        }
        let used = TIMEOUT.as_millis();
        complain(
            complaints,
            format!("{name} is `{value}`, which is no number of milliseconds; {used} is used"),
        );
        break;
    }
    TIMEOUT
}

/// Both signals may be told the same.
fn complain(complaints: &mut Vec<String>, error: String) {
    if !complaints.contains(&error) {
        complaints.push(error);
    }
}

fn protocol(
    signal: &str,
    variable: &impl Fn(&str) -> Option<String>,
    complaints: &mut Vec<String>,
) -> Protocol {
    for name in [format!("OTEL_EXPORTER_OTLP_{signal}_PROTOCOL"), "OTEL_EXPORTER_OTLP_PROTOCOL".to_owned()] {
        let Some(value) = variable(&name) else { continue };
        if let Some(protocol) = Protocol::named(&value) {
            return protocol;
        }
        let used = Protocol::default();
        let which = "which is none of grpc, http/protobuf, http/json";
        complain(complaints, format!("{name} is `{value}`, {which}; {used} is used"));
        break;
    }
    Protocol::default()
}

impl Protocol {
    fn named(word: &str) -> Option<Protocol> {
        [Protocol::Grpc, Protocol::HttpProtobuf, Protocol::HttpJson]
            .into_iter()
            .find(|protocol| protocol.as_str().eq_ignore_ascii_case(word))
    }

    /// The word in variables.
    pub fn as_str(self) -> &'static str {
        match self {
            Protocol::Grpc => "grpc",
            Protocol::HttpProtobuf => "http/protobuf",
            Protocol::HttpJson => "http/json",
        }
    }

    /// Where a collector is by default.
    fn endpoint(self) -> &'static str {
        match self {
            Protocol::Grpc => "http://localhost:4317",
            Protocol::HttpProtobuf | Protocol::HttpJson => "http://localhost:4318",
        }
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

/// An endpoint as it may be shown: a name and a password before its host, and what is asked of it, may be secrets.
fn without_credentials(endpoint: &str) -> String {
    let endpoint = endpoint.split(['?', '#']).next().unwrap_or_default();
    let (scheme, rest) = endpoint.split_once("://").unwrap_or(("", endpoint));
    let (host, path) = rest.split_once('/').map_or((rest, None), |(host, path)| (host, Some(path)));
    let host = host.rsplit('@').next().unwrap_or_default();
    let scheme = if scheme.is_empty() { String::new() } else { format!("{scheme}://") };
    format!("{scheme}{host}{}", path.map(|path| format!("/{path}")).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::{Settings, without_credentials};
    use expect_test::{Expect, expect};

    fn check(variables: &[(&str, &str)], expected: &Expect) {
        let of = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        let settings = Settings::read(of);
        let mut told = String::new();
        for (signal, target) in [("traces", &settings.traces), ("metrics", &settings.metrics)] {
            if let Some(target) = target {
                let within = match target.timeout.as_millis() {
                    10_000 => String::new(),
                    other => format!(" within {other} ms"),
                };
                told += &format!("{signal} to {} by {}{within}\n", target.endpoint, target.protocol);
            }
        }
        for error in &settings.complaints {
            told += &format!("{error}\n");
        }
        expected.assert_eq(&told);
    }

    #[test]
    fn nothing_is_sent_unless_it_is_asked_for() {
        check(&[], &expect![[r#""#]]);
        check(&[("OTEL_SERVICE_NAME", "nightly"), ("OTEL_EXPORTER_OTLP_HEADERS", "a=b")], &expect![[r#""#]]);
        check(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "")], &expect![[r#""#]]);
        check(
            &[("OTEL_EXPORTER_OTLP_ENDPOINT", "http://here:4318"), ("OTEL_SDK_DISABLED", "TRUE")],
            &expect![[r#""#]],
        );
        check(
            &[
                ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://here:4318"),
                ("OTEL_TRACES_EXPORTER", "none"),
                ("OTEL_METRICS_EXPORTER", "console"),
            ],
            &expect![[r#""#]],
        );
    }

    #[test]
    fn an_endpoint_or_an_exporter_asks_for_it() {
        check(
            &[("OTEL_EXPORTER_OTLP_ENDPOINT", "http://here:4318")],
            &expect![[r#"
                traces to http://here:4318 by http/protobuf
                metrics to http://here:4318 by http/protobuf
            "#]],
        );
        check(
            &[("OTEL_TRACES_EXPORTER", "console, otlp"), ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")],
            &expect![[r#"
                traces to http://localhost:4317 by grpc
            "#]],
        );
        check(
            &[
                ("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "https://there/v1/metrics"),
                ("OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", "HTTP/JSON"),
            ],
            &expect![[r#"
                metrics to https://there/v1/metrics by http/json
            "#]],
        );
    }

    #[test]
    fn an_unknown_protocol_is_said_once() {
        check(
            &[
                ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://here"),
                ("OTEL_EXPORTER_OTLP_PROTOCOL", "carrier pigeon"),
            ],
            &expect![[r#"
                traces to http://here by http/protobuf
                metrics to http://here by http/protobuf
                OTEL_EXPORTER_OTLP_PROTOCOL is `carrier pigeon`, which is none of grpc, http/protobuf, http/json; http/protobuf is used
            "#]],
        );
    }

    #[test]
    fn a_request_takes_as_long_as_is_said() {
        let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://here");
        check(
            &[
                endpoint,
                ("OTEL_EXPORTER_OTLP_TIMEOUT", "30000"),
                ("OTEL_EXPORTER_OTLP_METRICS_TIMEOUT", "200"),
            ],
            &expect![[r#"
                traces to http://here by http/protobuf within 30000 ms
                metrics to http://here by http/protobuf within 200 ms
            "#]],
        );
        check(
            &[endpoint, ("OTEL_EXPORTER_OTLP_TIMEOUT", "10s")],
            &expect![[r#"
                traces to http://here by http/protobuf
                metrics to http://here by http/protobuf
                OTEL_EXPORTER_OTLP_TIMEOUT is `10s`, which is no number of milliseconds; 10000 is used
            "#]],
        );
    }

    #[test]
    fn an_endpoint_is_shown_without_its_secrets() {
        for (endpoint, expected) in [
            ("https://me:secret@here:4318/v1?key=secret", "https://here:4318/v1"),
            ("https://me@secret@here", "https://here"),
            ("here:4317", "here:4317"),
            ("http://here/", "http://here/"),
        ] {
            assert_eq!(without_credentials(endpoint), expected, "{endpoint}");
        }
    }
}
