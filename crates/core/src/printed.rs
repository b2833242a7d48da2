//! Values as derived files and printed JSON contain them. Journals contain plain numbers instead.

use crate::{Moment, Span, Usd, parse_rfc3339, rfc3339};
use serde::{Deserialize, Serialize};
use std::{fmt, iter};

/// A moment as text, such as `2026-11-22T15:08:38.120Z`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Rfc3339(pub Moment);

impl From<Moment> for Rfc3339 {
    fn from(moment: Moment) -> Rfc3339 {
        Rfc3339(moment)
    }
}

impl From<Rfc3339> for String {
    fn from(moment: Rfc3339) -> String {
        rfc3339(moment.0)
    }
}

impl TryFrom<String> for Rfc3339 {
    type Error = String;

    fn try_from(text: String) -> Result<Rfc3339, String> {
        parse_rfc3339(&text).map(Rfc3339).ok_or_else(|| format!("`{text}` is not a moment"))
    }
}

impl fmt::Display for Rfc3339 {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&rfc3339(self.0))
    }
}

/// An amount of money as a decimal number of dollars. Longhaul never computes with that number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "f64", try_from = "f64")]
pub struct Dollars(pub Usd);

impl From<Usd> for Dollars {
    fn from(amount: Usd) -> Dollars {
        Dollars(amount)
    }
}

impl From<Dollars> for f64 {
    fn from(amount: Dollars) -> f64 {
        amount.0.as_dollars()
    }
}

impl TryFrom<f64> for Dollars {
    type Error = &'static str;

    fn try_from(dollars: f64) -> Result<Dollars, &'static str> {
        Usd::from_dollars(dollars).map(Dollars).ok_or("not an amount of dollars")
    }
}

/// A length of time as a decimal number of seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "f64", from = "f64")]
pub struct Seconds(pub Span);

impl From<Seconds> for f64 {
    fn from(span: Seconds) -> f64 {
        span.0.millis() as f64 / 1000.0
    }
}

impl From<f64> for Seconds {
    fn from(seconds: f64) -> Seconds {
        Seconds(Span((seconds * 1000.0).round() as u64))
    }
}

/// Shortens a text to this many characters. An ellipsis follows them if there were more.
pub fn shorten(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Shortens a text to one line of this many characters. White space and control characters become single spaces.
pub fn shorten_line(text: &str, chars_max: usize) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    // A text may be as long as a file, so only the part that is shown is read.
    let mut chars = words.flat_map(|word| iter::once(' ').chain(word.chars())).skip(1);
    let mut line: String = chars.by_ref().take(chars_max).collect();
    if chars.next().is_some() {
        line.truncate(line.trim_end().len());
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use super::shorten_line;

    #[test]
    fn shortens_to_one_line() {
        assert_eq!(shorten_line(" one\n two\0three ", 80), "one two three");
        assert_eq!(shorten_line("one two three", 7), "one two…");
        assert_eq!(shorten_line("日本語日本語", 3), "日本語…");
    }
}
