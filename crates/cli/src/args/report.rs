//! The flags of `longhaul report`.

use crate::duration::duration;
use clap::Args;
use jiff::civil::{Date, DateTime};
use jiff::{Span, Timestamp, Zoned};
use longhaul_core::Moment;

/// Said at the end of the help of `report`.
pub const FORMS: &str = "The page is one file that loads nothing and runs nothing. With --output-format json it is one JSON object instead.";

#[derive(Debug, Args)]
pub struct ReportArgs {
    /// The run: the first letters of its id, `@` for the last one, or its directory [default: all of the last 24 hours]
    #[arg(value_name = "RUN", conflicts_with = "since")]
    pub run: Option<String>,
    /// Tell of all runs that were active since then: a duration such as `12h` or `7d`, or a date and time such as
    /// `2026-05-01` or `2026-05-01T18:30`
    #[arg(long, value_name = "WHEN", value_parser = since)]
    pub since: Option<Since>,
    /// Write text of 100 columns instead of a page
    #[arg(long)]
    pub text: bool,
    /// The file to write, in place of one that is there; `-` is stdout [default: `longhaul-report-DATE.html` in this
    /// directory; text and JSON go to stdout]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<std::path::PathBuf>,
}

/// From when on a report tells.
#[derive(Clone, Debug)]
pub enum Since {
    /// So long ago; days and weeks are those of the calendar.
    Ago(Span),
    /// A moment, wherever one is.
    At(Timestamp),
    /// A date and time of the local clock.
    Local(DateTime),
}

impl Since {
    /// That moment, for somebody whose clock shows this.
    ///
    /// # Errors
    /// In words for people: it is not in the past, or beyond the calendar.
    pub fn moment(&self, now: &Zoned) -> Result<Moment, String> {
        let beyond = "it is beyond the calendar".to_owned();
        let at = match self {
            Since::Ago(span) => now.checked_sub(*span).map_err(|_| beyond.clone())?.timestamp(),
            Since::At(timestamp) => *timestamp,
            Since::Local(local) => {
                local.to_zoned(now.time_zone().clone()).map_err(|_| beyond.clone())?.timestamp()
            }
        };
        if at > now.timestamp() {
            return Err("it is in the future".to_owned());
        }
        Ok(Moment(u64::try_from(at.as_millisecond()).map_err(|_| beyond)?))
    }
}

fn since(text: &str) -> Result<Since, String> {
    let text = text.trim();
    if let Ok(span) = duration(text) {
        let millis = i64::try_from(span.millis()).unwrap_or(i64::MAX);
        return Span::new().try_milliseconds(millis).map(Since::Ago).map_err(|_| hint());
    }
    // The clock's own durations know days, which the calendar has to say the length of.
    if let Ok(span) = text.parse::<Span>() {
        return if span.is_negative() { Err(hint()) } else { Ok(Since::Ago(span)) };
    }
    if let Ok(at) = text.parse::<Timestamp>() {
        return Ok(Since::At(at));
    }
    let date = || text.parse::<Date>().map(|date| date.at(0, 0, 0, 0));
    text.parse::<DateTime>().or_else(|_| date()).map(Since::Local).map_err(|_| hint())
}

fn hint() -> String {
    "expected a duration like 12h or 7d, or a date like 2026-05-01 or 2026-05-01T18:30".to_owned()
}

#[cfg(test)]
mod tests {
    use super::since;
    use jiff::Zoned;

    #[test]
    fn what_people_type_is_a_moment() {
        // Four days after the clocks were put forward there: a day is not always 24 hours.
        let now: Zoned = "2026-04-02T12:00:00+02:00[Europe/Berlin]".parse().expect("a time");
        let check = |text: &str, expected: &str| {
            let at = since(text).expect("it is understood").moment(&now).expect("it is in the past");
            assert_eq!(longhaul_store::rfc3339(at), expected, "{text}");
        };
        check("12h", "2026-04-01T22:00:00.000Z");
        check("90", "2026-04-02T09:58:30.000Z");
        check("1h30m", "2026-04-02T08:30:00.000Z");
        check("7d", "2026-03-26T11:00:00.000Z");
        check("1w", "2026-03-26T11:00:00.000Z");
        check("2026-04-01", "2026-03-31T22:00:00.000Z");
        check("2026-04-01T18:30", "2026-04-01T16:30:00.000Z");
        check("2026-04-01 18:30", "2026-04-01T16:30:00.000Z");
        check("2026-04-01T18:30:00Z", "2026-04-01T18:30:00.000Z");
    }

    #[test]
    fn what_is_no_moment_of_the_past_is_refused() {
        let now: Zoned = "2026-04-02T12:00:00+02:00[Europe/Berlin]".parse().expect("a time");
        for text in ["", "yesterday", "-5h", "2026-13-01", "12 parsecs", "-7d"] {
            assert!(since(text).is_err(), "{text}");
        }
        for (text, why) in [("2026-04-03", "in the future"), ("9000y", "beyond the calendar")] {
            let error = since(text).expect("it is understood").moment(&now).expect_err("it is refused");
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
