//! Parses amounts as people write them: money, durations and sizes. Never decides what a zero means.

use crate::{Span, Usd};
use jiff::SpanRelativeTo;

/// The text of a setting that is unlimited or empty.
pub(crate) const NONE: &str = "none";

// A larger amount is a typing error.
const DOLLARS_MAX: f64 = 1e6;

/// Parses `10`, `2.50` or `$2.50`.
///
/// # Errors
///
/// Returns the expected form if the text is not an amount of at most a million dollars.
pub fn parse_dollars(text: &str) -> Result<Usd, String> {
    let hint = || "expected an amount in dollars, like 10 or 2.50".to_owned();
    let amount: f64 = text.trim().trim_start_matches('$').parse().map_err(|_| hint())?;
    let amount = Usd::from_dollars(amount).filter(|usd| usd.as_dollars() <= DOLLARS_MAX).ok_or_else(hint)?;
    if amount == Usd::ZERO && text.contains(|c: char| ('1'..='9').contains(&c)) {
        return Err("less than a millionth of a dollar".to_owned());
    }
    Ok(amount)
}

/// Parses `90`, `90s`, `5m`, `1h30m`, `2d`, `250ms`. A bare number is seconds; a day has 24 hours.
///
/// # Errors
///
/// Returns the expected form if the text is not a duration.
pub fn parse_duration(text: &str) -> Result<Span, String> {
    let hint = |_| "expected a duration like 90s, 5m, 1h30m or 2d; a bare number is seconds".to_owned();
    if let Ok(seconds) = text.trim().parse::<u64>() {
        return Ok(Span::from_secs(seconds));
    }
    let parsed: jiff::Span = text.trim().parse().map_err(hint)?;
    let parsed = parsed.to_duration(SpanRelativeTo::days_are_24_hours()).map_err(hint)?;
    u64::try_from(parsed.as_millis()).map(Span).map_err(|_| "a duration cannot be negative".to_owned())
}

/// Parses `8G`, `900M`, `500 MB` or `1.5GiB` to bytes. Units are powers of 1024.
///
/// # Errors
///
/// Returns the expected form if the text is not a size.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let hint = || "expected a size like 8G or 900M".to_owned();
    let text = text.trim();
    let (number, unit) = text.split_at(text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len()));
    let unit: f64 = match unit.to_ascii_lowercase().trim_end_matches('b').trim_end_matches('i') {
        "k" => 1024.0,
        "m" => 1024.0 * 1024.0,
        "g" => 1024.0 * 1024.0 * 1024.0,
        "t" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        "" if number == "0" => 0.0,
        _ => return Err(hint()),
    };
    let number: f64 = number.trim().parse().map_err(|_| hint())?;
    let bytes = number * unit;
    // `as` saturates. The range rejects NaN.
    if (0.0..1e15).contains(&bytes) { Ok(bytes as u64) } else { Err(hint()) }
}

/// Returns the text of a span without loss, such as `1h30m`.
pub fn exact_span(span: Span) -> String {
    let millis = span.millis();
    let seconds = millis / 1000;
    if span == Span(u64::MAX) {
        return NONE.to_owned();
    }
    if millis == 0 {
        return "0".to_owned();
    }
    if !millis.is_multiple_of(1000) {
        return format!("{millis}ms");
    }
    let parts = [(seconds / 3600, "h"), (seconds / 60 % 60, "m"), (seconds % 60, "s")];
    parts
        .into_iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, unit)| format!("{number}{unit}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{parse_bytes, parse_dollars, parse_duration};
    use crate::{Span, Usd};

    #[test]
    fn parses_dollars() {
        let dollars = |text: &str| parse_dollars(text).ok().map(|Usd(micro)| micro);
        assert_eq!(dollars("10"), Some(10_000_000));
        assert_eq!(dollars("$2.50"), Some(2_500_000));
        assert_eq!(dollars("0"), Some(0));
        for text in ["-1", "", "ten", "1e12", "NaN", "inf", "0.0000001", "5 EUR"] {
            assert_eq!(dollars(text), None, "{text}");
        }
    }

    #[test]
    fn parses_durations() {
        for (text, millis) in [
            ("90", 90_000),
            ("1h30m", 5_400_000),
            ("250ms", 250),
            (" 2s ", 2_000),
            ("2d", 172_800_000),
            ("1w", 604_800_000),
        ] {
            assert_eq!(parse_duration(text), Ok(Span(millis)), "{text}");
        }
        for text in ["", "soon", "-1h", "1 fortnight", "2 months"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn parses_sizes() {
        for (text, expected) in
            [("8G", 8 << 30), ("900M", 900 << 20), ("500 MB", 500 << 20), ("1.5GiB", 3 << 29), ("0", 0)]
        {
            assert_eq!(parse_bytes(text), Ok(expected), "{text}");
        }
        for text in ["-1G", "", "8", "8 parsecs", "900000T"] {
            assert!(parse_bytes(text).is_err(), "{text}");
        }
    }
}
