//! Selects messages by attempt and time.

use jiff::Timestamp;
use longhaul_agent::transcript_message::MessageHeader;
use longhaul_core::Moment;

/// A selection of messages of one conversation.
#[derive(Clone, Copy, Debug)]
pub struct LogFilter {
    pub attempt: Option<u32>,
    /// Start of the selection. `None` once it was reached: later messages have a later time or none.
    pub since: Option<Moment>,
}

impl LogFilter {
    pub fn is_all(self) -> bool {
        self.attempt.is_none() && self.since.is_none()
    }

    pub fn selects(&mut self, attempt: u32, timestamp: Option<&str>) -> bool {
        if let Some((since, at)) = self.since.zip(timestamp.and_then(moment)) {
            self.since = self.since.filter(|_| at < since);
        }
        self.since.is_none() && self.attempt.is_none_or(|selected| selected == attempt)
    }

    pub fn selects_line(&mut self, line: &[u8]) -> bool {
        MessageHeader::parse(line)
            .is_some_and(|header| self.selects(header.attempt, header.timestamp.as_deref()))
    }
}

pub fn moment(text: &str) -> Option<Moment> {
    let timestamp: Timestamp = text.parse().ok()?;
    u64::try_from(timestamp.as_millisecond()).ok().map(Moment)
}

#[cfg(test)]
mod tests {
    use super::{LogFilter, moment};

    #[test]
    fn message_without_time_belongs_to_previous_one() {
        let since = moment("2026-11-22T10:00:00Z");
        let mut filter = LogFilter { attempt: Some(2), since };
        for (attempt, timestamp, expected) in [
            (1, Some("2026-11-22T09:00:00Z"), false),
            (1, None, false),
            (1, Some("2026-11-22T11:00:00.5+01:00"), false),
            (2, None, true),
            (2, Some("2026-11-22T10:00:01Z"), true),
            (2, Some("no time"), true),
            (3, Some("2026-11-22T12:00:00Z"), false),
        ] {
            assert_eq!(filter.selects(attempt, timestamp), expected, "{attempt} {timestamp:?}");
        }
        assert!(!filter.selects_line(b"not JSON"));
    }
}
