//! A model's summary of older work, as a seed tells it: marked as one, quoted, and within its room.

use super::quote::{fenced, inline};
use super::token_budget::TokenBudget;
use super::tokens::{head, weight};

const MODEL_CHARS_MAX: usize = 60;
/// What is around the text: the fence, and what is said of a part that is left out.
const AROUND_WEIGHT: u64 = 120;

/// Older work in a model's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The model, as it was named by the user.
    pub model: String,
    /// What it wrote.
    pub text: String,
}

impl Summary {
    /// As a part of a seed; nothing if it says nothing or does not fit.
    pub(super) fn part(&self, mut room: TokenBudget) -> Option<String> {
        let title =
            format!("Earlier work, as the model {} summarised it", inline(&self.model, MODEL_CHARS_MAX));
        let text = self.text.trim();
        let around = AROUND_WEIGHT + 2 * weight(&title);
        let told = lines_within(text, room.share(1, 1).checked_sub(around)?);
        let cut = match text.len() - told.len() {
            0 => String::new(),
            bytes => format!("\n(The rest of the summary is left out: {bytes} bytes.)\n"),
        };
        let share = room.share(1, 1);
        let item = (!told.is_empty()).then(|| fenced(told) + &cut);
        let part = room.part(&title, "", item.into_iter(), share);
        (!part.text.is_empty()).then_some(part.text)
    }
}

/// As many of the first lines as fit; of a first line that does not, its beginning.
fn lines_within(text: &str, weight_max: u64) -> &str {
    let fits = head(text, weight_max);
    let is_whole = fits.len() == text.len() || text[fits.len()..].starts_with('\n');
    let end = fits.rfind('\n').filter(|_| !is_whole);
    fits[..end.unwrap_or(fits.len())].trim_end()
}

#[cfg(test)]
mod tests {
    use super::lines_within;

    #[test]
    fn a_summary_is_cut_at_the_end_of_a_line() {
        let check = |weight_max: u64, expected: &str| {
            assert_eq!(lines_within("- one\n- two\n- three", weight_max), expected, "{weight_max}");
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
