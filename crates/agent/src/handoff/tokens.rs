//! How long a text is for a model, and how it is made shorter. An estimate that needs no tokenizer.

use std::borrow::Cow;

/// English and code are about four ASCII bytes a token.
pub(super) const WEIGHT_PER_TOKEN: u64 = 4;
// A byte of another script is dearer: most of its signs, of two to four bytes, are a token or more.
const FOREIGN_BYTE: u64 = 2;

/// About how many tokens a text is: its ASCII bytes and twice its other bytes, divided by four and
/// rounded up. Rather too much than too little for prose in any script; digits and random letters may
/// be more.
pub fn estimated_tokens(text: &str) -> u64 {
    weight(text).div_ceil(WEIGHT_PER_TOKEN)
}

/// The same in quarters of a token: the weight of two texts together is the sum of their weights.
pub(super) fn weight(text: &str) -> u64 {
    text.bytes().map(|byte| if byte.is_ascii() { 1 } else { FOREIGN_BYTE }).sum()
}

fn weight_of_sign(sign: char) -> u64 {
    let bytes = sign.len_utf8() as u64;
    if sign.is_ascii() { bytes } else { FOREIGN_BYTE * bytes }
}

/// A text of at most this many tokens, by the estimate: its head, its tail, and between them how much was left out. At
/// the least it is that mark.
pub fn truncate_middle(text: &str, tokens_max: u64) -> Cow<'_, str> {
    cut(text, tokens_max.saturating_mul(WEIGHT_PER_TOKEN))
}

/// A text of at most this weight: its head, its tail, and between them how much was left out. At the
/// least it is that mark.
pub(super) fn cut(text: &str, weight_max: u64) -> Cow<'_, str> {
    if weight(text) <= weight_max {
        return Cow::Borrowed(text);
    }
    // The longest mark there can be; the real one is rarely more than a few signs shorter.
    let room = weight_max.saturating_sub(weight(&mark(text.len())));
    // What went wrong stands at the end as often as at the beginning.
    let head = head(text, room - room / 2);
    let tail = tail(&text[head.len()..], room / 2);
    let omitted = text.len() - head.len() - tail.len();
    Cow::Owned(format!("{head}{}{tail}", mark(omitted)))
}

fn mark(bytes: usize) -> String {
    format!("\n[... {bytes} bytes left out ...]\n")
}

/// As much of the beginning as fits.
pub(super) fn head(text: &str, weight_max: u64) -> &str {
    let mut weight = 0;
    let beyond = text.char_indices().find(|(_, sign)| {
        weight += weight_of_sign(*sign);
        weight > weight_max
    });
    &text[..beyond.map_or(text.len(), |(at, _)| at)]
}

fn tail(text: &str, weight_max: u64) -> &str {
    let mut weight = 0;
    let beyond = text.char_indices().rev().find(|(_, sign)| {
        weight += weight_of_sign(*sign);
        weight > weight_max
    });
    &text[beyond.map_or(0, |(at, sign)| at + sign.len_utf8())..]
}

#[cfg(test)]
mod tests {
    use super::{cut, estimated_tokens, weight};
    use proptest::prelude::*;

    #[test]
    fn estimates() {
        let check = |text: &str, tokens: u64| assert_eq!(estimated_tokens(text), tokens, "{text}");
        check("", 0);
        check("word", 1);
        check("words", 2);
        check("é", 1);
        check("日本", 3);
    }

    #[test]
    fn cuts() {
        let check = |text: &str, weight_max: u64, expected: &str| assert_eq!(cut(text, weight_max), expected);
        check("short", 5, "short");
        let long = format!("{}{}", "a".repeat(500), "z".repeat(500));
        check(&long, 50, &format!("{}\n[... 981 bytes left out ...]\n{}", "a".repeat(10), "z".repeat(9)));
        check(&long, 0, "\n[... 1000 bytes left out ...]\n");
    }

    proptest! {
        #[test]
        fn cuts_are_bounded(text in any::<String>(), repeat in 1_usize..50, weight_max in 0_u64..400) {
            let text = text.repeat(repeat);
            prop_assert!(weight(&cut(&text, weight_max)) <= weight_max.max(40));
        }
    }
}
