//! Reads from the `OTEL_` variables which signals to export.
//!
//! The exporters read endpoint, headers and sampling themselves. This module also reads the request timeout,
//! because Longhaul provides the HTTP client.

use longhaul_core::word_enum;
use std::fmt;
use std::time::Duration;

// Default timeout of an export in the specification, which counts in milliseconds.
const TIMEOUT_MS: u64 = 10_000;

/// The signals to export, with their targets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Target of traces. `None` if disabled.
    pub traces: Option<Target>,
    /// Target of metrics. `None` if disabled.
    pub metrics: Option<Target>,
    /// Warnings about invalid values. Each states the value that is used instead.
    pub warnings: Vec<String>,
}

/// The target of a signal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Transport protocol.
    pub protocol: Protocol,
    /// Endpoint as configured, without credentials.
    pub endpoint: String,
    /// Timeout of a request.
    pub timeout: Duration,
}

word_enum! {
    /// The transport of OTLP, with the word that variables use.
    #[derive(Default)]
    pub enum Protocol {
        /// gRPC.
        Grpc = "grpc",
        /// HTTP with protocol buffers, the default that the specification recommends.
        #[default]
        HttpProtobuf = "http/protobuf",
        /// HTTP with JSON.
        HttpJson = "http/json",
    }
}

impl Settings {
    /// Reads the settings with `variable`, which returns the value of a variable.
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> Settings {
        let variable = |name: &str| {
            variable(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
        };
        let mut settings = Settings::default();
        if variable("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true")) {
            return settings;
        }
        settings.traces = target("TRACES", &variable, &mut settings.warnings);
        settings.metrics = target("METRICS", &variable, &mut settings.warnings);
        settings
    }

    /// Returns `true` if no signal is exported.
    pub fn is_disabled(&self) -> bool {
        self.traces.is_none() && self.metrics.is_none()
    }
}

fn target(
    signal: &str,
    variable: &impl Fn(&str) -> Option<String>,
    warnings: &mut Vec<String>,
) -> Option<Target> {
    // The signal's own variable, or else that of all signals, with its name.
    let setting = |setting: &str| {
        let own = format!("OTEL_EXPORTER_OTLP_{signal}_{setting}");
        let names = [own, format!("OTEL_EXPORTER_OTLP_{setting}")];
        names.into_iter().find_map(|name| Some((variable(&name)?, name)))
    };
    let endpoint = setting("ENDPOINT").map(|(endpoint, _)| endpoint);
    let is_enabled = match variable(&format!("OTEL_{signal}_EXPORTER")) {
        Some(exporters) => exporters.split(',').any(|exporter| exporter.trim() == "otlp"),
        None => endpoint.is_some(),
    };
    if !is_enabled {
        return None;
    }
    let flaw = "is none of grpc, http/protobuf, http/json";
    let protocol = valid(setting("PROTOCOL"), Protocol::default(), flaw, Protocol::parse, warnings);
    let parse = |value: &str| value.parse().ok().filter(|milliseconds| *milliseconds > 0);
    let timeout = valid(setting("TIMEOUT"), TIMEOUT_MS, "is not a number of milliseconds", parse, warnings);
    let endpoint = endpoint.unwrap_or_else(|| protocol.endpoint().to_owned());
    let endpoint = without_credentials(&endpoint);
    Some(Target { protocol, endpoint, timeout: Duration::from_millis(timeout) })
}

/// Parses the value of a variable. A value that is not valid is a warning, which states the `flaw`.
fn valid<T: fmt::Display>(
    setting: Option<(String, String)>,
    default: T,
    flaw: &str,
    parse: impl Fn(&str) -> Option<T>,
    warnings: &mut Vec<String>,
) -> T {
    let Some((value, name)) = setting else { return default };
    parse(&value).unwrap_or_else(|| {
        let warning = format!("{name} is `{value}`, which {flaw}; {default} is used");
        // Both signals may read the same variable.
        if !warnings.contains(&warning) {
            warnings.push(warning);
        }
        default
    })
}

impl Protocol {
    fn parse(word: &str) -> Option<Protocol> {
        Protocol::ALL.iter().copied().find(|protocol| protocol.as_str().eq_ignore_ascii_case(word))
    }

    fn endpoint(self) -> &'static str {
        match self {
            Protocol::Grpc => "http://localhost:4317",
            Protocol::HttpProtobuf | Protocol::HttpJson => "http://localhost:4318",
        }
    }
}

/// Removes user, password and query from an endpoint, because they may be secrets.
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
        let variable = |name: &str| {
            variables.iter().find(|(variable, _)| *variable == name).map(|(_, value)| (*value).to_owned())
        };
        let settings = Settings::read(variable);
        let mut text = String::new();
        for (signal, target) in [("traces", &settings.traces), ("metrics", &settings.metrics)] {
            if let Some(target) = target {
                let timeout = match target.timeout.as_millis() {
                    10_000 => String::new(),
                    other => format!(" within {other} ms"),
                };
                text += &format!("{signal} to {} by {}{timeout}\n", target.endpoint, target.protocol);
            }
        }
        for warning in &settings.warnings {
            text += &format!("{warning}\n");
        }
        expected.assert_eq(&text);
    }

    #[test]
    fn is_disabled_by_default() {
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
    fn endpoint_or_exporter_enables_export() {
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
    fn reports_unknown_protocol_once() {
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
    fn reads_request_timeout() {
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
                OTEL_EXPORTER_OTLP_TIMEOUT is `10s`, which is not a number of milliseconds; 10000 is used
            "#]],
        );
    }

    #[test]
    fn removes_credentials_from_endpoint() {
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
