//! The local date that a run is filed under. The caller passes it in; this module does not know the time
//! zone.

use std::fmt;
use std::str::FromStr;

/// A date as `YYYY-MM-DD`. Its text order is its time order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Day(String);

impl Day {
    /// Returns the date as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Text that is not a date.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a date; a date is written YYYY-MM-DD")]
pub struct ParseDayError(String);

impl FromStr for Day {
    type Err = ParseDayError;
    fn from_str(text: &str) -> Result<Day, ParseDayError> {
        let shape = text.bytes().map(|byte| if byte.is_ascii_digit() { b'0' } else { byte });
        let plausible = shape.eq(b"0000-00-00".iter().copied())
            && ("01"..="12").contains(&&text[5..7])
            && ("01"..="31").contains(&&text[8..10]);
        plausible.then(|| Day(text.to_owned())).ok_or_else(|| ParseDayError(text.to_owned()))
    }
}

impl fmt::Display for Day {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_only_dates() {
        assert_eq!("2025-11-22".parse::<Day>().expect("a date").as_str(), "2025-11-22");
        for text in ["", "2025-13-01", "2025-00-10", "2025-01-32", "../../etc", "2025-1-1", ".new-ab"] {
            assert!(text.parse::<Day>().is_err(), "{text}");
        }
    }
}
