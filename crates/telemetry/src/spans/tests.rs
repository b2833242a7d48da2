//! The spans of simulated runs agree with their histories.

use super::SpanRecorder;
use crate::attributes;
use crate::context::{Ids, Trace};
use crate::exporter::Exporter;
use longhaul_core::{Moment, Preset, RunHistory, RunId, RunSpec};
use longhaul_store::{Plan, RunDir};
use opentelemetry::Value;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{SdkTracerProvider, SpanData, SpanExporter};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const SEEDS: u64 = 200;

#[derive(Clone, Debug, Default)]
struct MemoryExporter(Arc<Mutex<Vec<SpanData>>>);

impl SpanExporter for MemoryExporter {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        self.0.lock().expect("no thread panicked").extend(batch);
        Ok(())
    }
}

fn plan() -> Plan {
    Plan::new(
        RunSpec::new("claude", "/work", "p", Preset::Drill.policy()),
        Moment::from_unix_seconds(1_767_225_600),
        "4b1d".to_owned(),
    )
}

/// Returns the spans and the history of a simulated run.
fn simulate(seed: u64, dir: &RunDir) -> (Vec<SpanData>, RunHistory) {
    let (memory, ids) = (MemoryExporter::default(), Ids::default());
    let provider = SdkTracerProvider::builder()
        .with_id_generator(ids.clone())
        .with_simple_exporter(memory.clone())
        .build();
    let exporter = Exporter { tracer: Some(provider.tracer("test")), metrics: None, ids };
    let trace = Trace::new(dir, None);
    let mut spans = SpanRecorder::new(exporter, trace, &RunId::from("bcdfgh"), &plan(), BTreeMap::new());
    let records = longhaul_sim::journal(seed);
    for (at, record) in &records {
        spans.record(*at, std::slice::from_ref(record));
    }
    let history = RunHistory::new(records.iter().map(|(at, record)| (*at, record)));
    let spans = memory.0.lock().expect("no thread panicked").clone();
    (spans, history)
}

fn attribute<'a>(span: &'a SpanData, name: &str) -> Option<&'a Value> {
    span.attributes.iter().find(|attribute| attribute.key.as_str() == name).map(|attribute| &attribute.value)
}

/// Returns the cost of a span in millionths of a dollar.
fn cost(span: &SpanData) -> u64 {
    let dollars = [attributes::COST, attributes::COST_ESTIMATED].map(|name| match attribute(span, name) {
        Some(Value::F64(dollars)) => *dollars,
        _ => 0.0,
    });
    (dollars.iter().sum::<f64>() * 1e6).round() as u64
}

fn attempts(span: &SpanData) -> i64 {
    match attribute(span, attributes::ATTEMPTS) {
        Some(Value::I64(attempts)) => *attempts,
        _ => 0,
    }
}

fn duration(span: &SpanData) -> Duration {
    span.end_time.duration_since(span.start_time).expect("it ends after its start")
}

#[test]
fn spans_of_simulated_runs_agree_with_the_history() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let dir = RunDir::from_path(home.path().join("bcdfgh")).expect("an absolute path");
    let (mut waited, mut reopened) = (0, 0);
    for seed in 0..SEEDS {
        let (spans, history) = simulate(seed, &dir);
        let named = |prefix: &'static str| spans.iter().filter(move |span| span.name.starts_with(prefix));
        let state = history.state();
        assert_eq!(named("invoke_agent").count(), history.attempts().len(), "attempts of seed {seed}");
        let waits: Duration = named("wait").map(duration).sum();
        assert_eq!(waits.as_millis() as u64, state.clocks.waiting.millis(), "waits of seed {seed}");
        assert_eq!(named("check").count(), history.checks().len(), "checks of seed {seed}");
        for (span, attempt) in named("invoke_agent").zip(history.attempts()) {
            assert_eq!(
                cost(span),
                attempt.usage().total_cost().0,
                "attempt {} of seed {seed}",
                attempt.number
            );
        }
        // Each resumption of the finished run has a span of its own.
        let runs: u64 = named("invoke_workflow").map(cost).sum();
        assert_eq!(runs, state.usage.total_cost().0, "cost of seed {seed}");
        let counted: i64 = named("invoke_workflow").map(attempts).sum();
        assert_eq!(counted, i64::from(state.attempts()), "attempts of the runs of seed {seed}");
        reopened += state.reopen_count;
        waited += history.waits().filter(|wait| wait.duration(Moment(0)) > Default::default()).count();
    }
    assert!(waited > 100, "the runs wait");
    assert!(reopened > 0, "some runs are resumed");
}
