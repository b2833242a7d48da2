//! Renders a model's summary of older work for a handoff prompt: labeled, quoted and within its budget.

use super::quote::{fenced, inline};
use super::token_budget::TokenBudget;
use super::tokens::{head, weight};

const MODEL_CHARS_MAX: usize = 60;
/// Weight of the fence and of the note on omitted text.
const OVERHEAD_WEIGHT: u64 = 120;

/// A model's summary of older work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenSummary {
    /// The model, as the user named it.
    pub model: String,
    /// The summary.
    pub text: String,
}

impl WrittenSummary {
    /// Returns the summary as a part of a handoff prompt, or `None` if it is empty or does not fit.
    pub(super) fn part(&self, mut budget: TokenBudget) -> Option<String> {
        let title =
            format!("Earlier work, as the model {} summarized it", inline(&self.model, MODEL_CHARS_MAX));
        let text = self.text.trim();
        let overhead = OVERHEAD_WEIGHT + 2 * weight(&title);
        let shown = leading_lines(text, budget.share(1, 1).checked_sub(overhead)?);
        let omitted_note = match text.len() - shown.len() {
            0 => String::new(),
            bytes => format!("\n(The rest of the summary is left out: {bytes} bytes.)\n"),
        };
        let share = budget.share(1, 1);
        let item = (!shown.is_empty()).then(|| fenced(shown) + &omitted_note);
        let part = budget.part(&title, "", item.into_iter(), share);
        (!part.text.is_empty()).then_some(part.text)
    }
}

/// Returns as many leading lines as fit, or a prefix of the first line if it does not fit.
fn leading_lines(text: &str, weight_max: u64) -> &str {
    let fits = head(text, weight_max);
    let is_whole = fits.len() == text.len() || text[fits.len()..].starts_with('\n');
    let end = fits.rfind('\n').filter(|_| !is_whole);
    fits[..end.unwrap_or(fits.len())].trim_end()
}

#[cfg(test)]
mod tests {
    use super::leading_lines;

    #[test]
    fn truncates_at_line_end() {
        let check = |weight_max: u64, expected: &str| {
            assert_eq!(leading_lines("- one\n- two\n- three", weight_max), expected, "{weight_max}");
        };
        check(99, "- one\n- two\n- three");
        check(19, "- one\n- two\n- three");
        check(18, "- one\n- two");
        check(11, "- one\n- two");
        check(10, "- one");
        check(3, "- o");
        check(0, "");
    }
}
