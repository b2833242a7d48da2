//! Parses durations.

use jiff::SignedDuration;
use longhaul_core::Span;

/// Parses `90`, `90s`, `5m`, `1h30m`, `250ms`. A bare number is seconds.
pub fn duration(text: &str) -> Result<Span, String> {
    let hint = "expected a duration like 90s, 5m or 1h30m; a bare number is seconds";
    if let Ok(seconds) = text.trim().parse::<u64>() {
        return Ok(Span::from_secs(seconds));
    }
    let parsed: SignedDuration = text.trim().parse().map_err(|_| hint.to_owned())?;
    u64::try_from(parsed.as_millis()).map(Span).map_err(|_| hint.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_durations() {
        for (text, millis) in
            [("90", 90_000), ("90s", 90_000), ("5m", 300_000), ("1h30m", 5_400_000), ("250ms", 250)]
        {
            assert_eq!(duration(text), Ok(Span(millis)), "{text}");
        }
        for text in ["", "soon", "-5s", "5 parsecs"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
