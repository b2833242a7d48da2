//! Parses the delay that a server requests, in the three forms that the vendor's client accepts.

use jiff::fmt::rfc2822;
use longhaul_core::{Moment, Span};
use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};

// A larger number is not a meaningful delay.
const SECONDS_MAX: f64 = 1e9;

/// Returns the delay of a response: `retry-after-ms`, else `retry-after` in seconds or as a date. A date is
/// relative to the date of the response, so that our clock does not matter. `now` is used if the server sends
/// none.
pub(super) fn retry_after(headers: &HeaderMap, now: Moment) -> Option<Span> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    if let Some(span) = text("retry-after-ms").and_then(|text| span(text, 1.0)) {
        return Some(span);
    }
    let value = text(RETRY_AFTER.as_str())?;
    if let Some(span) = span(value, 1_000.0) {
        return Some(span);
    }
    let response_date = text(DATE.as_str()).and_then(date).unwrap_or(now);
    date(value).map(|until| until.since(response_date))
}

fn span(number: &str, millis: f64) -> Option<Span> {
    let number: f64 = number.parse().ok()?;
    let millis = number * millis;
    (0.0..=SECONDS_MAX * 1_000.0).contains(&millis).then(|| Span(millis.ceil() as u64))
}

fn date(text: &str) -> Option<Moment> {
    let zoned = rfc2822::parse(text).ok()?;
    u64::try_from(zoned.timestamp().as_millisecond()).ok().map(Moment)
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::{HeaderName, HeaderValue};

    fn check(headers: &[(&'static str, &'static str)], expected: Option<Span>) {
        let map = headers
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
            .collect();
        // Sun, 06 Nov 1994 08:49:37 GMT
        let now = Moment::from_unix_seconds(784_111_777);
        assert_eq!(retry_after(&map, now), expected, "{headers:?}");
    }

    #[test]
    fn parses_all_forms() {
        check(&[], None);
        check(&[("retry-after", "7")], Some(Span::from_secs(7)));
        check(&[("retry-after", "0.25")], Some(Span(250)));
        check(&[("retry-after", "0")], Some(Span::ZERO));
        check(&[("retry-after-ms", "120"), ("retry-after", "7")], Some(Span(120)));
        check(&[("retry-after-ms", "soon"), ("retry-after", "7")], Some(Span::from_secs(7)));
        check(&[("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT")], Some(Span::from_secs(30)));
        // A date in the past.
        check(&[("retry-after", "Sun, 06 Nov 1994 08:49:07 GMT")], Some(Span::ZERO));
        // The server's clock counts.
        check(
            &[("date", "Sun, 06 Nov 1994 09:00:00 GMT"), ("retry-after", "Sun, 06 Nov 1994 09:00:05 GMT")],
            Some(Span::from_secs(5)),
        );
        for nonsense in ["", "soon", "-5", "NaN", "inf", "1e300", "Sun, 99 Nov 1994 08:49:37 GMT"] {
            check(&[("retry-after", nonsense)], None);
        }
    }
}
