//! Parses durations of a scenario file: a number of seconds, possibly with decimals, in a field whose name
//! ends in `_s`. A duration that the seed draws may also be a minimum and a maximum.

use std::ops::RangeInclusive;
use std::time::Duration;

use serde::{Deserialize, Deserializer, de};

/// No drill lasts longer; a larger number is a typing error.
const SECONDS_MAX: f64 = 86_400.0;

pub(super) fn seconds<'de, D: Deserializer<'de>>(input: D) -> Result<Duration, D::Error> {
    duration_from_seconds(f64::deserialize(input)?)
}

fn duration_from_seconds<E: de::Error>(seconds: f64) -> Result<Duration, E> {
    if (0.0..=SECONDS_MAX).contains(&seconds) {
        Ok(Duration::from_secs_f64(seconds))
    } else {
        Err(E::custom(format!("expected seconds between 0 and {SECONDS_MAX}, got {seconds}")))
    }
}

pub(super) fn optional_seconds<'de, D: Deserializer<'de>>(input: D) -> Result<Option<Duration>, D::Error> {
    seconds(input).map(Some)
}

pub(super) fn range<'de, D: Deserializer<'de>>(input: D) -> Result<RangeInclusive<Duration>, D::Error> {
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
        let message = format!("the minimum, {min}, is greater than the maximum, {max}");
        return Err(de::Error::custom(message));
    }
    Ok(duration_from_seconds(min)?..=duration_from_seconds(max)?)
}
