//! Whose it was, model by model, that a process used. What was used is decided without this: the parts are made to
//! add up to it, in every field.
//!
//! A message says who wrote it. A result says what each model cost, by the name that it was asked by, which may not be
//! the one that it answers by: the same with a date or a variant, or, behind a gateway, any other (2.1.330).

use super::{UsageInterval, prompt, reconcile, rest};
use crate::prices::is_same_model;
use longhaul_core::{Tokens, Usage, Usd};
use std::cmp::Reverse;
use std::mem;

// An agent asks a handful. A stream that names more than this does not mean them; what they used is one part.
const MODELS_MAX: usize = 64;
// The longest that a cloud makes of region, vendor, model, date and version is below a hundred.
const NAME_BYTES_MAX: usize = 256;

/// The parts of what a process used.
#[derive(Clone, Debug, Default)]
pub(super) struct ModelShares {
    /// What results have settled, by the names that they state. Only the tallies are of use.
    settled: Models,
    /// What came since the last one, by the names in the messages.
    span: Models,
}

/// What a result says of all since the last one.
#[derive(Clone, Debug, Default)]
pub(super) struct ReportedUsage<'a> {
    /// What each model used and cost, as the tokens and the cost of a tally; nothing where only sums are stated.
    pub models: Option<Models>,
    /// Who it was if no message tells.
    pub only: &'a str,
    /// Whether a cost is stated.
    pub has_cost: bool,
    /// Whether the final usage of a message was not known.
    pub guessed: bool,
}

impl ModelShares {
    /// A message is done with.
    pub(super) fn add(&mut self, model: &str, used: UsageInterval) {
        self.span.add(model, used);
    }

    /// A result settles all since the last one, which comes to `total`.
    pub(super) fn settle(&mut self, total: Usage, statement: ReportedUsage<'_>) {
        let span = mem::take(&mut self.span);
        let mut models = match &statement.models {
            Some(reported) => span.stated_as(reported, &self.settled),
            None => span.known_as(&self.settled),
        };
        match &statement.models {
            Some(reported) => models.complete(reported, statement.guessed, total.tokens),
            None => models.split_cost(total.reported_cost),
        }
        // Beside a statement only what was cut is priced, because the agent states less of it than is billed.
        let weight =
            |span: &UsageInterval| if statement.has_cost { span.truncated_output_nano } else { span.nano };
        models.split_estimate(total.estimated_cost, weight);
        models.fit(total, statement.only);
        self.settled.take_in(models);
    }

    /// The parts now, when all since the last result comes to `open`. Where one model alone is named, what nobody is
    /// named for is its, too.
    pub(super) fn by_model(&self, open: Usage) -> Vec<(String, Usage)> {
        let mut span = self.span.clone().known_as(&self.settled);
        span.split_estimate(open.estimated_cost, |span| span.nano);
        span.fit(open, "");
        let mut models = self.settled.clone();
        models.take_in(span);
        models.0.retain(|model| model.span.usage != Usage::default());
        if let [one, other] = models.0.as_mut_slice()
            && (one.name.is_empty() || other.name.is_empty())
        {
            one.span.add(other.span);
            let name = mem::take(&mut other.name);
            one.name.push_str(&name);
            models.0.truncate(1);
        }
        let mut parts: Vec<_> = models.0.into_iter().map(|model| (model.name, model.span.usage)).collect();
        parts.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        parts
    }
}

/// What some models used, each by its name. One without a name stands for all that nobody is named for.
#[derive(Clone, Debug, Default)]
pub(super) struct Models(Vec<Model>);

#[derive(Clone, Debug)]
struct Model {
    name: String,
    span: UsageInterval,
}

impl Models {
    pub(super) fn add(&mut self, name: &str, used: UsageInterval) {
        self.new(name).add(used);
    }

    fn new(&mut self, name: &str) -> &mut UsageInterval {
        let known = |models: &[Model], name: &str| models.iter().position(|model| model.name == name);
        let name = if name.len() > NAME_BYTES_MAX { "" } else { name };
        let name = if known(&self.0, name).is_none() && self.0.len() >= MODELS_MAX { "" } else { name };
        let place = known(&self.0, name).unwrap_or_else(|| {
            self.0.push(Model { name: name.to_owned(), span: UsageInterval::default() });
            self.0.len() - 1
        });
        &mut self.0[place].span
    }

