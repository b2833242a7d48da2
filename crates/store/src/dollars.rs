//! Money in derived JSON files: micro-dollars written as a decimal number of dollars, for
//! `#[serde(with = "dollars")]`. Nothing computes with that number.

use longhaul_core::Usd;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serializer};

pub(crate) fn serialize<S: Serializer>(amount: &Usd, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_f64(amount.dollars())
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<Usd, D::Error> {
    let dollars = f64::deserialize(input)?;
    Usd::from_dollars(dollars).ok_or_else(|| D::Error::custom("not an amount of dollars"))
}
