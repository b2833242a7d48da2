//! Parses the agent's timestamps: `2026-11-22T05:30:54.299Z`, always UTC.

use longhaul_core::Moment;

/// Returns the moment, or `None` if the text has another format.
pub(super) fn moment(text: &str) -> Option<Moment> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let [year, month, day] = numbers(date, '-')?;
    let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let [hour, minute, second] = numbers(time, ':')?;
    let in_range = (1970..=9999).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && hour < 24
        && minute < 60
        && second <= 60;
    let milliseconds: u64 = format!("{:0<3.3}", fraction).parse().ok()?;
    let seconds = ((days(year, month, day) * 24 + hour) * 60 + minute) * 60 + second;
    in_range.then_some(Moment(seconds * 1000 + milliseconds))
}

fn numbers(text: &str, separator: char) -> Option<[u64; 3]> {
    let numbers: Option<Vec<u64>> =
        text.split(separator).map(|digits| digits.parse().ok().filter(|&number| number < 10_000)).collect();
    numbers?.try_into().ok()
}

/// Returns the days since 1970-01-01. The year starts in March, so that the leap day is its last.
fn days(year: u64, month: u64, day: u64) -> u64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year.saturating_sub(1), month + 9) };
    let leap_days = year / 4 - year / 100 + year / 400;
    // Between the first of March of year 0 and 1970-01-01 lie 719,468 days.
    (year * 365 + leap_days + (month * 153 + 2) / 5 + day).saturating_sub(719_469)
}

#[cfg(test)]
mod tests {
    use super::moment;

    #[test]
    fn parses_timestamps() {
        let check = |text: &str, milliseconds: Option<u64>| {
            assert_eq!(moment(text).map(|moment| moment.0), milliseconds, "{text}");
        };
        check("1970-01-01T00:00:00.000Z", Some(0));
        check("2000-03-01T00:00:00Z", Some(951_868_800_000));
        check("2024-02-29T23:59:59.5Z", Some(1_709_251_199_500));
        check("2026-11-21T23:40:36.115Z", Some(1_795_304_436_115));
        for other in ["", "Z", "2026-11-21", "2026-13-21T23:40:36Z", "2026-11-21T23:40Z", "é-1-1T1:1:1.éZ"]
        {
            check(other, None);
        }
    }
}
