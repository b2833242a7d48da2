//! Parses moments in the past, and formats how long ago a moment was.

use jiff::civil::{Date, DateTime, Time};
use jiff::{Timestamp, ToSpan, Zoned};
use longhaul_core::Moment;
pub use longhaul_core::parse_duration as duration;

/// Parses a moment: a duration before now, a date or time of the local calendar, or an RFC 3339 timestamp.
pub fn when(text: &str) -> Result<Moment, String> {
    parse_before(text.trim(), &Zoned::now())
}

fn parse_before(text: &str, now: &Zoned) -> Result<Moment, String> {
    let at = read(text, now).ok_or_else(|| {
        "expected a duration before now like 90m, 12h or 7d, `today`, `yesterday`, a date like 2026-11-22, or a time like \
         22:04, \"2026-11-22 22:04\" or 2026-11-22T22:04:00Z"
            .to_owned()
    })?;
    if at > *now {
        return Err("it is in the future".to_owned());
    }
    let since = u64::try_from(at.timestamp().as_millisecond());
    since.map(Moment).map_err(|_| "it is before 1970".to_owned())
}

fn read(text: &str, now: &Zoned) -> Option<Zoned> {
    let days_ago = |days: i64| now.checked_sub(days.days()).ok();
    let to_zoned = |local: DateTime| local.to_zoned(now.time_zone().clone()).ok();
    match text {
        "today" => return now.start_of_day().ok(),
        "yesterday" => return days_ago(1)?.start_of_day().ok(),
        _ => {}
    }
    // `22:31:05` would also parse as a duration, but here it is a time.
    if !text.contains(':') {
        // A calendar day can have 23 or 25 hours.
        if let Ok(span) = text.parse::<jiff::Span>() {
            return now.checked_sub(span).ok().filter(|_| !span.is_negative());
        }
        // A bare number is seconds.
        if let Ok(span) = duration(text) {
            return now.checked_sub(span.to_std()).ok();
        }
    }
    if let Ok(timestamp) = text.parse::<Timestamp>() {
        return Some(timestamp.to_zoned(now.time_zone().clone()));
    }
    if let Ok(local) = text.parse::<DateTime>() {
        return to_zoned(local);
    }
    if let Ok(date) = text.parse::<Date>() {
        return to_zoned(date.at(0, 0, 0, 0));
    }
    // The most recent occurrence of this time.
    let time: Time = text.parse().ok()?;
    let on = |day: &Zoned| day.with().time(time).build().ok();
    on(now).filter(|at| at <= now).or_else(|| on(&days_ago(1)?))
}

pub fn ago(moment: Moment, now: Moment) -> String {
    let (span, future) = if moment > now { (moment.since(now), true) } else { (now.since(moment), false) };
    let amount = match span.0 / 1_000 {
        0..10 => return "now".to_owned(),
        seconds @ 10..60 => format!("{seconds} s"),
        seconds @ 60..3_600 => format!("{} min", seconds / 60),
        seconds @ 3_600..172_800 => format!("{} h", seconds / 3_600),
        seconds => format!("{} days", seconds / 86_400),
    };
    if future { format!("in {amount}") } else { format!("{amount} ago") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_moments() {
        let now: Zoned = "2026-11-22T18:30:00+01:00[Europe/Berlin]".parse().expect("a time");
        let check = |text: &str, expected: Option<&str>| {
            let found = parse_before(text, &now).map(longhaul_store::rfc3339).ok();
            assert_eq!(found.as_deref(), expected, "{text}");
        };
        check("12h", Some("2026-11-22T05:30:00.000Z"));
        check("90m", Some("2026-11-22T16:00:00.000Z"));
        check("90", Some("2026-11-22T17:28:30.000Z"));
        check("1h30m", Some("2026-11-22T16:00:00.000Z"));
        check("7d", Some("2026-11-15T17:30:00.000Z"));
        check("1w", Some("2026-11-15T17:30:00.000Z"));
        // Across a change to or from daylight saving time the time of day stays the same.
        check("30d", Some("2026-10-23T16:30:00.000Z"));
        check("today", Some("2026-11-21T23:00:00.000Z"));
        check("yesterday", Some("2026-11-20T23:00:00.000Z"));
        check("2026-11-20", Some("2026-11-19T23:00:00.000Z"));
        check("2026-11-20T08:00", Some("2026-11-20T07:00:00.000Z"));
        check("2026-11-20 08:00", Some("2026-11-20T07:00:00.000Z"));
        check("2026-11-20T08:00:00Z", Some("2026-11-20T08:00:00.000Z"));
        check("2026-11-20T08:00:00+02:00", Some("2026-11-20T06:00:00.000Z"));
        check("18:04", Some("2026-11-22T17:04:00.000Z"));
        check("18:31:05", Some("2026-11-21T17:31:05.000Z"));
        for text in [
            "",
            "soon",
            "-5h",
            "2026-13-01",
            "25:00",
            "5 parsecs",
            "d",
            "-7d",
            "2026-11-23",
            "9000y",
            "1969-01-01",
        ] {
            check(text, None);
        }
    }

    #[test]
    fn formats_distances_in_one_unit() {
        let now = Moment(10_000_000_000);
        let check = |seconds: i64, expected: &str| {
            let then = Moment(now.0.checked_add_signed(seconds * 1_000).expect("a moment"));
            assert_eq!(ago(then, now), expected);
        };
        check(0, "now");
        check(-59, "59 s ago");
        check(-60, "1 min ago");
        check(-3_599, "59 min ago");
        check(-3_600 * 47, "47 h ago");
        check(-3_600 * 48, "2 days ago");
        check(60 * 5, "in 5 min");
    }
}
