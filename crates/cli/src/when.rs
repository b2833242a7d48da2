//! Moments in the past as people type them.

use crate::duration::duration;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use longhaul_core::Moment;

/// How a moment is typed, for the help and for errors.
pub const WHEN: &str = "a duration before now like 90m, 12h or 7d, a date like 2026-11-22, `today`, `yesterday`, or a \
                        time like 2026-11-22T18:00";

/// Parses it. A date is its beginning, in the local time zone.
pub fn when(text: &str) -> Result<Moment, String> {
    before(text.trim(), &Zoned::now()).ok_or_else(|| format!("expected {WHEN}"))
}

fn before(text: &str, now: &Zoned) -> Option<Moment> {
    let here = now.time_zone().clone();
    let begin = |date: Date| moment(date.to_zoned(here.clone()).ok()?.timestamp());
    let midnight = |days: i64| begin(now.date().checked_sub(jiff::Span::new().days(days)).ok()?);
    match text {
        "today" => return midnight(0),
        "yesterday" => return midnight(1),
        _ => {}
    }
    if let Some(days) = text.strip_suffix('d').and_then(|days| days.parse::<u32>().ok()) {
        // A day of the calendar is as long as the clock says.
        return moment(now.checked_sub(jiff::Span::new().days(days)).ok()?.timestamp());
    }
    if let Ok(date) = text.parse::<Date>().and_then(|date| date_alone(text, date)) {
        return begin(date);
    }
    if let Ok(timestamp) = text.parse::<Timestamp>() {
        return moment(timestamp);
    }
    if let Ok(local) = text.parse::<DateTime>() {
        return moment(local.to_zoned(here).ok()?.timestamp());
    }
    // A bare number would be seconds, or a year.
    let span = duration(text).ok().filter(|_| text.parse::<u64>().is_err())?;
    let now = moment(now.timestamp())?;
    Some(Moment(now.0.saturating_sub(span.0)))
}

/// A date is read out of a date and a time as well.
fn date_alone(text: &str, date: Date) -> Result<Date, jiff::Error> {
    match text.parse::<DateTime>() {
        Ok(_) if text.contains([':', 'T', 't', ' ']) => {
            Err(jiff::Error::from_args(format_args!("it has a time")))
        }
        _ => Ok(date),
    }
}

fn moment(timestamp: Timestamp) -> Option<Moment> {
    u64::try_from(timestamp.as_millisecond()).ok().map(Moment)
}

/// The local date of a moment; nothing beyond the calendar.
pub fn local_date(moment: Moment) -> Option<Date> {
    let timestamp = Timestamp::from_millisecond(i64::try_from(moment.0).ok()?).ok()?;
    Some(timestamp.to_zoned(TimeZone::system()).date())
}

/// How long ago that was, or how soon it will be, in one unit.
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
    fn reads_what_people_type() {
        let now: Zoned = "2026-11-22T18:30:00+01:00[Europe/Berlin]".parse().expect("a time");
        let check = |text: &str, expected: Option<&str>| {
            let found = before(text, &now).map(|found| longhaul_store::rfc3339(found));
            assert_eq!(found.as_deref(), expected, "{text}");
        };
        check("12h", Some("2026-11-22T05:30:00.000Z"));
        check("90m", Some("2026-11-22T16:00:00.000Z"));
        check("1h30m", Some("2026-11-22T16:00:00.000Z"));
        check("7d", Some("2026-11-15T17:30:00.000Z"));
        // Over the change of the clocks the day stays at the same time.
        check("30d", Some("2026-10-23T16:30:00.000Z"));
        check("today", Some("2026-11-21T23:00:00.000Z"));
        check("yesterday", Some("2026-11-20T23:00:00.000Z"));
        check("2026-11-20", Some("2026-11-19T23:00:00.000Z"));
        check("2026-11-20T08:00", Some("2026-11-20T07:00:00.000Z"));
        check("2026-11-20 08:00", Some("2026-11-20T07:00:00.000Z"));
        check("2026-11-20T08:00:00Z", Some("2026-11-20T08:00:00.000Z"));
        for text in ["", "soon", "2026", "90", "-5h", "2026-13-01", "5 parsecs", "d"] {
            check(text, None);
        }
    }

    #[test]
    fn distances_are_told_in_one_unit() {
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
