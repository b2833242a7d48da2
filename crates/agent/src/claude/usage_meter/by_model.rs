//! Attributes the usage of a process to models. Does not change the total: the parts are made to add up to it
//! in every field.
//!
//! A message states its model. A result states the cost of each model by the requested name. That name may
//! differ from the one in the message by a date or a variant, or, behind a gateway, completely (2.1.330).

use super::{UsageInterval, prompt_tokens, reconcile};
use crate::prices::is_same_model;
use longhaul_core::{Tokens, Usage, Usd};
use std::cmp::Reverse;
use std::mem;

// An agent uses a handful of models. More names than this are not plausible, and their usage is merged.
const MODELS_MAX: usize = 64;
// The longest combination of region, vendor, model, date and version is below a hundred.
const NAME_BYTES_MAX: usize = 256;

#[derive(Clone, Debug, Default)]
pub(super) struct ModelShares {
    /// Usage that results have reported, by the reported names. Only its `usage` is used.
    committed: Models,
    /// Usage since the last result, by the names in the messages.
    interval: Models,
}

#[derive(Clone, Debug, Default)]
pub(super) struct ReportedUsage<'a> {
    /// Tokens and cost of each model. `None` if only sums are reported.
    pub models: Option<Models>,
    /// The model to attribute usage to if there are no messages.
    pub only: &'a str,
    /// Whether a cost is reported.
    pub has_cost: bool,
    /// Whether the final usage of a message is unknown.
    pub guessed: bool,
}

impl ModelShares {
    pub(super) fn add(&mut self, model: &str, interval: UsageInterval) {
        self.interval.add(model, interval);
    }

    /// Records a result. The usage since the previous one is `total`.
    pub(super) fn on_result(&mut self, total: Usage, report: ReportedUsage<'_>) {
        let interval = mem::take(&mut self.interval);
        let mut models = match &report.models {
            Some(reported) => interval.rename_to_reported(reported, &self.committed),
            None => interval.rename_to_match(&self.committed),
        };
        match &report.models {
            Some(reported) => models.complete(reported, report.guessed, total.tokens),
            None => models.split_cost(total.reported_cost),
        }
        // Next to a reported cost, only truncated messages are priced, because the agent reports less of them than
        // is billed.
        let weight = |interval: &UsageInterval| {
            let truncated = interval.truncated_input_nano + interval.truncated_output_nano;
            if report.has_cost { truncated } else { interval.nano }
        };
        models.split_estimate(total.estimated_cost, weight);
        if report.has_cost {
            for model in &mut models.0 {
                model.interval.usage.unpriced = model.interval.truncated_unpriced;
            }
        }
        models.fit_to_total(total, report.only);
        self.committed.merge(models);
    }

    /// Returns the usage by model, with `open` as the usage since the last result. If only one model is
    /// named, it also gets the usage without a model.
    pub(super) fn by_model(&self, open: Usage) -> Vec<(String, Usage)> {
        let mut interval = self.interval.clone().rename_to_match(&self.committed);
        interval.split_estimate(open.estimated_cost, |interval| interval.nano);
        interval.fit_to_total(open, "");
        let mut models = self.committed.clone();
        models.merge(interval);
        models.0.retain(|model| model.interval.usage != Usage::default());
        if let [one, other] = models.0.as_mut_slice()
            && (one.name.is_empty() || other.name.is_empty())
        {
            one.interval.add(other.interval);
            let name = mem::take(&mut other.name);
            one.name.push_str(&name);
            models.0.truncate(1);
        }
        let mut parts: Vec<_> =
            models.0.into_iter().map(|model| (model.name, model.interval.usage)).collect();
        parts.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        parts
    }
}

/// Usage by model name. An empty name collects usage without a model.
#[derive(Clone, Debug, Default)]
pub(super) struct Models(Vec<Model>);

#[derive(Clone, Debug)]
struct Model {
    name: String,
    interval: UsageInterval,
}

impl Models {
    pub(super) fn add(&mut self, name: &str, interval: UsageInterval) {
        let position = |models: &[Model], name: &str| models.iter().position(|model| model.name == name);
        let name = if name.len() > NAME_BYTES_MAX { "" } else { name };
        let name = if position(&self.0, name).is_none() && self.0.len() >= MODELS_MAX { "" } else { name };
        let index = position(&self.0, name).unwrap_or_else(|| {
            self.0.push(Model { name: name.to_owned(), interval: UsageInterval::default() });
            self.0.len() - 1
        });
        self.0[index].interval.add(interval);
    }

    fn merge(&mut self, others: Models) {
        others.0.into_iter().for_each(|other| self.add(&other.name, other.interval));
    }

