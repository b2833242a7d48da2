//! A duration that the seed draws, written as a number of seconds or as a minimum and a maximum.

use std::time::Duration;

use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize};

use super::duration::duration_from_seconds;
use crate::rng::Rng;

/// A minimum and a maximum. They are equal if the duration is exact or already drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct DurationRange {
    min: Duration,
    max: Duration,
}

impl DurationRange {
    /// Returns a range of exactly this duration.
    pub fn exactly(duration: Duration) -> Self {
        Self { min: duration, max: duration }
    }

    /// Returns the drawn duration, or the minimum if none is drawn yet.
    pub fn duration(self) -> Duration {
        self.min
    }

    /// Draws a duration. An exact range consumes no random number, so that it does not change later draws.
    pub(crate) fn draw(self, rng: &mut Rng) -> Self {
        let range_ms = (self.max - self.min).as_millis() as u64;
        if range_ms == 0 {
            return self;
        }
        Self::exactly(self.min + Duration::from_millis(rng.below(range_ms + 1)))
    }
}

impl<'de> Deserialize<'de> for DurationRange {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum RawRange {
            Exact(f64),
            Between(f64, f64),
        }
        let (min, max) = match RawRange::deserialize(input)? {
            RawRange::Exact(seconds) => (seconds, seconds),
            RawRange::Between(min, max) => (min, max),
        };
        if min > max {
            return Err(D::Error::custom(format!("the minimum, {min}, is greater than the maximum, {max}")));
        }
        Ok(Self { min: duration_from_seconds(min)?, max: duration_from_seconds(max)? })
    }
}
