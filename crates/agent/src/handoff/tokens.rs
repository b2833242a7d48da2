//! Estimates the length of a text in tokens without a tokenizer, and truncates text.

use std::borrow::Cow;

/// English and code are about four ASCII bytes a token.
pub(super) const WEIGHT_PER_TOKEN: u64 = 4;
// A byte of another script weighs more: most of its characters, of two to four bytes, are a token or more.
const FOREIGN_BYTE: u64 = 2;

/// Estimates the number of tokens: ASCII bytes plus twice the other bytes, divided by four and rounded up. It
/// overestimates prose in any script. Digits and random letters may need more tokens than estimated.
pub fn estimated_tokens(text: &str) -> u64 {
    weight(text).div_ceil(WEIGHT_PER_TOKEN)
}

/// Returns the same estimate in quarters of a token. The weight of two texts together is the sum of their
/// weights.
pub(super) fn weight(text: &str) -> u64 {
    text.bytes().map(|byte| if byte.is_ascii() { 1 } else { FOREIGN_BYTE }).sum()
}

fn weight_of_char(c: char) -> u64 {
    let bytes = c.len_utf8() as u64;
    if c.is_ascii() { bytes } else { FOREIGN_BYTE * bytes }
}

/// Truncates a text to at most this many estimated tokens: its head, a marker with the number of omitted
/// bytes, and its tail. The result is never shorter than the marker.
pub fn truncate_middle(text: &str, tokens_max: u64) -> Cow<'_, str> {
    truncate_to_weight(text, tokens_max.saturating_mul(WEIGHT_PER_TOKEN))
}

/// Truncates a text to at most this weight: its head, a marker with the number of omitted bytes, and its
/// tail. The result is never shorter than the marker.
pub(super) fn truncate_to_weight(text: &str, weight_max: u64) -> Cow<'_, str> {
    if weight(text) <= weight_max {
        return Cow::Borrowed(text);
    }
    // The longest possible marker; the real one is rarely more than a few characters shorter.
    let budget = weight_max.saturating_sub(weight(&omission_marker(text.len())));
    // Errors appear at the end as often as at the start.
    let head = head(text, budget - budget / 2);
    let tail = tail(&text[head.len()..], budget / 2);
    let omitted = text.len() - head.len() - tail.len();
    Cow::Owned(format!("{head}{}{tail}", omission_marker(omitted)))
}

fn omission_marker(bytes: usize) -> String {
    format!("\n[... {bytes} bytes omitted ...]\n")
}

/// Returns the longest prefix that fits.
pub(super) fn head(text: &str, weight_max: u64) -> &str {
    let mut weight = 0;
    let beyond = text.char_indices().find(|(_, c)| {
        weight += weight_of_char(*c);
        weight > weight_max
    });
    &text[..beyond.map_or(text.len(), |(offset, _)| offset)]
}

fn tail(text: &str, weight_max: u64) -> &str {
    let mut weight = 0;
    let beyond = text.char_indices().rev().find(|(_, c)| {
        weight += weight_of_char(*c);
        weight > weight_max
    });
    &text[beyond.map_or(0, |(offset, c)| offset + c.len_utf8())..]
}

#[cfg(test)]
mod tests {
    use super::{estimated_tokens, truncate_to_weight, weight};
    use proptest::prelude::*;

    #[test]
    fn estimates_tokens() {
        let check = |text: &str, tokens: u64| assert_eq!(estimated_tokens(text), tokens, "{text}");
        check("", 0);
        check("word", 1);
        check("words", 2);
        check("é", 1);
        check("日本", 3);
    }

    #[test]
    fn truncates_middle() {
        let check = |text: &str, weight_max: u64, expected: &str| {
            assert_eq!(truncate_to_weight(text, weight_max), expected)
        };
        check("short", 5, "short");
        let long = format!("{}{}", "a".repeat(500), "z".repeat(500));
        check(&long, 50, &format!("{}\n[... 980 bytes omitted ...]\n{}", "a".repeat(10), "z".repeat(10)));
        check(&long, 0, "\n[... 1000 bytes omitted ...]\n");
    }

    proptest! {
        #[test]
        fn truncation_is_bounded(text in any::<String>(), repeat in 1_usize..50, weight_max in 0_u64..400) {
            let text = text.repeat(repeat);
            prop_assert!(weight(&truncate_to_weight(&text, weight_max)) <= weight_max.max(40));
        }
    }
}
