//! Formats moments for people in one time zone: the time of day, the date if it differs, and elapsed time.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use longhaul_core::{Moment, Span};
use longhaul_store::local_zone;
use std::env;

// A moment further away is shown with its date, because its time of day could be that of another day.
const FAR: Span = Span::from_hours(20);

#[derive(Clone, Debug)]
pub struct TimeFormat(TimeZone);

impl TimeFormat {
    pub fn here() -> TimeFormat {
        TimeFormat(local_zone(env::var_os("TZ").as_deref()))
    }

    #[cfg(test)]
    pub fn utc() -> TimeFormat {
        TimeFormat(TimeZone::UTC)
    }

    #[cfg(test)]
    pub fn new(zone: TimeZone) -> TimeFormat {
        TimeFormat(zone)
    }

    /// Formats the time of day: `22:04:10`.
    pub fn time(&self, moment: Moment) -> String {
        self.show(moment, "%H:%M:%S")
    }

    /// Formats the time of day of a timestamp from an agent, or returns an invalid one unchanged.
    pub fn time_of_timestamp(&self, timestamp: &str) -> String {
        match timestamp.parse::<Timestamp>() {
            Ok(at) => at.to_zoned(self.0.clone()).strftime("%H:%M:%S").to_string(),
            Err(_) => timestamp.to_owned(),
        }
    }

    /// Formats the date: `2026-11-22`.
    pub fn day(&self, moment: Moment) -> String {
        self.show(moment, "%Y-%m-%d")
    }

    /// Formats date and time: `2026-11-22 22:04:10`.
    pub fn whole(&self, moment: Moment) -> String {
        self.show(moment, "%Y-%m-%d %H:%M:%S")
    }

    /// Formats date and time without seconds: `2026-11-22 22:04`.
    pub fn minute(&self, moment: Moment) -> String {
        self.show(moment, "%Y-%m-%d %H:%M")
    }

    /// Formats date and time without the year: `Nov 22 22:04`.
    pub fn short(&self, moment: Moment) -> String {
        self.show(moment, "%b %-d %H:%M")
    }

    /// Returns the name of the zone at that moment, such as `UTC` or `CEST`.
    pub fn zone(&self, moment: Moment) -> String {
        self.show(moment, "%Z")
    }

    /// Formats a moment in the future: its time, or date and time if it is not within a day.
    pub fn future_time(&self, moment: Moment, now: Moment) -> String {
        let far = moment.since(now).max(now.since(moment)) >= FAR;
        if far { self.minute(moment) } else { self.time(moment) }
    }

    /// Formats the time, with the date if that is not the date of `other`.
    pub fn near(&self, moment: Moment, other: Moment) -> String {
        if self.day(moment) == self.day(other) { self.time(moment) } else { self.whole(moment) }
    }

    #[cfg(test)]
    pub fn read(&self, text: &str) -> Option<Moment> {
        let at = text.parse::<jiff::civil::DateTime>().ok()?.to_zoned(self.0.clone()).ok()?;
        u64::try_from(at.timestamp().as_millisecond()).ok().map(Moment)
    }

    fn show(&self, moment: Moment, form: &str) -> String {
        let at = i64::try_from(moment.0).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
        // Beyond the calendar: a wait that never ends.
        at.map_or_else(|| "never".to_owned(), |at| at.to_zoned(self.0.clone()).strftime(form).to_string())
    }
}

pub fn future_time(moment: Moment) -> String {
    TimeFormat::here().future_time(moment, super::now())
}

/// Formats the time since a start in one word: `+12s`, `+46m`, `+1h02m`, `+2d03h`.
pub fn elapsed(span: Span) -> String {
    let (minutes, hours) = (span.millis() / 60_000, span.millis() / 3_600_000);
    match (hours, minutes) {
        (0, 0) => format!("+{}s", span.millis() / 1000),
        (0, _) => format!("+{minutes}m"),
        (1..24, _) => format!("+{hours}h{:02}m", minutes % 60),
        (_, _) => format!("+{}d{:02}h", hours / 24, hours % 24),
    }
}

#[cfg(test)]
mod tests {
    use super::{TimeFormat, elapsed};
    use jiff::tz::TimeZone;
    use longhaul_core::{Moment, Span};

    #[test]
    fn formats_elapsed_time_as_one_word() {
        for (seconds, word) in [
            (0, "+0s"),
            (59, "+59s"),
            (60, "+1m"),
            (3_720, "+1h02m"),
            (86_400, "+1d00h"),
            (183_600, "+2d03h"),
        ] {
            assert_eq!(elapsed(Span::from_secs(seconds)), word);
        }
    }

    #[test]
    fn shows_date_if_it_differs() {
        let clock = TimeFormat::utc();
        let at = |text: &str| clock.read(text).expect("a time");
        let late = at("2026-11-22 23:59:00");
        assert_eq!(clock.near(late, at("2026-11-22T08:00")), "23:59:00");
        assert_eq!(clock.near(at("2026-11-23 00:01"), late), "2026-11-23 00:01:00");
        assert_eq!(clock.near(Moment::MAX, late), "never");
        assert_eq!(clock.read("yesterday"), None);
        assert_eq!(clock.future_time(at("2026-11-23 00:01"), late), "00:01:00");
        assert_eq!(clock.future_time(at("2026-11-23 22:00"), late), "2026-11-23 22:00");
        assert_eq!(clock.future_time(Moment::MAX, late), "never");
    }

    #[test]
    fn formats_in_its_zone() {
        let clock = TimeFormat::new(TimeZone::get("Europe/Berlin").expect("it is a zone"));
        let at = Moment(1_767_225_600_000);
        assert_eq!(clock.minute(at), "2026-01-01 01:00");
        assert_eq!(clock.short(at), "Jan 1 01:00");
        assert_eq!(clock.time_of_timestamp("2026-01-01T00:00:05.123Z"), "01:00:05");
        assert_eq!(clock.time_of_timestamp("soon"), "soon");
        assert_eq!(clock.zone(at), "CET");
        assert_eq!(clock.minute(Moment::MAX), "never");
    }
}
