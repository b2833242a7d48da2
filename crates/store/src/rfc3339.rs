//! Converts moments to and from RFC 3339 text in UTC, for files that people and other programs read. The
//! journal uses plain milliseconds. This module never reads a clock or a time zone.

use longhaul_core::Moment;
use serde::{Deserialize, Deserializer, Serializer, de};

const DAY_MS: u64 = 86_400_000;
// The end of the year 9999, the last with four digits. A later moment is written as this one.
const LAST_MS: u64 = 253_402_300_799_999;

/// Returns the moment as `2025-11-22T01:34:05.120Z`.
pub fn rfc3339(moment: Moment) -> String {
    let ms = moment.0.min(LAST_MS);
    let (year, month, day) = civil(ms / DAY_MS);
    let (second, milli) = (ms % DAY_MS / 1000, ms % 1000);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
}

/// Parses the output of [`rfc3339`]. Only Longhaul writes these files, so no other form is accepted.
pub(crate) fn parse(text: &str) -> Option<Moment> {
    let shape = text.bytes().map(|byte| if byte.is_ascii_digit() { b'0' } else { byte });
    if !shape.eq(b"0000-00-00T00:00:00.000Z".iter().copied()) {
        return None;
    }
    let number = |from: usize, to: usize| text[from..to].parse::<u64>().ok();
    let days = days(number(0, 4)?, number(5, 7)?, number(8, 10)?)?;
    let seconds = number(11, 13)? * 3600 + number(14, 16)? * 60 + number(17, 19)?;
    Some(Moment(days * DAY_MS + seconds * 1000 + number(20, 23)?))
}

/// Returns the year, month and day this many days after 1970-01-01 (Howard Hinnant, `civil_from_days`).
fn civil(days: u64) -> (u64, u64, u64) {
    // Counted from 0000-03-01, so that the leap day is the last day of its year.
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

/// Inverts [`civil`]. Returns `None` before 1970 and for invalid months and days.
fn days(year: u64, month: u64, day: u64) -> Option<u64> {
    if year < 1970 || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let year = year - u64::from(month <= 2);
    let (era, year_of_era) = (year / 400, year % 400);
    let march_month = (month + 9) % 12;
    let day_of_year = (153 * march_month + 2) / 5 + day - 1;
    Some(era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468)
}

/// For `#[serde(with = "rfc3339")]`.
pub(crate) fn serialize<S: Serializer>(moment: &Moment, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_str(&rfc3339(*moment))
}

/// For `#[serde(with = "rfc3339")]`.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<Moment, D::Error> {
    let text = String::deserialize(input)?;
    parse(&text).ok_or_else(|| de::Error::custom(format!("`{text}` is not a moment")))
}

/// For `#[serde(with = "rfc3339::option")]`.
pub(crate) mod option {
    use super::{Deserialize, Deserializer, Moment, Serializer, de, parse};

    pub(crate) fn serialize<S: Serializer>(moment: &Option<Moment>, out: S) -> Result<S::Ok, S::Error> {
        match moment {
            Some(moment) => super::serialize(moment, out),
            None => out.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<Option<Moment>, D::Error> {
        let Some(text) = Option::<String>::deserialize(input)? else { return Ok(None) };
        let moment = parse(&text).ok_or_else(|| de::Error::custom(format!("`{text}` is not a moment")))?;
        Ok(Some(moment))
    }
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
            (LAST_MS, "9999-12-31T23:59:59.999Z"),
        ] {
            assert_eq!(rfc3339(Moment(ms)), text);
            assert_eq!(parse(text), Some(Moment(ms)));
        }
        assert_eq!(rfc3339(Moment(u64::MAX)), "9999-12-31T23:59:59.999Z");
    }

    #[test]
    fn round_trips_every_day_of_four_centuries() {
        for day in 0..146_097 {
            let moment = Moment(day * DAY_MS + day % DAY_MS);
            assert_eq!(parse(&rfc3339(moment)), Some(moment));
        }
    }

    #[test]
    fn rejects_other_forms() {
        for text in ["", "2025-11-22", "2025-13-01T00:00:00.000Z", "2025-11-22T01:34:05+01:00", "é"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
