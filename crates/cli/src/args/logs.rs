//! What `longhaul logs` takes.

use crate::duration::duration;
use clap::Args;
use jiff::civil::{DateTime, Time};
use jiff::{Timestamp, ToSpan, Zoned};
use longhaul_core::{Moment, Span};

#[derive(Debug, Args)]
pub struct LogsArgs {
    /// The run: the first letters of its id, `@` for the last one, or its directory
    #[arg(value_name = "RUN")]
    pub run: String,
    /// Go on printing what is said and done, until the run is over; also across a supervisor that dies, once the run is
    /// recovered
    #[arg(long, short)]
    pub follow: bool,
    /// Only this attempt, from 1
    #[arg(long, value_name = "N")]
    pub attempt: Option<u32>,
    /// Only from then on: a duration before now, like 10m; a local time, like 22:04 or 2026-11-22 22:04; or one in RFC 3339
    #[arg(long, value_name = "WHEN", value_parser = since)]
    pub since: Option<Since>,
    /// Print the agent's own stream, line by line, as it came
    #[arg(long, conflicts_with = "transcript_json")]
    pub raw: bool,
    /// Print all of it as one JSON array, an object each message, instead of text
    #[arg(long, conflicts_with = "follow")]
    pub transcript_json: bool,
}

/// A moment as people name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    /// So long before now.
    Ago(Span),
    At(Moment),
    /// By the clock of whoever asks.
    Date(DateTime),
    /// The last time that this clock showed it.
    Clock(Time),
}

impl Since {
    /// The moment that is meant at `now`.
    pub fn moment(self, now: &Zoned) -> Moment {
        let of = |zoned: Zoned| of_timestamp(zoned.timestamp());
        match self {
            Since::At(moment) => moment,
            Since::Ago(span) => Moment(of(now.clone()).0.saturating_sub(span.millis())),
            Since::Date(date) => date.to_zoned(now.time_zone().clone()).map_or(Moment(0), of),
            Since::Clock(time) => {
                let on = |day: &Zoned| day.with().time(time).build().ok();
                let today = on(now).filter(|at| at <= now);
                let at = today.or_else(|| on(&now.checked_sub(1.day()).ok()?));
                at.map_or(Moment(0), of)
            }
        }
    }
}

fn of_timestamp(timestamp: Timestamp) -> Moment {
    Moment(u64::try_from(timestamp.as_millisecond()).unwrap_or_default())
}

fn since(text: &str) -> Result<Since, String> {
    let text = text.trim();
    // `22:31:05` would be a duration, too; behind "since" it is a time.
    if let Some(span) = duration(text).ok().filter(|_| !text.contains(':')) {
        return Ok(Since::Ago(span));
    }
    if let Ok(timestamp) = text.parse::<Timestamp>() {
        return Ok(Since::At(of_timestamp(timestamp)));
    }
    let time = || text.parse::<Time>().map(Since::Clock);
    text.parse::<DateTime>().map(Since::Date).or_else(|_| time()).map_err(|_| {
        "expected a duration like 10m or 1h30m, a local time like 22:04 or \"2026-11-22 22:04\", or one in RFC 3339"
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::since;
    use jiff::Zoned;

    #[test]
    fn moments_as_people_name_them() {
        let now: Zoned = "2026-11-22T22:30:00+01:00[Europe/Paris]".parse().expect("a time");
        for (text, expected) in [
            ("10m", "2026-11-22T21:20:00Z"),
            ("90", "2026-11-22T21:28:30Z"),
            ("2026-11-22T20:00:00Z", "2026-11-22T20:00:00Z"),
            ("2026-11-22T20:00:00+02:00", "2026-11-22T18:00:00Z"),
            ("2026-11-22 20:00", "2026-11-22T19:00:00Z"),
            ("2026-11-21", "2026-11-20T23:00:00Z"),
            ("22:04", "2026-11-22T21:04:00Z"),
            ("22:31:05", "2026-11-21T21:31:05Z"),
        ] {
            let moment = since(text).expect("it can be read").moment(&now);
            assert_eq!(longhaul_store::rfc3339(moment).replace(".000", ""), expected, "{text}");
        }
        for text in ["", "soon", "25:00", "2026-13-01", "-5m"] {
            assert!(since(text).is_err(), "{text}");
        }
    }
}
