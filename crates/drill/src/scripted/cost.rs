//! Computes the session's cost, as the agent reports it. It accumulates over resumed processes, starting from
//! the last `cost-state`. As with the real agent, it lacks the cost of a killed process.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::price::{Nanodollars, price};
use longhaul_core::Tokens;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Usage(BTreeMap<String, Tokens>);

impl Usage {
    fn add(&mut self, model: &str, tokens: Tokens) {
        *self.0.entry(model.to_owned()).or_default() += tokens;
    }

    fn cost(&self) -> Nanodollars {
        self.0.iter().fold(Nanodollars(0), |sum, (model, tokens)| sum + cost(model, tokens))
    }

    fn minus(&self, earlier: &Self) -> Self {
        let mut difference = Self::default();
        for (model, tokens) in &self.0 {
            let tokens = tokens.saturating_sub(earlier.0.get(model).copied().unwrap_or_default());
            if tokens.total() > 0 {
                difference.add(model, tokens);
            }
        }
        difference
    }

    /// Returns the usage in the format of `modelUsage`.
    fn json(&self) -> Value {
        let models = self.0.iter().map(|(model, tokens)| {
            let usage = json!({
                "inputTokens": tokens.input, "outputTokens": tokens.output,
                "cacheReadInputTokens": tokens.cache_read, "cacheCreationInputTokens": tokens.cache_write,
                "costUSD": cost(model, tokens).dollars(),
            });
            (model.clone(), usage)
        });
        Value::Object(models.collect())
    }
}

/// Returns the list price of these tokens. An unknown model costs nothing.
fn cost(model: &str, tokens: &Tokens) -> Nanodollars {
    price(model, tokens).unwrap_or_default()
}

#[derive(Debug, Clone, Default)]
pub(super) struct CostMeter {
    /// Usage of the session so far, including estimates.
    total: Usage,
    /// The estimated part of `total`. It is not written to the session.
    estimated: Usage,
    at_start: Usage,
    at_result: Usage,
}

impl CostMeter {
    /// Creates a meter that continues from a `cost-state` row.
    pub(super) fn from_cost_state(cost_state: Option<&Value>) -> Self {
        let mut total = Usage::default();
        let models = cost_state.and_then(|state| state["modelUsage"].as_object());
        for (model, usage) in models.into_iter().flatten() {
            let count = |field: &str| usage[field].as_u64().unwrap_or(0);
            let tokens = Tokens {
                input: count("inputTokens"),
                cache_write: count("cacheCreationInputTokens"),
                cache_read: count("cacheReadInputTokens"),
                output: count("outputTokens"),
            };
            total.add(model, tokens);
        }
        Self { at_start: total.clone(), at_result: total.clone(), total, ..Self::default() }
    }

    pub(super) fn add(&mut self, model: &str, tokens: Tokens) {
        self.total.add(model, tokens);
    }

    /// Adds the estimated usage of an interrupted message.
    pub(super) fn estimate(&mut self, model: &str, tokens: Tokens) {
        self.add(model, tokens);
        self.estimated.add(model, tokens);
    }

    pub(super) fn dollars(&self) -> f64 {
        self.total.cost().dollars()
    }

    /// Returns the cost of this process, which `--max-budget-usd` limits.
    pub(super) fn process_dollars(&self) -> f64 {
        self.total.minus(&self.at_start).cost().dollars()
    }

    pub(super) fn model_usage(&self) -> Value {
        self.total.json()
    }

    /// Returns the usage since the last result, and marks this point as the last result.
    pub(super) fn since_last_result(&mut self) -> Value {
        let usage = self.total.minus(&self.at_result).json();
        self.at_result = self.total.clone();
        usage
    }

    pub(super) fn cost_state(&self) -> Value {
        let billed = self.total.minus(&self.estimated);
        json!({"totalCostUSD": billed.cost().dollars(), "modelUsage": billed.json()})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resumed_session_continues_from_cost_state_without_estimates() {
        let tokens = Tokens { input: 1000, cache_write: 200, cache_read: 3000, output: 50 };
        let mut meter = CostMeter::default();
        meter.add("claude-opus-5-5", tokens);
        meter.estimate("claude-opus-5-5", tokens);
        assert_eq!(meter.dollars(), 0.0132);
        let mut resumed = CostMeter::from_cost_state(Some(&meter.cost_state()));
        assert_eq!(resumed.dollars(), 0.0066);
        assert_eq!(resumed.process_dollars(), 0.0);
        resumed.add("claude-opus-5-5", tokens);
        assert_eq!((resumed.dollars(), resumed.process_dollars()), (0.0132, 0.0066));
        assert_eq!(resumed.since_last_result()["claude-opus-5-5"]["inputTokens"], 1000);
        assert_eq!(resumed.since_last_result(), json!({}));
    }
}
