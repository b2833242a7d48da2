//! Moments for people, in one time zone: clock times, the day where it is another one, and how long something took.

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use longhaul_core::{Moment, Span};

/// A clock in a time zone.
pub struct Clock(TimeZone);

impl Clock {
    /// The clock of whoever reads.
    pub fn here() -> Clock {
        Clock(TimeZone::system())
    }

    /// That of Greenwich.
    #[cfg(test)]
    pub fn utc() -> Clock {
        Clock(TimeZone::UTC)
    }

    /// `22:04:10`.
    pub fn time(&self, moment: Moment) -> String {
        self.zoned(moment).map_or_else(never, |at| at.strftime("%H:%M:%S").to_string())
    }

    /// `2026-11-22`.
    pub fn day(&self, moment: Moment) -> String {
        self.zoned(moment).map_or_else(never, |at| at.strftime("%Y-%m-%d").to_string())
    }

    /// `2026-11-22 22:04:10`.
    pub fn whole(&self, moment: Moment) -> String {
        self.zoned(moment).map_or_else(never, |at| at.strftime("%Y-%m-%d %H:%M:%S").to_string())
    }

    /// The time, with its day if that is not the day of `other`.
    pub fn near(&self, moment: Moment, other: Moment) -> String {
        if self.day(moment) == self.day(other) { self.time(moment) } else { self.whole(moment) }
    }

    /// What a test means by a date and a time: that of this clock.
    #[cfg(test)]
    pub fn read(&self, text: &str) -> Option<Moment> {
        let at = text.parse::<jiff::civil::DateTime>().ok()?.to_zoned(self.0.clone()).ok()?;
        u64::try_from(at.timestamp().as_millisecond()).ok().map(Moment)
    }

    fn zoned(&self, moment: Moment) -> Option<Zoned> {
        let at = i64::try_from(moment.0).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok())?;
        Some(at.to_zoned(self.0.clone()))
    }
}

// Beyond the calendar: a wait that never ends.
fn never() -> String {
    "never".to_owned()
}

/// Time since a beginning, in one word: `+12s`, `+46m`, `+1h02m`, `+2d03h`.
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
    use super::{Clock, elapsed};
    use longhaul_core::{Moment, Span};

    #[test]
    fn one_word_for_a_time() {
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
    fn a_day_is_told_where_it_is_another() {
        let clock = Clock::utc();
        let at = |text: &str| clock.read(text).expect("a time");
        let late = at("2026-11-22 23:59:00");
        assert_eq!(clock.near(late, at("2026-11-22T08:00")), "23:59:00");
        assert_eq!(clock.near(at("2026-11-23 00:01"), late), "2026-11-23 00:01:00");
        assert_eq!(clock.near(Moment::MAX, late), "never");
        assert_eq!(clock.read("yesterday"), None);
    }
}
