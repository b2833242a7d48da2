//! Writes dollars to derived JSON files: micro-dollars become a decimal number of dollars, for
//! `#[serde(with = "dollars")]`. Longhaul never computes with that number.

use longhaul_core::Usd;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serializer};

pub(crate) fn serialize<S: Serializer>(amount: &Usd, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_f64(amount.as_dollars())
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<Usd, D::Error> {
    let dollars = f64::deserialize(input)?;
    Usd::from_dollars(dollars).ok_or_else(|| D::Error::custom("not an amount of dollars"))
}

/// For `#[serde(with = "dollars::option")]`: an unknown amount is null.
pub(crate) mod option {
    use super::{Deserialize, Deserializer, Error, Serializer, Usd};

    pub(crate) fn serialize<S: Serializer>(amount: &Option<Usd>, out: S) -> Result<S::Ok, S::Error> {
        match amount {
            Some(amount) => super::serialize(amount, out),
            None => out.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<Option<Usd>, D::Error> {
        let Some(dollars) = Option::<f64>::deserialize(input)? else { return Ok(None) };
        Usd::from_dollars(dollars).map(Some).ok_or_else(|| D::Error::custom("not an amount of dollars"))
    }
}
