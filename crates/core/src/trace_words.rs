//! Words that the traces of runs and of workflows share.

use crate::{CancelSource, Span};

pub(crate) fn cancel_source(word: &str) -> CancelSource {
    match word {
        "person" => CancelSource::Person,
        "now" => CancelSource::PersonNow,
        "term" => CancelSource::Sigterm,
        "hup" => CancelSource::Sighup,
        _ => panic!("`{word}` is not a source of a cancellation"),
    }
}

/// Parses a number with its unit, such as `2h`.
pub(crate) fn parse_span(words: &str) -> Span {
    let digits = words.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let number = digits.parse().expect("a number before the unit");
    match &words[digits.len()..] {
        "ms" => Span(number),
        "s" => Span::from_secs(number),
        "m" => Span::from_mins(number),
        "h" => Span::from_hours(number),
        unit => panic!("`{unit}` is not a unit of time"),
    }
}
