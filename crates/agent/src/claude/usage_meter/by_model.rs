//! Sums up usage by model, and attributes a result to models.
//!
//! A message states its model. A result states the cost of each model by the requested name. That name may
//! differ from the one in the message by a date or a variant, or, behind a gateway, completely (2.1.330).
//! Attribution does not change the total of a result: the parts add up to it.

use super::{UsageInterval, reconcile};
use crate::prices::{is_same_model, prompt_tokens, usd_from_nano};
use longhaul_core::{Tokens, Usage, Usd};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::mem;

// An agent uses a handful of models. More names than this are not plausible, and their usage is merged.
const MODELS_MAX: usize = 64;
// The longest combination of region, vendor, model, date and version is below a hundred.
const NAME_BYTES_MAX: usize = 256;

/// Usage by model name. An empty name collects usage without a model.
#[derive(Clone, Debug, Default)]
pub(super) struct Models(BTreeMap<String, UsageInterval>);

#[derive(Clone, Debug)]
pub(super) struct ReportedUsage<'a> {
    /// Usage since the previous result.
    pub total: Usage,
    /// Tokens and cost of each model. `None` if only sums are reported.
    pub models: Option<Models>,
    /// The model to attribute usage to if there are no messages.
    pub only: &'a str,
    /// Whether a cost is reported.
    pub has_cost: bool,
}

