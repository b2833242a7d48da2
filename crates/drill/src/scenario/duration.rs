//! Parses durations of a scenario file: a number of seconds, possibly with decimals, in a field whose name
//! ends in `_s`.

use std::time::Duration;

use serde::{Deserialize, Deserializer, de};

/// No drill lasts longer; a larger number is a typing error.
const SECONDS_MAX: f64 = 86_400.0;

pub(super) fn seconds<'de, D: Deserializer<'de>>(input: D) -> Result<Duration, D::Error> {
    duration_from_seconds(f64::deserialize(input)?)
}

pub(super) fn duration_from_seconds<E: de::Error>(seconds: f64) -> Result<Duration, E> {
    if (0.0..=SECONDS_MAX).contains(&seconds) {
        Ok(Duration::from_secs_f64(seconds))
    } else {
        Err(E::custom(format!("expected seconds between 0 and {SECONDS_MAX}, got {seconds}")))
    }
}

pub(super) fn optional_seconds<'de, D: Deserializer<'de>>(input: D) -> Result<Option<Duration>, D::Error> {
    seconds(input).map(Some)
}
