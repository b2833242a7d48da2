//! Metrics of runs: those of the semantic conventions for model calls, and Longhaul's own.

use crate::attributes::{self, attribute, metrics};
use crate::conversation::TurnSpan;
use longhaul_core::{Fault, Outcome, Span, Usage};
use opentelemetry::KeyValue;
use opentelemetry::metrics::{Counter, Histogram, Meter};

// Of tokens, in powers of four, and of the seconds of a turn, in powers of two: as in the conventions.
const BOUNDS: i32 = 14;

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
                .with_boundaries((0..BOUNDS).map(|power| 4_f64.powi(power)).collect())
                .build(),
            duration: meter
                .f64_histogram(metrics::DURATION)
                .with_unit("s")
                .with_description("Duration of a turn of the agent's model")
                .with_boundaries((0..BOUNDS).map(|power| 0.01 * 2_f64.powi(power)).collect())
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
        let operation = KeyValue::new(attributes::OPERATION, "chat");
        let attributes = with(common, [operation, KeyValue::new(attributes::RESPONSE_MODEL, model)]);
        self.duration.record(seconds(turn.ended_at.since(turn.started_at)), &attributes);
        let Some(usage) = turn.usage else { return };
        let input = [usage.cache_read_input_tokens, usage.cache_creation_input_tokens]
            .into_iter()
            .fold(usage.input_tokens, u64::saturating_add);
        for (kind, tokens) in [("input", input), ("output", usage.output_tokens)] {
            self.tokens.record(tokens, &with(&attributes, [KeyValue::new(attributes::TOKEN_TYPE, kind)]));
        }
    }

    pub(crate) fn attempt(&self, fault: Option<Fault>, usage: &Usage, common: &[KeyValue]) {
        self.attempts.add(1, &with(common, attribute(attributes::FAULT, fault.map(Fault::as_str))));
        self.usage(usage, common);
    }

    /// Records the cost of an attempt or of a summary.
    pub(crate) fn usage(&self, usage: &Usage, common: &[KeyValue]) {
        for (kind, cost) in [("reported", usage.reported_cost), ("estimated", usage.estimated_cost)] {
            if cost.0 > 0 {
                let kind = KeyValue::new(attributes::COST_KIND, kind);
                self.cost.add(cost.as_dollars(), &with(common, [kind]));
            }
        }
    }

    pub(crate) fn wait(&self, fault: Option<Fault>, span: Span, common: &[KeyValue]) {
        self.waiting
            .add(seconds(span), &with(common, attribute(attributes::FAULT, fault.map(Fault::as_str))));
    }

    pub(crate) fn run(&self, outcome: &Outcome, common: &[KeyValue]) {
        let kind = KeyValue::new(attributes::OUTCOME, outcome.kind.as_str());
        let fault = attribute(attributes::FAULT, outcome.fault.map(Fault::as_str));
        self.runs.add(1, &with(common, fault.into_iter().chain([kind])));
    }
}

fn seconds(span: Span) -> f64 {
    span.to_std().as_secs_f64()
}

fn with(common: &[KeyValue], added: impl IntoIterator<Item = KeyValue>) -> Vec<KeyValue> {
    common.iter().cloned().chain(added).collect()
}