impl Models {
    pub(super) fn add(&mut self, name: &str, interval: UsageInterval) {
        let is_too_many = self.0.len() >= MODELS_MAX && !self.0.contains_key(name);
        let name = if is_too_many || name.len() > NAME_BYTES_MAX { "" } else { name };
        self.0.entry(name.to_owned()).or_default().add(interval);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn merge(&mut self, others: Models) {
        others.0.into_iter().for_each(|(name, interval)| self.add(&name, interval));
    }

    pub(super) fn total(&self) -> UsageInterval {
        let mut total = UsageInterval::default();
        self.0.values().for_each(|interval| total.add(*interval));
        total
    }

    /// Returns the usage of each model, sorted by name, with `open` as the usage since the last result. If only one
    /// model is named, it also gets the usage without a model.
    pub(super) fn parts_with(&self, open: Models) -> Vec<(String, Usage)> {
        let mut open = open.rename_to_match(self);
        let cost = usd_from_nano(open.total().nano);
        open.split_by(cost, |interval| interval.nano, |usage| &mut usage.estimated_cost);
        let mut models = self.clone();
        models.merge(open);
        models.0.retain(|_, interval| interval.usage != Usage::default());
        if models.0.len() == 2
            && let Some(unnamed) = models.0.remove("")
        {
            models.0.values_mut().for_each(|named| named.add(unnamed));
        }
        models.0.into_iter().map(|(name, interval)| (name, interval.usage)).collect()
    }

    /// Attributes a result, which covers the usage of these models, by the reported names. Models that it does not
    /// name get their names in `committed`.
    pub(super) fn attribute(self, report: &ReportedUsage<'_>, committed: &Models) -> Models {
        let guessed = self.total().guessed;
        let mut models = match &report.models {
            Some(reported) => self.rename_to_reported(reported, committed),
            None => self.rename_to_match(committed),
        };
        if models.0.is_empty() && report.total != Usage::default() {
            models.add(report.only, UsageInterval::default());
        }
        let reported = |name: &str| report.models.as_ref()?.0.get(name).map(|interval| interval.usage);
        for (name, UsageInterval { usage, truncated_unpriced, .. }) in &mut models.0 {
            if let Some(reported) = reported(name) {
                usage.tokens = reconcile(usage.tokens, usage.truncated_tokens, reported.tokens, guessed);
                usage.reported_cost = reported.reported_cost;
            }
            if report.has_cost {
                usage.unpriced = *truncated_unpriced && report.total.unpriced;
            }
        }
        models.fit_tokens(report.total.tokens, |name| reported(name).is_some());
        models.split_reported_cost(report);
        // Next to a reported cost, only truncated messages are priced, because the agent reports less of them than
        // is billed.
        let weight = |interval: &UsageInterval| {
            let truncated = interval.truncated_input_nano.saturating_add(interval.truncated_output_nano);
            if report.has_cost { truncated } else { interval.nano }
        };
        models.split_by(report.total.estimated_cost, weight, |usage| &mut usage.estimated_cost);
        models
    }

    /// Returns the name in this list of a model with a similar name.
    fn find_name(&self, name: &str) -> Option<&str> {
        let exact = self.0.get_key_value(name).map(|(name, _)| name);
        let same = || self.0.keys().find(|existing| is_same_model(existing, name));
        exact.or_else(same).map(String::as_str)
    }

    fn rename_to_match(self, others: &Models) -> Models {
        let mut renamed = Models::default();
        for (name, interval) in self.0 {
            renamed.add(others.find_name(&name).unwrap_or(&name), interval);
        }
        renamed
    }

    /// Renames models to the reported names, all of which are included, or else to their names in another
    /// list.
    fn rename_to_reported(self, reported: &Models, others: &Models) -> Models {
        let mut models = Models::default();
        reported.0.keys().for_each(|name| models.add(name, UsageInterval::default()));
        let (mut unclaimed, mut unmatched) = (reported.clone(), Vec::new());
        for (name, interval) in self.0 {
            match reported.find_name(&name) {
                Some(reported) => {
                    unclaimed.0.remove(reported);
                    models.add(reported, interval);
                }
                None => unmatched.push((name, interval)),
            }
        }
        for (name, interval, requested) in match_requested_names(unmatched, &unclaimed) {
            models.add(requested.or_else(|| others.find_name(&name)).unwrap_or(&name), interval);
        }
        models
    }

    /// Makes the tokens add up to a sum. An excess stems from two names of one model. It is subtracted first from
    /// models without a reported usage, because the reported one includes most of theirs, then from the busiest. A
    /// missing amount stems from requests without a visible model, most likely made by the busiest one.
    fn fit_tokens(&mut self, sum: Tokens, is_reported: impl Fn(&str) -> bool) {
        let counted = self.total().usage.tokens;
        let (mut excess, missing) = (counted.saturating_sub(sum), sum.saturating_sub(counted));
        let mut models: Vec<(bool, &mut Usage)> =
            self.0.iter_mut().map(|(name, interval)| (is_reported(name), &mut interval.usage)).collect();
        models.sort_by_key(|(is_reported, usage)| (*is_reported, Reverse(size(usage))));
        for (_, usage) in models {
            let counted = usage.tokens;
            usage.tokens = counted.saturating_sub(excess);
            excess = excess.saturating_sub(counted);
        }
        if let Some(busiest) = self.busiest() {
            busiest.tokens += missing;
        }
    }

    /// Splits the reported cost as reported. Without costs by model, splits it in proportion to our prices, or to
    /// the output if no model is priced.
    fn split_reported_cost(&mut self, report: &ReportedUsage<'_>) {
        let is_priced = self.0.values().any(|interval| interval.nano > 0);
        let weight = |UsageInterval { usage, nano, .. }: &UsageInterval| {
            if report.models.is_some() {
                usage.reported_cost.0
            } else if is_priced {
                *nano
            } else {
                usage.tokens.output.saturating_add(usage.truncated_tokens.output)
            }
        };
        self.split_by(report.total.reported_cost, weight, |usage| &mut usage.reported_cost);
    }

    /// Splits a cost in proportion to weights. If all are zero, the busiest model gets it.
    fn split_by(
        &mut self,
        cost: Usd,
        weight: impl Fn(&UsageInterval) -> u64,
        part: impl Fn(&mut Usage) -> &mut Usd,
    ) {
        let weights: Vec<u64> = self.0.values().map(weight).collect();
        let shares = split(cost.0, &weights);
        let rest = cost.saturating_sub(shares.iter().copied().map(Usd).sum());
        for (interval, share) in self.0.values_mut().zip(shares) {
            *part(&mut interval.usage) = Usd(share);
        }
        if let Some(busiest) = self.busiest() {
            *part(busiest) += rest;
        }
    }

    fn busiest(&mut self) -> Option<&mut Usage> {
        self.0.values_mut().map(|interval| &mut interval.usage).max_by_key(|usage| size(usage))
    }
}

/// Returns the order of models by tokens, first those of complete messages.
fn size(usage: &Usage) -> (u64, u64) {
    (usage.tokens.total(), usage.truncated_tokens.total())
}

/// Matches models that no report names to reported names without messages. The name must report exactly the
/// model's tokens, or be the only one with at least as long prompts.
fn match_requested_names(
    mut unmatched: Vec<(String, UsageInterval)>,
    unclaimed: &Models,
) -> Vec<(String, UsageInterval, Option<&str>)> {
    let mut remaining: Vec<(&str, Tokens)> =
        unclaimed.0.iter().map(|(name, interval)| (name.as_str(), interval.usage.tokens)).collect();
    // The longest prompts first, because the fewest names fit them.
    unmatched.sort_by_key(|(_, interval)| Reverse(prompt_tokens(interval.usage.tokens)));
    let requested = |(name, interval): (String, UsageInterval)| {
        let counted = interval.usage.tokens;
        let mut candidates =
            (0..remaining.len()).filter(|index| prompt_tokens(remaining[*index].1) >= prompt_tokens(counted));
        let only = candidates.next().filter(|_| candidates.next().is_none());
        let index = remaining.iter().position(|(_, reported)| *reported == counted).or(only);
        let requested = index.map(|index| {
            remaining[index].1 = remaining[index].1.saturating_sub(counted);
            remaining[index].0
        });
        (name, interval, requested)
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

#[cfg(test)]
mod tests;
