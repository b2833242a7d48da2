//! Points in time and lengths of time, as plain numbers. This module never reads a clock.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Add, Sub};

/// A point in time: milliseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Moment(pub u64);

/// A length of time in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Span(pub u64);

impl Moment {
    /// The latest moment.
    pub const MAX: Moment = Moment(u64::MAX);

    /// Returns the time since `earlier`, or zero if `earlier` is later (clocks may be set back).
    pub fn since(self, earlier: Moment) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }

    /// Returns the moment `seconds` after the Unix epoch.
    pub const fn from_unix_seconds(seconds: u64) -> Moment {
        Moment(seconds.saturating_mul(1000))
    }
}

impl Span {
    /// The empty span.
    pub const ZERO: Span = Span(0);

    /// Returns a span of whole seconds.
    pub const fn from_secs(seconds: u64) -> Span {
        Span(seconds.saturating_mul(1000))
    }

    /// Returns a span of whole minutes.
    pub const fn from_mins(minutes: u64) -> Span {
        Span::from_secs(minutes.saturating_mul(60))
    }

    /// Returns a span of whole hours.
    pub const fn from_hours(hours: u64) -> Span {
        Span::from_mins(hours.saturating_mul(60))
    }

    /// Returns the span in milliseconds.
    pub const fn millis(self) -> u64 {
        self.0
    }

    /// Returns `self · 2^doublings`, saturating.
    pub fn doubled(self, doublings: u32) -> Span {
        Span(self.0.saturating_mul(1_u64.checked_shl(doublings.min(63)).unwrap_or(u64::MAX)))
    }

    /// Returns the shorter of both spans.
    pub fn at_most(self, other: Span) -> Span {
        Span(self.0.min(other.0))
    }

    /// Returns the span as the standard library's type.
    pub const fn to_std(self) -> std::time::Duration {
        std::time::Duration::from_millis(self.0)
    }
}

impl Add<Span> for Moment {
    type Output = Moment;
    fn add(self, span: Span) -> Moment {
        Moment(self.0.saturating_add(span.0))
    }
}

impl Add for Span {
    type Output = Span;
    fn add(self, other: Span) -> Span {
        Span(self.0.saturating_add(other.0))
    }
}

impl Sub for Span {
    type Output = Span;
    fn sub(self, other: Span) -> Span {
        Span(self.0.saturating_sub(other.0))
    }
}

/// Formats the span for people: `850ms`, `1.4s`, `12s`, `3m 20s`, `5h 2m`, `2d 3h`.
impl fmt::Display for Span {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0 / 1000;
        let pair = |out: &mut fmt::Formatter<'_>, big: u64, unit: &str, small: u64, small_unit: &str| {
            if small == 0 {
                write!(out, "{big}{unit}")
            } else {
                write!(out, "{big}{unit} {small}{small_unit}")
            }
        };
        match self.0 {
            0 => write!(out, "0s"),
            1..1_000 => write!(out, "{}ms", self.0),
            1_000..10_000 if !self.0.is_multiple_of(1000) => {
                write!(out, "{}.{}s", seconds, self.0 % 1000 / 100)
            }
            1_000..60_000 => write!(out, "{seconds}s"),
            60_000..3_600_000 => pair(out, seconds / 60, "m", seconds % 60, "s"),
            3_600_000..86_400_000 => pair(out, seconds / 3600, "h", seconds % 3600 / 60, "m"),
            86_400_000.. => pair(out, seconds / 86_400, "d", seconds % 86_400 / 3600, "h"),
        }
    }
}
