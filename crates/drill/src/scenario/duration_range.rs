//! A duration that the seed draws, written as a number of seconds or as a minimum and a maximum.

use std::time::Duration;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _};

use super::duration::checked;
use crate::rng::Rng;

/// A minimum and a maximum. They are equal if the seed has nothing to draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DurationRange {
    least: Duration,
    most: Duration,
}

impl DurationRange {
    /// Returns a range of exactly this duration.
    #[must_use]
    pub fn exactly(duration: Duration) -> Self {
        Self { least: duration, most: duration }
    }

    /// Returns the drawn duration, or the minimum before it is drawn.
    #[must_use]
    pub fn drawn(self) -> Duration {
        self.least
    }

    /// Draws a duration. An exact range consumes no random number, so that it does not change later draws.
    pub(crate) fn draw(self, rng: &mut Rng) -> Self {
        let range_ms = (self.most - self.least).as_millis() as u64;
        if range_ms == 0 {
            return self;
        }
        Self::exactly(self.least + Duration::from_millis(rng.below(range_ms + 1)))
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
        let (least, most) = match RawRange::deserialize(input)? {
            RawRange::Exact(seconds) => (seconds, seconds),
            RawRange::Between(least, most) => (least, most),
        };
        if least > most {
            return Err(D::Error::custom(format!("the least, {least}, is more than the most, {most}")));
        }
        Ok(Self { least: checked(least)?, most: checked(most)? })
    }
}
