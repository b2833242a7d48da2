//! Converts moments to and from RFC 3339 text in UTC. This module never reads a clock or a time zone.

use crate::Moment;
use jiff::SignedDuration;
use jiff::civil::DateTime;

const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);

/// Returns the moment as `2025-11-22T01:34:05.120Z`. A moment after the year 9999 is written as its end.
pub fn rfc3339(moment: Moment) -> String {
    let since_epoch = SignedDuration::from_millis(moment.0.try_into().unwrap_or(i64::MAX));
    format!("{:.3}Z", EPOCH.saturating_add(since_epoch))
}

/// Parses a moment such as `2025-11-22T01:34:05Z`, with or without a fraction of a second. Returns `None` for
/// text of another form, and for a moment before 1970.
pub fn parse_rfc3339(text: &str) -> Option<Moment> {
    let at = DateTime::strptime("%Y-%m-%dT%H:%M:%S%.fZ", text).ok()?;
    u64::try_from(at.duration_since(EPOCH).as_millis()).ok().map(Moment)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn converts_known_moments() {
        // Compared with `date -u -d @SECONDS`.
        for (ms, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (951_868_799_999, "2000-02-29T23:59:59.999Z"),
            (1_763_775_245_120, "2025-11-22T01:34:05.120Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
            (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
        ] {
            assert_eq!(rfc3339(Moment(ms)), text);
            assert_eq!(parse_rfc3339(text), Some(Moment(ms)));
        }
        assert_eq!(rfc3339(Moment::MAX), "9999-12-31T23:59:59.999Z");
    }

    #[test]
    fn parses_fractions_and_rejects_other_forms() {
        let check = |text: &str, milliseconds: Option<u64>| {
            assert_eq!(parse_rfc3339(text).map(|moment| moment.0), milliseconds, "{text}");
        };
        check("2000-03-01T00:00:00Z", Some(951_868_800_000));
        check("2024-02-29T23:59:59.5Z", Some(1_709_251_199_500));
        check("2026-11-21T23:40:36.115Z", Some(1_795_304_436_115));
        for other in [
            "",
            "Z",
            "2025-11-22",
            "2025-13-01T00:00:00.000Z",
            "2025-02-30T00:00:00.000Z",
            "2025-11-22T01:34:05+01:00",
            "2025-11-22T01:34:05",
            "2026-11-21T23:40Z",
            "1969-12-31T23:59:59.000Z",
            "é-1-1T1:1:1.éZ",
        ] {
            check(other, None);
        }
    }
}
