//! Metrics of runs: those of the semantic conventions for model calls, and Longhaul's own.

use crate::attributes::{self, metrics};
use crate::conversation::TurnSpan;
use crate::time::seconds;
use longhaul_core::{Fault, Outcome, Span, Usage};
use opentelemetry::KeyValue;
use opentelemetry::metrics::{Counter, Histogram, Meter};

/// Histogram bounds for tokens, in powers of four as in the conventions.
const TOKEN_BOUNDS: &[f64] = &[
    1.0,
    4.0,
    16.0,
    64.0,
    256.0,
    1_024.0,
    4_096.0,
    16_384.0,
    65_536.0,
    262_144.0,
    1_048_576.0,
    4_194_304.0,
    16_777_216.0,
    67_108_864.0,
];
/// Histogram bounds for seconds of a turn, as in the conventions.
const SECOND_BOUNDS: &[f64] =
    &[0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];

/// The instruments.
#[derive(Clone)]
pub(crate) struct Metrics {
    tokens: Histogram<u64>,
    duration: Histogram<f64>,
    runs: Counter<u64>,
    attempts: Counter<u64>,
    waiting: Counter<f64>,
    cost: Counter<f64>,
}

impl Metrics {
    pub(crate) fn new(meter: &Meter) -> Metrics {
        Metrics {
            tokens: meter
                .u64_histogram(metrics::TOKENS)
                .with_unit("{token}")
                .with_description("Number of input and output tokens used")
                .with_boundaries(TOKEN_BOUNDS.to_vec())
                .build(),
            duration: meter
                .f64_histogram(metrics::DURATION)
                .with_unit("s")
                .with_description("Duration of a turn of the agent's model")
                .with_boundaries(SECOND_BOUNDS.to_vec())
                .build(),
            runs: meter
                .u64_counter(metrics::RUNS)
                .with_unit("{run}")
                .with_description("Finished runs, by outcome")
                .build(),
            attempts: meter
                .u64_counter(metrics::ATTEMPTS)
                .with_unit("{attempt}")
                .with_description("Ended attempts, by fault")
                .build(),
            waiting: meter
                .f64_counter(metrics::WAITING)
                .with_unit("s")
                .with_description("Waiting time between attempts, by fault")
                .build(),
            cost: meter
                .f64_counter(metrics::COST)
                .with_unit("USD")
                .with_description("Cost of attempts at API prices, reported by the agent or estimated")
                .build(),
        }
    }

    pub(crate) fn turn(&self, turn: &TurnSpan, common: &[KeyValue]) {
        let model = turn.model.clone().unwrap_or_default();
        let mut attributes = common.to_vec();
        attributes.push(KeyValue::new(attributes::OPERATION, "chat"));
        attributes.push(KeyValue::new(attributes::RESPONSE_MODEL, model));
        self.duration.record(seconds(turn.ended_at.since(turn.started_at)), &attributes);
        let Some(usage) = turn.usage else { return };
        let input = usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens;
        for (kind, tokens) in [("input", input), ("output", usage.output_tokens)] {
            let mut attributes = attributes.clone();
            attributes.push(KeyValue::new(attributes::TOKEN_TYPE, kind));
            self.tokens.record(tokens, &attributes);
        }
    }

    pub(crate) fn attempt(&self, fault: Option<Fault>, usage: &Usage, common: &[KeyValue]) {
        self.attempts.add(1, &with_fault(common, fault));
        self.usage(usage, common);
    }

    /// Records the cost of an attempt or of a summary.
    pub(crate) fn usage(&self, usage: &Usage, common: &[KeyValue]) {
        for (kind, cost) in [("reported", usage.reported_cost), ("estimated", usage.estimated_cost)] {
            if cost.0 > 0 {
                let mut attributes = common.to_vec();
                attributes.push(KeyValue::new(attributes::COST_KIND, kind));
                self.cost.add(cost.as_dollars(), &attributes);
            }
        }
    }

    pub(crate) fn wait(&self, fault: Option<Fault>, span: Span, common: &[KeyValue]) {
        self.waiting.add(seconds(span), &with_fault(common, fault));
    }

    pub(crate) fn run(&self, outcome: &Outcome, common: &[KeyValue]) {
        let mut attributes = with_fault(common, outcome.fault);
        attributes.push(KeyValue::new(attributes::OUTCOME, outcome.kind.as_str()));
        self.runs.add(1, &attributes);
    }
}

fn with_fault(common: &[KeyValue], fault: Option<Fault>) -> Vec<KeyValue> {
    let mut attributes = common.to_vec();
    attributes.extend(fault.map(|fault| KeyValue::new(attributes::FAULT, fault.as_str())));
    attributes
}
