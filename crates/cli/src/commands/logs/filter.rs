//! Which part of what was said is wanted: an attempt's, or from a moment on.

use jiff::Timestamp;
use longhaul_core::Moment;
use serde::Deserialize;
use std::borrow::Cow;

/// What is wanted.
#[derive(Clone, Copy, Debug)]
pub struct LogFilter {
    pub attempt: Option<u32>,
    pub since: Option<Moment>,
}

impl LogFilter {
    pub fn is_all(self) -> bool {
        self.attempt.is_none() && self.since.is_none()
    }

    /// The same for a conversation from its beginning.
    pub fn filter(self) -> LogFilterState {
        LogFilterState { filter: self, has_started: self.since.is_none() }
    }
}

/// What takes the wanted messages of a conversation.
pub struct LogFilterState {
    filter: LogFilter,
    /// Whether the moment was reached: what follows has no time of its own, or a later one.
    has_started: bool,
}

/// What tells whose message a line is, and when it was said.
#[derive(Deserialize)]
struct LineHeader<'a> {
    attempt: u32,
    #[serde(borrow, default)]
    timestamp: Option<Cow<'a, str>>,
}

impl LogFilterState {
    /// Whether this message is wanted.
    pub fn takes(&mut self, attempt: u32, timestamp: Option<&str>) -> bool {
        if let (false, Some(since), Some(at)) =
            (self.has_started, self.filter.since, timestamp.and_then(moment))
        {
            self.has_started = at >= since;
        }
        self.has_started && self.filter.attempt.is_none_or(|wanted| wanted == attempt)
    }

    /// The same for a line of a transcript. What is no message is wanted with all else.
    pub fn takes_line(&mut self, line: &[u8]) -> bool {
        if self.filter.is_all() {
            return true;
        }
        let sign = serde_json::from_slice::<LineHeader<'_>>(line);
        sign.is_ok_and(|sign| self.takes(sign.attempt, sign.timestamp.as_deref()))
    }
}

/// A moment in RFC 3339.
pub fn moment(text: &str) -> Option<Moment> {
    let timestamp: Timestamp = text.parse().ok()?;
    u64::try_from(timestamp.as_millisecond()).ok().map(Moment)
}

#[cfg(test)]
mod tests {
    use super::{LogFilter, moment};

    #[test]
    fn what_has_no_time_goes_with_what_is_before_it() {
        let since = moment("2026-11-22T10:00:00Z");
        let mut filter = LogFilter { attempt: Some(2), since }.filter();
        for (attempt, timestamp, expected) in [
            (1, Some("2026-11-22T09:00:00Z"), false),
            (1, None, false),
            (1, Some("2026-11-22T11:00:00.5+01:00"), false),
            (2, None, true),
            (2, Some("2026-11-22T10:00:01Z"), true),
            (2, Some("no time"), true),
            (3, Some("2026-11-22T12:00:00Z"), false),
        ] {
            assert_eq!(filter.takes(attempt, timestamp), expected, "{attempt} {timestamp:?}");
        }
        let mut all = LogFilter { attempt: None, since: None }.filter();
        assert!(all.takes_line(b"not JSON") && all.takes(1, None));
    }
}
