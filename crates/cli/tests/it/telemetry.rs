//! OpenTelemetry: a run is exported as one trace and as metrics, in every form of OTLP, and only if it is
//! configured.
//!
//! The state of the collector never affects the run.

use crate::call::{Call, Output, wait_until};
use crate::collector::{Collector, Received, plain};
use crate::harness::Stage;
use crate::recovering::{
    assert_done, held_steps, play_with_each_agent, release, run_to_mid_tool, wait_for_agent_exit,
    wait_for_takeover, with_each_agent,
};
use crate::server::{Server, WORK};
use axum::http::StatusCode;
use expect_test::{Expect, expect};
use opentelemetry_proto::tonic::trace::v1::Span;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

/// The model, set explicitly because the agents have different defaults.
const MODEL: &str = "claude-sonnet-4-5";

/// One command, and an answer after an overload that outlasts the agent's inner retries.
const OVERLOADED: &str = "
I write the file.
$ echo hello > hello.txt
All done.
[[fault]]
turn = 2
times = 2
status = { code = 529 }
";

fn base_call(stage: &Stage, agent: &Path, server: &Server) -> Call {
    let args = ["p", "--permission-mode", "bypassPermissions", "--preset", "drill", "--model", MODEL];
    stage.run(agent, &args).against(server)
}

/// Performs a run with the scripted agent, in an environment that `configure` completes.
fn run_work(stage: &Stage, configure: impl FnOnce(Call) -> Call) -> Output {
    let server = Server::start(WORK);
    configure(base_call(stage, &stage.agent(), &server)).output()
}

/// Sets the collector as the endpoint, with HTTP and JSON.
fn export_to(call: Call, collector: &Collector) -> Call {
    call.env("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.http).env("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json")
}

/// Renders the spans as a tree, with the main attributes of each. Siblings are in the order of their starts.
fn tree(spans: &[Span]) -> String {
    let ids: BTreeSet<&[u8]> = spans.iter().map(|span| span.span_id.as_slice()).collect();
    assert_eq!(ids.len(), spans.len(), "each span is sent once");
    let mut children: BTreeMap<Option<&[u8]>, Vec<&Span>> = BTreeMap::new();
    for span in spans {
        let parent = Some(span.parent_span_id.as_slice()).filter(|parent| ids.contains(parent));
        children.entry(parent).or_default().push(span);
    }
    for siblings in children.values_mut() {
        siblings.sort_by_key(|span| (span.start_time_unix_nano, span.end_time_unix_nano));
    }
    let mut text = String::new();
    add_children(None, &children, 0, &mut text);
    text
}

fn add_children(
    parent: Option<&[u8]>,
    children: &BTreeMap<Option<&[u8]>, Vec<&Span>>,
    depth: usize,
    text: &mut String,
) {
    for span in children.get(&parent).into_iter().flatten() {
        let attributes = plain(&span.attributes);
        *text += &format!("{}{}", "  ".repeat(depth), span.name);
        for name in [
            "longhaul.outcome",
            "longhaul.fault",
            "longhaul.resume_strategy",
            "error.type",
            "gen_ai.response.finish_reasons",
            "gen_ai.usage.output_tokens",
        ] {
            if let Some(value) = attributes.get(name) {
                let short = name.rsplit('.').next().unwrap_or_default();
                *text += &format!(" {short}={value}");
            }
        }
        for event in &span.events {
            *text += &format!(" [{}]", event.name);
        }
        *text += "\n";
        add_children(Some(&span.span_id), children, depth + 1, text);
    }
}

fn check_tree(collector: &Collector, expected: &Expect) {
    let received = collector.received();
    assert!(received.spans.iter().all(|span| span.end_time_unix_nano >= span.start_time_unix_nano));
    let traces: BTreeSet<&[u8]> = received.spans.iter().map(|span| span.trace_id.as_slice()).collect();
    assert_eq!(traces.len(), 1, "a run has one trace");
    expected.assert_eq(&tree(&received.spans));
}

fn span_named<'a>(spans: &'a [Span], name: &str) -> &'a Span {
    let mut found = spans.iter().filter(|span| span.name.starts_with(name));
    let first = found.next().unwrap_or_else(|| panic!("no {name} in {:?}", tree(spans)));
    assert!(found.next().is_none(), "more than one {name}");
    first
}

