//! Numbers, times and texts as a report prints them, the same on a page and in text.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use longhaul_core::{Moment, Usd};

/// The clock of the people that a report is for.
#[derive(Clone, Debug)]
pub struct Clock {
    zone: TimeZone,
}

impl Clock {
    /// A clock in this time zone.
    pub fn new(zone: TimeZone) -> Clock {
        Clock { zone }
    }

    /// `2026-05-01 18:30`.
    pub fn full(&self, at: Moment) -> String {
        self.show(at, "%Y-%m-%d %H:%M")
    }

    /// `May 1 18:30`: the year is said once.
    pub fn short(&self, at: Moment) -> String {
        self.show(at, "%b %-d %H:%M")
    }

    /// `18:30:05`, of what an agent wrote down; as it is where that is no time.
    pub fn time(&self, written: &str) -> String {
        match written.parse::<Timestamp>() {
            Ok(at) => at.to_zoned(self.zone.clone()).strftime("%H:%M:%S").to_string(),
            Err(_) => written.to_owned(),
        }
    }

    /// The zone at that moment, such as `UTC` or `CEST`.
    pub fn zone(&self, at: Moment) -> String {
        self.show(at, "%Z")
    }

    fn show(&self, at: Moment, form: &str) -> String {
        let at = i64::try_from(at.0).ok().and_then(|at| Timestamp::from_millisecond(at).ok());
        // Beyond the calendar: a wait that never ends.
        at.map_or_else(|| "never".to_owned(), |at| at.to_zoned(self.zone.clone()).strftime(form).to_string())
    }
}

/// Cents where there are dollars; of less, as much as tells two small runs apart.
pub fn money(amount: Usd) -> String {
    match amount.0 {
        0 => "$0".to_owned(),
        1..1_000_000 => format!("${:.4}", amount.dollars()),
        1_000_000.. => format!("${:.2}", amount.dollars()),
    }
}

/// What was stated and what was estimated, apart.
pub fn cost(stated: Usd, estimated: Usd, unpriced: bool) -> String {
    let more = if unpriced { " or more: some has no price" } else { "" };
    match (stated, estimated) {
        (stated, Usd::ZERO) => format!("{}{more}", money(stated)),
        (Usd::ZERO, estimated) => format!("about {}{more}", money(estimated)),
        (stated, estimated) => format!("{} and about {}{more}", money(stated), money(estimated)),
    }
}

/// `950`, `12.3k`, `4.5M`.
pub fn short_count(count: u64) -> String {
    let (unit, sign) = match count {
        0..10_000 => return count.to_string(),
        10_000..1_000_000 => (1_000.0, "k"),
        1_000_000..1_000_000_000 => (1_000_000.0, "M"),
        1_000_000_000.. => (1_000_000_000.0, "G"),
    };
    format!("{:.1}{sign}", count as f64 / unit)
}

/// `1 run`, `2 runs`.
pub fn counted(count: u64, one: &str) -> String {
    let many = if count == 1 { "" } else { "s" };
    format!("{count} {one}{many}")
}

/// Without signs that a terminal would obey, and without those that turn the direction of what follows: a text of a
/// model or of a file shall look like what it is.
pub fn plain(text: &str) -> String {
    text.chars().filter(|sign| !is_unruly(*sign)).collect()
}

/// Whether a sign does something to others than to stand there.
pub fn is_unruly(sign: char) -> bool {
    let turns = matches!(sign, '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}');
    turns || sign.is_control() && sign != '\n' && sign != '\t'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short() {
        for (micros, text) in [(0, "$0"), (1_234, "$0.0012"), (999_999, "$1.0000"), (12_345_678, "$12.35")] {
            assert_eq!(money(Usd(micros)), text);
        }
        for (count, text) in
            [(0, "0"), (9_999, "9999"), (10_000, "10.0k"), (1_250_000, "1.2M"), (2_000_000_000, "2.0G")]
        {
            assert_eq!(short_count(count), text);
        }
        assert_eq!((counted(1, "run"), counted(0, "run")), ("1 run".to_owned(), "0 runs".to_owned()));
        assert_eq!(
            cost(Usd(1_500_000), Usd(20_000), true),
            "$1.50 and about $0.0200 or more: some has no price"
        );
        assert_eq!(cost(Usd::ZERO, Usd(20_000), false), "about $0.0200");
        assert_eq!(plain("a\u{1b}[2Jb\u{202e}c\u{200f}d\ne"), "a[2Jbcd\ne");
    }

    #[test]
    fn a_clock_is_that_of_its_zone() {
        let clock = Clock::new(TimeZone::get("Europe/Berlin").expect("it is a zone"));
        let at = Moment(1_767_225_600_000);
        assert_eq!(clock.full(at), "2026-01-01 01:00");
        assert_eq!(clock.short(at), "Jan 1 01:00");
        assert_eq!(clock.time("2026-01-01T00:00:05.123Z"), "01:00:05");
        assert_eq!(clock.time("soon"), "soon");
        assert_eq!(clock.zone(at), "CET");
        assert_eq!(clock.full(Moment::MAX), "never");
    }
}
