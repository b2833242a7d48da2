//! The remaining budget of a handoff prompt, and the parts that fit into it.

use super::tokens::{WEIGHT_PER_TOKEN, weight};

/// The remaining budget.
#[derive(Clone, Copy, Debug)]
pub(super) struct TokenBudget {
    weight: u64,
}

/// A part of the text with its title, or empty if nothing fits.
#[derive(Debug, Default)]
pub(super) struct HandoffPart {
    pub(super) text: String,
    /// Number of items included.
    pub(super) items_taken: usize,
}

impl TokenBudget {
    /// Creates a budget of this many tokens.
    pub(super) fn from_tokens(tokens: u64) -> TokenBudget {
        TokenBudget { weight: tokens.saturating_mul(WEIGHT_PER_TOKEN) }
    }

    /// Returns the budget that remains after a text, or `None` if the text does not fit.
    pub(super) fn minus(self, text: &str) -> Option<TokenBudget> {
        self.weight.checked_sub(weight(text)).map(|weight| TokenBudget { weight })
    }

    /// Returns a fraction of the budget.
    pub(super) fn share(self, numerator: u64, denominator: u64) -> u64 {
        self.weight / denominator * numerator
    }

    /// Makes a part of items, which are in order from oldest to newest. If they do not all fit, it takes the
    /// last ones, up to the first that does not fit. The number of missing items is noted after
    /// `dropped_label`.
    pub(super) fn part(
        &mut self,
        title: &str,
        dropped_label: &str,
        items: impl DoubleEndedIterator<Item = String> + ExactSizeIterator,
        weight_max: u64,
    ) -> HandoffPart {
        let count = items.len();
        let title = format!("\n## {title}\n\n");
        let reserved = weight(&title) + weight(&note(dropped_label, count));
        let Some(mut remaining) = weight_max.min(self.weight).checked_sub(reserved) else {
            return HandoffPart::default();
        };
        let mut taken = Vec::new();
        for item in items.rev() {
            let Some(after) = remaining.checked_sub(weight(&item)) else { break };
            remaining = after;
            taken.push(item);
        }
        if taken.is_empty() {
            return HandoffPart::default();
        }
        let items_taken = taken.len();
        taken.reverse();
        let note = if items_taken < count { note(dropped_label, count - items_taken) } else { String::new() };
        let text = format!("{title}{note}{}\n", taken.concat().trim_end());
        self.weight = self.weight.saturating_sub(weight(&text));
        HandoffPart { text, items_taken }
    }

    /// Makes a part of the first items that fit. It does not note the number of missing items, because later
    /// parts contain them.
    pub(super) fn first_part(
        &mut self,
        title: &str,
        items: impl Iterator<Item = String>,
        weight_max: u64,
    ) -> HandoffPart {
        let title = format!("\n## {title}\n\n");
        let Some(mut remaining) = weight_max.min(self.weight).checked_sub(weight(&title)) else {
            return HandoffPart::default();
        };
        let fits = |item: &String| {
            let after = remaining.checked_sub(weight(item));
            remaining = after.unwrap_or(remaining);
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

fn note(dropped_label: &str, count: usize) -> String {
    format!("({dropped_label}: {count}.)\n\n")
}