#[test]
fn run_is_one_trace() {
    play_with_each_agent(OVERLOADED, "the trace of a run", |stage, agent, server| {
        let collector = Collector::start();
        // Without jitter, the wait is long enough to measure.
        let arguments = ["--name", "nightly", "--retry-jitter", "none"];
        let output = export_to(base_call(stage, agent, server), &collector).args(arguments).output();
        let envelope = output.envelope(0);
        check_tree(
            &collector,
            &expect![[r#"
                invoke_workflow nightly outcome=done output_tokens=25
                  invoke_agent claude type=overloaded output_tokens=23
                    chat claude-sonnet-4-5 finish_reasons=tool_use output_tokens=23
                    execute_tool Bash
                  wait overloaded fault=overloaded
                  invoke_agent claude resume_strategy=as_is output_tokens=2
                    chat claude-sonnet-4-5 finish_reasons=end_turn output_tokens=2
            "#]],
        );
        let received = collector.received();
        let run = plain(&span_named(&received.spans, "invoke_workflow").attributes);
        assert_eq!(run["longhaul.run.id"], stage.only_run().id().as_str());
        assert_eq!(run["gen_ai.usage.input_tokens"], all_input(&envelope));
        assert_eq!(received.resource["service.name"], "longhaul");
        assert_eq!(received.resource["service.version"], env!("CARGO_PKG_VERSION"));
        let turn = received.spans.iter().find(|span| span.name.starts_with("chat")).expect("there are turns");
        let turn = plain(&turn.attributes);
        assert_eq!(turn["gen_ai.provider.name"], "anthropic");
        assert_eq!(
            turn["gen_ai.conversation.id"],
            envelope["session_id"].as_str().expect("the run has a session")
        );
        assert_names_are_documented(&received);
        // The metrics have the same figures.
        let usage = &envelope["usage"];
        for (kind, expected) in
            [("input", all_input(&envelope)), ("output", usage["output_tokens"].to_string())]
        {
            let sum = received.sum("gen_ai.client.token.usage", &[("gen_ai.token.type", kind)]);
            assert_eq!(sum.to_string(), expected, "{kind}");
        }
        assert_eq!(received.sum("longhaul.runs", &[("longhaul.outcome", "done")]), 1.0);
        assert_eq!(received.sum("longhaul.attempts", &[]), 2.0);
        assert_eq!(received.sum("longhaul.attempts", &[("longhaul.fault", "overloaded")]), 1.0);
        assert!(received.sum("longhaul.waiting", &[("longhaul.fault", "overloaded")]) > 0.0);
        let cost = usage["total_cost_usd"].as_f64().expect("a cost");
        assert!((received.sum("longhaul.cost", &[]) - cost).abs() < 1e-6, "{cost}");
    });
}

/// Asserts that the documentation names each attribute and metric.
fn assert_names_are_documented(received: &Received) {
    let text = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/telemetry.md"));
    let text = text.expect("there is a page");
    let span_attributes =
        received.spans.iter().flat_map(|span| &span.attributes).map(|pair| pair.key.clone());
    let events = received.spans.iter().flat_map(|span| &span.events).map(|event| event.name.clone());
    let point_attributes = received.points.iter().flat_map(|point| point.attributes.keys()).cloned();
    let metrics = received.points.iter().map(|point| point.metric.clone());
    for name in span_attributes.chain(events).chain(point_attributes).chain(metrics) {
        assert!(text.contains(&format!("`{name}`")), "docs/telemetry.md does not name {name}");
    }
}

/// Returns all input tokens, cached or not.
fn all_input(envelope: &serde_json::Value) -> String {
    let usage = &envelope["usage"];
    let names = ["input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"];
    names.iter().map(|name| usage[name].as_u64().unwrap_or_default()).sum::<u64>().to_string()
}

#[test]
fn nothing_is_sent_without_configuration() {
    let (stage, collector) = (Stage::new(), Collector::start());
    let disabled = |call: Call| export_to(call, &collector).env("OTEL_SDK_DISABLED", "true");
    run_work(&stage, |call| disabled(call).env("OTEL_SERVICE_NAME", "nightly")).envelope(0);
    assert!(collector.received().requests.is_empty());
    assert!(!stage.only_run().trace_path().exists());
}

#[test]
fn every_form_of_otlp_has_the_same_data() {
    let mut results = BTreeSet::new();
    for protocol in ["grpc", "http/protobuf", "http/json"] {
        for compression in ["", "gzip"] {
            let (stage, collector) = (Stage::new(), Collector::start());
            let endpoint = if protocol == "grpc" { &collector.grpc } else { &collector.http };
            let output = run_work(&stage, |call| {
                call.env("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
                    .env("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)
                    .env("OTEL_EXPORTER_OTLP_TRACES_COMPRESSION", compression)
            });
            output.envelope(0);
            assert_eq!(output.stderr, "", "{protocol}");
            let data = collector.received();
            results.insert((tree(&data.spans), data.sum("gen_ai.client.token.usage", &[]).to_string()));
        }
    }
    assert_eq!(results.len(), 1, "{results:?}");
}

#[test]
fn trace_continues_after_takeover() {
    play_with_each_agent(&held_steps(), "the trace after a takeover", |stage, agent, server| {
        let collector = Collector::start();
        // Short export intervals, so that data arrives before the supervisor dies.
        let started = export_to(base_call(stage, agent, server), &collector)
            .env("OTEL_BSP_SCHEDULE_DELAY", "50")
            .env("OTEL_METRIC_EXPORT_INTERVAL", "50")
            .start();
        wait_until("the tool runs", || stage.work().join("started").exists());
        // Measurements that a supervisor has not sent when it dies are lost.
        wait_until("both turns are sent", || {
            let received = collector.received();
            let turns = received.spans.iter().filter(|span| span.name.starts_with("chat"));
            let input = turns.map(|turn| plain(&turn.attributes)["gen_ai.usage.input_tokens"].clone());
            let input: Vec<f64> = input.map(|tokens| tokens.parse().expect("a number")).collect();
            let counted = received.sum("gen_ai.client.token.usage", &[("gen_ai.token.type", "input")]);
            input.len() == 2 && input.iter().sum::<f64>() == counted
        });
        started.kill();
        let recovery = export_to(stage.longhaul(["recover"]).against(server), &collector).start();
        wait_for_takeover(stage);
        release(stage);
        let envelope = recovery.output().envelope(0);
        assert_done(stage, &envelope, 1);
        // A span that both supervisors sent is the same, and its usage is counted once.
        let mut spans: Vec<Span> = Vec::new();
        for span in &collector.received().spans {
            match spans.iter().find(|existing| existing.span_id == span.span_id) {
                Some(existing) => assert_eq!(existing, span),
                None => spans.push(span.clone()),
            }
        }
        assert!(spans.len() < collector.received().spans.len(), "the first supervisor sent nothing");
        expect![[r#"
            invoke_workflow outcome=done output_tokens=106
              invoke_agent claude output_tokens=106 [longhaul.recovered]
                chat claude-sonnet-4-5 finish_reasons=tool_use output_tokens=28
                execute_tool Bash
                chat claude-sonnet-4-5 finish_reasons=tool_use output_tokens=45
                execute_tool Bash
                chat claude-sonnet-4-5 finish_reasons=tool_use output_tokens=27
                execute_tool Bash
                chat claude-sonnet-4-5 finish_reasons=end_turn output_tokens=6
        "#]]
        .assert_eq(&tree(&spans));
        let input = collector.received().sum("gen_ai.client.token.usage", &[("gen_ai.token.type", "input")]);
        assert_eq!(input.to_string(), all_input(&envelope));
        assert_eq!(collector.received().sum("longhaul.runs", &[]), 1.0);

        // A resumed run continues the same trace.
        export_to(stage.longhaul(["resume", "@", "--repeat-task"]).against(server), &collector).output();
        let received = collector.received();
        let runs = received.spans.iter().filter(|span| span.name == "invoke_workflow");
        let traces: BTreeSet<&[u8]> = received.spans.iter().map(|span| span.trace_id.as_slice()).collect();
        assert_eq!((runs.count(), traces.len()), (2, 1));
    });
}

#[test]
fn work_without_supervisor_is_exported() {
    with_each_agent("the trace of an orphaned agent", |stage, agent, server| {
        let collector = Collector::start();
        run_to_mid_tool(stage, agent, server).kill();
        wait_for_agent_exit(&stage.only_run());
        export_to(stage.longhaul(["recover"]).against(server), &collector).output().envelope(0);
        let received = collector.received();
        let recovered = &span_named(&received.spans, "invoke_agent").events[0];
        assert_eq!(recovered.name, "longhaul.recovered");
        assert_eq!(plain(&recovered.attributes)["longhaul.stop.cause"], "agent_finished");
        for (kind, times) in [("chat", 4), ("execute_tool", 3)] {
            let spans = received.spans.iter().filter(|span| span.name.starts_with(kind));
            assert_eq!(spans.count(), times, "{}", tree(&received.spans));
        }
    });
}

#[test]
fn run_belongs_to_the_trace_of_its_caller() {
    let (stage, collector) = (Stage::new(), Collector::start());
    let trace = "0af7651916cd43dd8448eb211c80319c";
    let parent = format!("00-{trace}-b7ad6b7169203331-01");
    run_work(&stage, |call| export_to(call, &collector).env("TRACEPARENT", parent)).envelope(0);
    let received = collector.received();
    let run = span_named(&received.spans, "invoke_workflow");
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    assert_eq!(
        (hex(&run.trace_id), hex(&run.parent_span_id)),
        (trace.to_owned(), "b7ad6b7169203331".to_owned())
    );
    let mode = fs::metadata(stage.only_run().trace_path()).expect("the file is stored").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn unsampled_trace_is_not_sent() {
    let (stage, collector) = (Stage::new(), Collector::start());
    run_work(&stage, |call| export_to(call, &collector).env("OTEL_TRACES_SAMPLER", "always_off")).envelope(0);
    assert!(collector.received().spans.is_empty());
    assert_eq!(collector.received().sum("longhaul.runs", &[]), 1.0);
}

#[test]
fn message_text_is_not_sent_and_keys_are_not_stored() {
    let (stage, collector) = (Stage::new(), Collector::start());
    let with_key = |call: Call| export_to(call, &collector).env("OTEL_EXPORTER_OTLP_HEADERS", "x-key=sesame");
    run_work(&stage, |call| with_key(call).env("OTEL_SERVICE_NAME", "nightly")).envelope(0);
    let received = collector.received();
    assert_eq!(received.resource["service.name"], "nightly");
    assert!(!received.requests.is_empty());
    assert!(received.requests.iter().all(|(_, headers)| headers["x-key"] == "sesame"));
    for text in ["hello", "I write", "All done", "echo"] {
        assert!(!received.raw.contains(text), "`{text}` was sent");
    }
    let files_with_key = stage.program("grep").args(["-rl", "sesame"]).args([stage.home()]).output();
    assert_eq!(files_with_key.stdout, "", "a key was stored");
}

#[test]
fn failing_collector_does_not_affect_run() {
    // The endpoints: one that never answers, one that does not exist, one that rejects, and one that
    // redirects.
    let listen = || TcpListener::bind("127.0.0.1:0").expect("there is a port");
    let url = |listener: &TcpListener| {
        format!("http://{}", listener.local_addr().expect("a listener has an address"))
    };
    let silent_listener = listen();
    let (silent, closed) = (url(&silent_listener), url(&listen()));
    let (rejecting, redirecting) = (Collector::start(), Collector::start());
    rejecting.received().rejection = Some(StatusCode::BAD_REQUEST);
    redirecting.received().rejection = Some(StatusCode::TEMPORARY_REDIRECT);
    for endpoint in [&silent, &closed, &rejecting.http, &redirecting.http] {
        for protocol in ["http/protobuf", "grpc"] {
            let stage = Stage::new();
            let output = run_work(&stage, |call| {
                call.env("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint).env("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)
            });
            output.envelope(0);
            assert!(
                output.stderr.starts_with("warning: ") && output.stderr.lines().count() == 1,
                "{output:?}"
            );
            assert!(output.stderr.contains("the run's files are complete"), "{output:?}");
            assert!(output.duration < Duration::from_secs(30), "{output:?}");
        }
    }
    assert!(
        redirecting.received().requests.iter().all(|(path, _)| path.starts_with("/v1/")),
        "the exporter does not follow the redirect"
    );
    let stage = Stage::new();
    let quiet = run_work(&stage, |call| call.env("OTEL_EXPORTER_OTLP_ENDPOINT", &closed).args(["--quiet"]));
    assert_eq!(quiet.stderr, "");
}

#[test]
fn doctor_prints_the_endpoint() {
    let stage = Stage::new();
    let doctor = || stage.longhaul(["doctor"]);
    assert!(!doctor().output().stdout.contains("telemetry"));
    let configured_doctor =
        || doctor().env("OTEL_EXPORTER_OTLP_ENDPOINT", "https://me:secret@collector:4318");
    let output = configured_doctor().output().stdout;
    let words = "traces to https://collector:4318 by http/protobuf, metrics to";
    assert!(output.contains(words) && !output.contains("secret"), "{output}");
    let output = configured_doctor().env("OTEL_EXPORTER_OTLP_PROTOCOL", "pigeon").output().stdout;
    assert!(output.contains("is `pigeon`") && output.contains("fix the OTEL_ variables"), "{output}");
    // Without the scheme.
    let output = doctor().env("OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:4318").output().stdout;
    let flaw = "OTEL_EXPORTER_OTLP_ENDPOINT is no URL such as http://localhost:4318";
    assert!(output.contains(flaw) && output.contains("fix the OTEL_ variables"), "{output}");
}

#[test]
fn invalid_value_causes_a_warning() {
    let (stage, collector) = (Stage::new(), Collector::start());
    let output =
        run_work(&stage, |call| export_to(call, &collector).env("OTEL_EXPORTER_OTLP_PROTOCOL", "pigeon"));
    output.envelope(0);
    assert!(output.stderr.contains("OTEL_EXPORTER_OTLP_PROTOCOL is `pigeon`"), "{output:?}");
    assert!(!collector.received().spans.is_empty(), "the default protocol was used");
    for protocol in ["http/protobuf", "grpc"] {
        let stage = Stage::new();
        let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "me:secret@no address:4318");
        let output = run_work(&stage, |call| {
            call.env(endpoint.0, endpoint.1).env("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)
        });
        output.envelope(0);
        let warning =
            "telemetry: OTEL_EXPORTER_OTLP_ENDPOINT is no URL such as http://localhost:4318; fix the OTEL_";
        assert!(output.stderr.contains(warning) && !output.stderr.contains("secret"), "{output:?}");
    }
}