    /// Returns the name in this list of a model with a similar name.
    fn find_name(&self, name: &str) -> Option<&str> {
        let exact = self.0.iter().find(|model| model.name == name);
        let same = || self.0.iter().find(|model| is_same_model(&model.name, name));
        exact.or_else(same).map(|model| model.name.as_str())
    }

    fn rename_to_match(self, others: &Models) -> Models {
        let mut renamed = Models::default();
        for model in self.0 {
            renamed.add(others.find_name(&model.name).unwrap_or(&model.name), model.interval);
        }
        renamed
    }

    /// Renames models to the reported names, all of which are included, or else to their names in another
    /// list.
    fn rename_to_reported(self, reported: &Models, others: &Models) -> Models {
        let mut models = Models::default();
        reported.0.iter().for_each(|model| models.add(&model.name, UsageInterval::default()));
        let (matched, unmatched): (Vec<_>, Vec<_>) =
            self.0.into_iter().partition(|model| reported.find_name(&model.name).is_some());
        let is_unclaimed = |model: &&Model| {
            matched.iter().all(|one| reported.find_name(&one.name) != Some(model.name.as_str()))
        };
        let unclaimed: Vec<&Model> = reported.0.iter().filter(is_unclaimed).collect();
        for Model { name, interval } in matched {
            models.add(reported.find_name(&name).unwrap_or(&name), interval);
        }
        for (model, requested) in match_requested_names(unmatched, &unclaimed) {
            let name = requested.or_else(|| others.find_name(&model.name)).unwrap_or(&model.name);
            models.add(name, model.interval);
        }
        models
    }

    /// Combines the tokens of each reported model with the report and sets its cost. The remainder of the sum
    /// belongs to the other models, because the result includes most of their usage under other names.
    fn complete(&mut self, reported: &Models, guessed: bool, sum: Tokens) {
        let mut remaining = sum;
        let mut unmatched = Vec::new();
        for Model { name, interval } in &mut self.0 {
            let usage = &mut interval.usage;
            match reported.0.iter().find(|model| model.name == *name).map(|model| model.interval.usage) {
                Some(reported) => {
                    usage.tokens = reconcile(usage.tokens, usage.truncated_tokens, reported.tokens, guessed);
                    usage.reported_cost = reported.reported_cost;
                    remaining = remaining.saturating_sub(usage.tokens);
                }
                None => unmatched.push(usage),
            }
        }
        for usage in unmatched {
            let counted = usage.tokens;
            usage.tokens = counted.saturating_sub(counted.saturating_sub(remaining));
            remaining = remaining.saturating_sub(counted);
        }
    }

    /// Splits a cost in proportion to our prices, or to the output if no model is priced.
    fn split_cost(&mut self, cost: Usd) {
        let is_priced = self.0.iter().any(|model| model.interval.nano > 0);
        let weight = |UsageInterval { usage, nano, .. }: &UsageInterval| {
            if is_priced { *nano } else { usage.tokens.output.saturating_add(usage.truncated_tokens.output) }
        };
        self.split_by(cost, weight, |usage| &mut usage.reported_cost);
    }

    fn split_estimate(&mut self, cost: Usd, weight: impl Fn(&UsageInterval) -> u64) {
        self.split_by(cost, weight, |usage| &mut usage.estimated_cost);
    }

    fn split_by(
        &mut self,
        cost: Usd,
        weight: impl Fn(&UsageInterval) -> u64,
        part: impl Fn(&mut Usage) -> &mut Usd,
    ) {
        let weights: Vec<u64> = self.0.iter().map(|model| weight(&model.interval)).collect();
        for (model, share) in self.0.iter_mut().zip(split(cost.0, &weights)) {
            *part(&mut model.interval.usage) = Usd(share);
        }
    }

    /// Makes the parts add up to a total. A missing amount is added to the largest part: it stems from
    /// rounding, or from requests without a visible model, most likely made by the busiest one. An excess,
    /// from two names of one model, is subtracted from the largest part. Without any parts, `only` gets the
    /// total.
    fn fit_to_total(&mut self, total: Usage, only: &str) {
        if self.0.is_empty() && total != Usage::default() {
            self.add(only, UsageInterval::default());
        }
        let mut table: Vec<[u64; SUMS]> = self.0.iter().map(|model| sums(model.interval.usage)).collect();
        // Of two equally large values in a field, the part that is larger overall counts.
        let sizes: Vec<u128> =
            table.iter().map(|row| row.iter().map(|value| u128::from(*value)).sum()).collect();
        for (field, target) in sums(total).into_iter().enumerate() {
            let mut column: Vec<u64> = table.iter().map(|row| row[field]).collect();
            fit_to(&mut column, &sizes, target);
            table.iter_mut().zip(column).for_each(|(row, value)| row[field] = value);
        }
        for (model, row) in self.0.iter_mut().zip(table) {
            model.interval.usage = from_sums(row, model.interval.usage.unpriced && total.unpriced);
        }
    }
}

