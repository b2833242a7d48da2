//! The room that is left in a seed, and the parts that are put into it.

use super::tokens::{WEIGHT_PER_TOKEN, weight};

/// What is left of a bound.
#[derive(Clone, Copy, Debug)]
pub(super) struct TokenBudget {
    weight: u64,
}

/// A part of the text, with its title; empty if nothing fitted.
#[derive(Debug, Default)]
pub(super) struct HandoffPart {
    pub(super) text: String,
    /// How many of the items were taken, the last ones.
    pub(super) items_taken: usize,
}

impl TokenBudget {
    /// All of it.
    pub(super) fn of_tokens(tokens: u64) -> TokenBudget {
        TokenBudget { weight: tokens.saturating_mul(WEIGHT_PER_TOKEN) }
    }

    /// What is left beside a text; nothing if the text does not fit.
    pub(super) fn beside(self, text: &str) -> Option<TokenBudget> {
        self.weight.checked_sub(weight(text)).map(|weight| TokenBudget { weight })
    }

    /// A fraction of it.
    pub(super) fn share(self, numerator: u64, denominator: u64) -> u64 {
        self.weight / denominator * numerator
    }

    /// Makes a part of items, which stand oldest first. If they do not all fit, the last ones do: each
    /// as it is, none beyond the first that does not fit. How many are missing is said after `older`.
    pub(super) fn part(
        &mut self,
        title: &str,
        older: &str,
        items: impl DoubleEndedIterator<Item = String> + ExactSizeIterator,
        weight_max: u64,
    ) -> HandoffPart {
        let count = items.len();
        let title = format!("\n## {title}\n\n");
        let reserved = weight(&title) + weight(&note(older, count));
        let Some(mut left) = weight_max.min(self.weight).checked_sub(reserved) else {
            return HandoffPart::default();
        };
        let mut taken = Vec::new();
        for item in items.rev() {
            let Some(after) = left.checked_sub(weight(&item)) else { break };
            left = after;
            taken.push(item);
        }
        if taken.is_empty() {
            return HandoffPart::default();
        }
        let items_taken = taken.len();
        taken.reverse();
        let note = if items_taken < count { note(older, count - items_taken) } else { String::new() };
        let text = format!("{title}{note}{}\n", taken.concat().trim_end());
        self.weight = self.weight.saturating_sub(weight(&text));
        HandoffPart { text, items_taken }
    }

    /// Makes a part of the first of these items. The part does not say how many are missing: later parts hold them.
    pub(super) fn first_part(
        &mut self,
        title: &str,
        items: impl Iterator<Item = String>,
        weight_max: u64,
    ) -> HandoffPart {
        let title = format!("\n## {title}\n\n");
        let Some(mut left) = weight_max.min(self.weight).checked_sub(weight(&title)) else {
            return HandoffPart::default();
        };
        let fits = |item: &String| {
            let after = left.checked_sub(weight(item));
            left = after.unwrap_or(left);
            after.is_some()
        };
        let taken: Vec<String> = items.take_while(fits).collect();
        if taken.is_empty() {
            return HandoffPart::default();
        }
        let text = format!("{title}{}\n", taken.concat().trim_end());
        self.weight = self.weight.saturating_sub(weight(&text));
        HandoffPart { text, items_taken: taken.len() }
    }
}

fn note(older: &str, count: usize) -> String {
    format!("({older}: {count}.)\n\n")
}
