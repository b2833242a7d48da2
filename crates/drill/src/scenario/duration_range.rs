//! A duration that the seed draws: written as a number of seconds, or as the least and the most of them.

use std::time::Duration;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _};

use super::duration::checked;
use crate::rng::Rng;

/// From the least to the most; the same twice, if it is not for the seed to draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DurationRange {
    least: Duration,
    most: Duration,
}

impl DurationRange {
    /// This long, whatever the seed.
    #[must_use]
    pub fn exactly(duration: Duration) -> Self {
        Self { least: duration, most: duration }
    }

    /// The duration, once it is drawn; until then the least.
    #[must_use]
    pub fn drawn(self) -> Duration {
        self.least
    }

    /// Draws; an exact one leaves the dice alone, so that it does not change what else they draw.
    pub(crate) fn draw(self, rng: &mut Rng) -> Self {
        let room = (self.most - self.least).as_millis() as u64;
        if room == 0 {
            return self;
        }
        Self::exactly(self.least + Duration::from_millis(rng.below(room + 1)))
    }
}

impl<'de> Deserialize<'de> for DurationRange {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Exact(f64),
            Between(f64, f64),
        }
        let (least, most) = match Written::deserialize(input)? {
            Written::Exact(seconds) => (seconds, seconds),
            Written::Between(least, most) => (least, most),
        };
        if least > most {
            return Err(D::Error::custom(format!("the least, {least}, is more than the most, {most}")));
        }
        Ok(Self { least: checked(least)?, most: checked(most)? })
    }
}