    fn take_in(&mut self, others: Models) {
        others.0.into_iter().for_each(|other| self.add(&other.name, other.span));
    }

    /// The name among these of a model by some name.
    fn name_of(&self, name: &str) -> Option<&str> {
        let exact = self.0.iter().find(|model| model.name == name);
        let same = || self.0.iter().find(|model| is_same_model(&model.name, name));
        exact.or_else(same).map(|model| model.name.as_str())
    }

    /// These under the names that some of them have among others.
    fn known_as(self, others: &Models) -> Models {
        let mut known = Models::default();
        for model in self.0 {
            known.add(others.name_of(&model.name).unwrap_or(&model.name), model.span);
        }
        known
    }

    /// These under the names that a result states, which are all there, and else under the names that they have among
    /// others.
    fn stated_as(self, reported: &Models, others: &Models) -> Models {
        let mut models = Models::default();
        reported.0.iter().for_each(|model| models.add(&model.name, UsageInterval::default()));
        let (found, strange): (Vec<_>, Vec<_>) =
            self.0.into_iter().partition(|model| reported.name_of(&model.name).is_some());
        let is_silent =
            |model: &&Model| found.iter().all(|one| reported.name_of(&one.name) != Some(model.name.as_str()));
        let silent: Vec<&Model> = reported.0.iter().filter(is_silent).collect();
        for Model { name, span } in found {
            models.add(reported.name_of(&name).unwrap_or(&name), span);
        }
        for (model, asked) in whom_was_asked(strange, &silent) {
            let name = asked.or_else(|| others.name_of(&model.name)).unwrap_or(&model.name);
            models.add(name, model.span);
        }
        models
    }

    /// Completes the tokens of each stated model with what is stated of it, as their sum is, and sets its cost. What is
    /// left of the sum is that of the others: a result has counted most of theirs, too, by some other name.
    fn complete(&mut self, reported: &Models, guessed: bool, sum: Tokens) {
        let mut left = sum;
        let mut strange = Vec::new();
        for Model { name, span } in &mut self.0 {
            let usage = &mut span.usage;
            match reported.0.iter().find(|model| model.name == *name).map(|model| model.span.usage) {
                Some(reported) => {
                    usage.tokens = reconcile(usage.tokens, usage.truncated_tokens, reported.tokens, guessed);
                    usage.reported_cost = reported.reported_cost;
                    left = rest(left, usage.tokens);
                }
                None => strange.push(usage),
            }
        }
        for usage in strange {
            let own = usage.tokens;
            usage.tokens = rest(own, rest(own, left));
            left = rest(left, own);
        }
    }

    /// Splits a cost in proportion to the prices of our table, or to the output where it has none of the models.
    fn split_cost(&mut self, cost: Usd) {
        let is_priced = self.0.iter().any(|model| model.span.nano > 0);
        let parts = self.parts_of(cost.0, |span| {
            let usage = &span.usage;
            if is_priced {
                span.nano
            } else {
                usage.tokens.output.saturating_add(usage.truncated_tokens.output)
            }
        });
        self.0.iter_mut().zip(parts).for_each(|(model, part)| model.span.usage.reported_cost = Usd(part));
    }

    fn split_estimate(&mut self, cost: Usd, weight: impl Fn(&UsageInterval) -> u64) {
        let parts = self.parts_of(cost.0, weight);
        self.0.iter_mut().zip(parts).for_each(|(model, part)| model.span.usage.estimated_cost = Usd(part));
    }

    fn parts_of(&self, sum: u64, weight: impl Fn(&UsageInterval) -> u64) -> Vec<u64> {
        split(sum, &self.0.iter().map(|model| weight(&model.span)).collect::<Vec<_>>())
    }