/// Matches models that no report names to reported names without messages. The name must report exactly the
/// model's tokens, or be the only one with at least as long prompts.
fn match_requested_names<'a>(
    mut unmatched: Vec<Model>,
    unclaimed: &[&'a Model],
) -> Vec<(Model, Option<&'a str>)> {
    let tokens = |model: &Model| model.interval.usage.tokens;
    let mut remaining: Vec<(&str, Tokens)> =
        unclaimed.iter().map(|one| (one.name.as_str(), tokens(one))).collect();
    // The longest prompts first, because the fewest names fit them.
    unmatched.sort_by_key(|model| Reverse(prompt_tokens(tokens(model))));
    let requested = |model: Model| {
        let counted = tokens(&model);
        let mut candidates =
            (0..remaining.len()).filter(|index| prompt_tokens(remaining[*index].1) >= prompt_tokens(counted));
        let only = candidates.next().filter(|_| candidates.next().is_none());
        let index = remaining.iter().position(|(_, reported)| *reported == counted).or(only);
        let name = index.map(|index| {
            remaining[index].1 = remaining[index].1.saturating_sub(counted);
            remaining[index].0
        });
        (model, name)
    };
    unmatched.into_iter().map(requested).collect()
}

/// Splits a sum in proportion to weights, without a remainder. All parts are zero if all weights are.
fn split(sum: u64, weights: &[u64]) -> Vec<u64> {
    // A larger weight is not a plausible price or count; the limit keeps the product below within its type.
    const WEIGHT_MAX: u64 = u64::MAX / (2 * MODELS_MAX as u64);
    let weights = weights.iter().map(|weight| u128::from(*weight.min(&WEIGHT_MAX)));
    let whole: u128 = weights.clone().sum();
    let (mut weight_before, mut assigned) = (0, 0);
    let part = |weight| {
        weight_before += weight;
        let so_far = (u128::from(sum) * weight_before / whole.max(1)) as u64;
        so_far - mem::replace(&mut assigned, so_far)
    };
    weights.map(part).collect()
}

/// Makes values add up to a target by changing the largest; of equal ones, that of the largest size.
fn fit_to(values: &mut [u64], sizes: &[u128], target: u64) {
    let sum: u128 = values.iter().map(|value| u128::from(*value)).sum();
    let mut excess = sum.saturating_sub(u128::from(target));
    let mut missing = u128::from(target).saturating_sub(sum);
    while excess > 0 || missing > 0 {
        let largest = values.iter_mut().zip(sizes).max_by_key(|(value, size)| (**value, **size));
        let Some((largest, _)) = largest else { return };
        let reduction = excess.min(u128::from(*largest));
        // Neither overflows: one is at most the largest value, the other at most the target.
        *largest = *largest - reduction as u64 + missing as u64;
        excess -= reduction;
        missing = 0;
    }
}

const SUMS: usize = 13;

/// Lists the numbers of a usage. It is destructured in full, so that a new field is not forgotten.
fn sums(usage: Usage) -> [u64; SUMS] {
    let Usage {
        tokens,
        truncated_tokens,
        messages,
        truncated_messages,
        turns,
        reported_cost: Usd(cost),
        estimated_cost: Usd(estimated_cost),
        unpriced: _,
    } = usage;
    let list = |Tokens { input, output, cache_read, cache_write }| [input, output, cache_read, cache_write];
    let [a, b, c, d] = list(tokens);
    let [e, f, g, h] = list(truncated_tokens);
    [a, b, c, d, e, f, g, h, messages.into(), truncated_messages.into(), turns.into(), cost, estimated_cost]
}

fn from_sums(sums: [u64; SUMS], unpriced: bool) -> Usage {
    let [a, b, c, d, e, f, g, h, messages, truncated_messages, turns, cost, estimated_cost] = sums;
    let tokens_from = |[input, output, cache_read, cache_write]: [u64; 4]| Tokens {
        input,
        output,
        cache_read,
        cache_write,
    };
    let count = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    Usage {
        tokens: tokens_from([a, b, c, d]),
        truncated_tokens: tokens_from([e, f, g, h]),
        messages: count(messages),
        truncated_messages: count(truncated_messages),
        turns: count(turns),
        reported_cost: Usd(cost),
        estimated_cost: Usd(estimated_cost),
        unpriced,
    }
}

#[cfg(test)]
mod tests;
