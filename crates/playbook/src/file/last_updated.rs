//! Computes `last_updated`, which identifies a state of the file. Each change has a later value than all
//! changes before it.

use jiff::civil::DateTime;
use jiff::{Timestamp, ToSpan, tz::TimeZone};
use longhaul_core::Moment;

/// Formats the time of a change like Python's `isoformat`, later than all given times, even if their clocks
/// differ.
pub(super) fn stamp(at: Moment, earlier: &[Option<&str>]) -> String {
    let now = Timestamp::from_millisecond(at.0.try_into().unwrap_or(i64::MAX)).unwrap_or_default();
    let now = TimeZone::UTC.to_datetime(now);
    // A time that was edited by hand may be invalid.
    let earlier = earlier.iter().filter_map(|earlier| (*earlier)?.parse::<DateTime>().ok());
    let next = earlier.max().and_then(|last| last.checked_add(1.microsecond()).ok());
    let stamp = next.map_or(now, |next| next.max(now));
    stamp.strftime("%Y-%m-%dT%H:%M:%S%.6f").to_string()
}

#[cfg(test)]
mod tests {
    use super::stamp;
    use longhaul_core::Moment;

    #[test]
    fn increases_with_each_change() {
        let check = |at: u64, earlier: &[Option<&str>], expected: &str| {
            assert_eq!(stamp(Moment(at), earlier), expected, "{earlier:?}");
        };
        let now = 1_795_393_800_123;
        check(now, &[], "2026-11-23T00:30:00.123000");
        check(now, &[None, Some("yesterday"), Some("2026-11-22T23:00:00")], "2026-11-23T00:30:00.123000");
        check(now, &[Some("2026-11-23T00:30:00.123000")], "2026-11-23T00:30:00.123001");
        check(now, &[Some("2026-11-23T02:30:00.5"), None], "2026-11-23T02:30:00.500001");
        check(
            now,
            &[Some("2026-11-23T02:30:00"), Some("2026-11-23T03:00:00.999999")],
            "2026-11-23T03:00:01.000000",
        );
        check(now, &[Some("9999-12-31T23:59:59.999999999")], "2026-11-23T00:30:00.123000");
        check(0, &[], "1970-01-01T00:00:00.000000");
    }
}