    /// Makes these add up to a total. What is missing of it goes to the largest of them: it is what rounding left, and
    /// what requests used that the stream does not show and no result names a model for, which the one that does most
    /// of the work will have made. What is too much, since two names were taken for two models that are one, is taken
    /// from the largest. Where there is none at all, it is all of the `only` one.
    fn fit(&mut self, total: Usage, only: &str) {
        if self.0.is_empty() && total != Usage::default() {
            self.add(only, UsageInterval::default());
        }
        let mut table: Vec<[u64; SUMS]> = self.0.iter().map(|model| sums(model.span.usage)).collect();
        // Of two that are as large in one field, the larger on the whole counts.
        let sizes: Vec<u128> =
            table.iter().map(|row| row.iter().map(|value| u128::from(*value)).sum()).collect();
        for (field, wanted) in sums(total).into_iter().enumerate() {
            let mut column: Vec<u64> = table.iter().map(|row| row[field]).collect();
            fit_to(&mut column, &sizes, wanted);
            table.iter_mut().zip(column).for_each(|(row, value)| row[field] = value);
        }
        for (model, row) in self.0.iter_mut().zip(table) {
            model.span.usage = of_sums(row, model.span.usage.unpriced && total.unpriced);
        }
    }
}

/// Under which of some stated names, by which nobody answered, each of some models was asked that nobody states: the
/// name that states just what the model's messages tell, or else the only one that states as long prompts.
fn whom_was_asked<'a>(mut strange: Vec<Model>, silent: &[&'a Model]) -> Vec<(Model, Option<&'a str>)> {
    let tokens = |model: &Model| model.span.usage.tokens;
    let mut left: Vec<(&str, Tokens)> = silent.iter().map(|one| (one.name.as_str(), tokens(one))).collect();
    // The longest first: fewest names can be theirs, and what they take is no other's.
    strange.sort_by_key(|model| Reverse(prompt(tokens(model))));
    let asked = |model: Model| {
        let own = tokens(&model);
        let mut able = (0..left.len()).filter(|place| prompt(left[*place].1) >= prompt(own));
        let only = able.next().filter(|_| able.next().is_none());
        let place = left.iter().position(|(_, reported)| *reported == own).or(only);
        let name = place.map(|place| {
            left[place].1 = rest(left[place].1, own);
            left[place].0
        });
        (model, name)
    };
    strange.into_iter().map(asked).collect()
}

/// Splits a sum in proportion to weights, without a rest; into nothing if all weights are.
fn split(sum: u64, weights: &[u64]) -> Vec<u64> {
    // More is no price and no count; it keeps the product below within its type.
    const WEIGHT_MAX: u64 = u64::MAX / (2 * MODELS_MAX as u64);
    let weights = weights.iter().map(|weight| u128::from(*weight.min(&WEIGHT_MAX)));
    let whole: u128 = weights.clone().sum();
    let (mut before, mut given) = (0, 0);
    let part = |weight| {
        before += weight;
        let so_far = (u128::from(sum) * before / whole.max(1)) as u64;
        so_far - mem::replace(&mut given, so_far)
    };
    weights.map(part).collect()
}

/// Makes values add up to a sum, by changing the largest; of equal ones that of the largest size.
fn fit_to(values: &mut [u64], sizes: &[u128], wanted: u64) {
    let sum: u128 = values.iter().map(|value| u128::from(*value)).sum();
    let mut excess = sum.saturating_sub(u128::from(wanted));
    let mut missing = u128::from(wanted).saturating_sub(sum);
    while excess > 0 || missing > 0 {
        let largest = values.iter_mut().zip(sizes).max_by_key(|(value, size)| (**value, **size));
        let Some((largest, _)) = largest else { return };
        let taken = excess.min(u128::from(*largest));
        // Both fit: the one is at most the largest itself, the other at most what is wanted.
        *largest = *largest - taken as u64 + missing as u64;
        excess -= taken;
        missing = 0;
    }
}

const SUMS: usize = 13;

/// The sums of a tally, one by one. It is taken apart whole, so that a new one is not forgotten here.
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
    let of = |Tokens { input, output, cache_read, cache_write }| [input, output, cache_read, cache_write];
    let [a, b, c, d] = of(tokens);
    let [e, f, g, h] = of(truncated_tokens);
    [a, b, c, d, e, f, g, h, messages.into(), truncated_messages.into(), turns.into(), cost, estimated_cost]
}

fn of_sums(sums: [u64; SUMS], unpriced: bool) -> Usage {
    let [a, b, c, d, e, f, g, h, messages, truncated_messages, turns, cost, estimated_cost] = sums;
    let of = |[input, output, cache_read, cache_write]: [u64; 4]| Tokens {
        input,
        output,
        cache_read,
        cache_write,
    };
    let count = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    Usage {
        tokens: of([a, b, c, d]),
        truncated_tokens: of([e, f, g, h]),
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
