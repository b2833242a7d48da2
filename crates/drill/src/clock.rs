//! Formats wall-clock times in the forms that the protocol uses. All times are in UTC.

use std::time::{SystemTime, UNIX_EPOCH};

/// Returns milliseconds since 1970, or 0 if the machine's clock is before that.
pub(crate) fn unix_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |age| age.as_millis() as u64)
}

/// Formats a time like `2026-11-21T23:40:31.521Z`.
pub(crate) fn rfc3339(unix_ms: u64) -> String {
    let seconds = unix_ms / 1000;
    let (year, month, day) = date(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", unix_ms % 1000)
}

/// Formats a time like `1:46am`, as in the agent's message about the reset of a usage window.
pub(crate) fn hour_of_day(unix_seconds: u64) -> String {
    let (hour, minute) = (unix_seconds / 3600 % 24, unix_seconds / 60 % 60);
    let half = if hour < 12 { "am" } else { "pm" };
    let hour_12 = if hour % 12 == 0 { 12 } else { hour % 12 };
    if minute == 0 { format!("{hour_12}{half}") } else { format!("{hour_12}:{minute:02}{half}") }
}

/// Formats a time like `Nov 26, 2:53pm`.
pub(crate) fn day_and_hour(unix_seconds: u64) -> String {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let (_, month, day) = date(unix_seconds / 86_400);
    format!("{} {day}, {}", MONTHS[(month - 1) as usize], hour_of_day(unix_seconds))
}

/// Returns year, month and day of a number of days since 1970 (civil-calendar arithmetic over 400-year eras).
fn date(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let day_of_era = shifted % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_shifted + 2) / 5 + 1;
    let month = if month_shifted < 10 { month_shifted + 3 } else { month_shifted - 9 };
    (year_of_era + era * 400 + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_times_like_the_agent() {
        assert_eq!(rfc3339(1_795_304_509_894), "2026-11-21T23:41:49.894Z");
        assert_eq!(hour_of_day(1_795_311_992), "1:46am");
        assert_eq!(day_and_hour(1_795_704_792), "Nov 26, 2:53pm");
        assert_eq!(rfc3339(951_782_400_000), "2000-02-29T00:00:00.000Z");
    }
}
