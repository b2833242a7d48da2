//! The remaining budget of a handoff prompt, and the parts that fit into it.

use super::tokens::{WEIGHT_PER_TOKEN, weight};

#[derive(Clone, Copy, Debug)]
pub(super) struct TokenBudget {
    weight: u64,
}

/// A part of the text with its title, or empty if nothing fits.
#[derive(Debug, Default)]
pub(super) struct HandoffPart {
    pub(super) text: String,
    pub(super) items_taken: usize,
}

impl TokenBudget {
    pub(super) fn from_tokens(tokens: u64) -> TokenBudget {
        TokenBudget { weight: tokens.saturating_mul(WEIGHT_PER_TOKEN) }
    }

    /// Returns the budget that remains after a text, or `None` if the text does not fit.
    pub(super) fn minus(self, text: &str) -> Option<TokenBudget> {
        self.weight.checked_sub(weight(text)).map(|weight| TokenBudget { weight })
    }

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
        let Some(remaining) = weight_max.min(self.weight).checked_sub(reserved) else {
            return HandoffPart::default();
        };
        let mut taken = fitting(items.rev(), remaining);
        taken.reverse();
        let dropped = count - taken.len();
        let note = if dropped > 0 { note(dropped_label, dropped) } else { String::new() };
        self.assemble(&(title + &note), &taken)
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
        let Some(remaining) = weight_max.min(self.weight).checked_sub(weight(&title)) else {
            return HandoffPart::default();
        };
        self.assemble(&title, &fitting(items, remaining))
    }

    fn assemble(&mut self, heading: &str, items: &[String]) -> HandoffPart {
        if items.is_empty() {
            return HandoffPart::default();
        }
        let text = format!("{heading}{}\n", items.concat().trim_end());
        self.weight = self.weight.saturating_sub(weight(&text));
        HandoffPart { text, items_taken: items.len() }
    }
}

/// Returns the items up to the first that does not fit.
fn fitting(items: impl Iterator<Item = String>, mut remaining: u64) -> Vec<String> {
    let fits = |item: String| {
        remaining = remaining.checked_sub(weight(&item))?;
        Some(item)
    };
    items.map_while(fits).collect()
}

fn note(dropped_label: &str, count: usize) -> String {
    format!("({dropped_label}: {count}.)\n\n")
}
