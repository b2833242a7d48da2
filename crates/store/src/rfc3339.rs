//! Writes moments as RFC 3339 text in files that people and other programs read. The journal uses plain
//! milliseconds.

use longhaul_core::{Moment, parse_rfc3339, rfc3339};
use serde::{Deserialize, Deserializer, Serializer, de};

/// For `#[serde(with = "rfc3339")]`.
pub(crate) fn serialize<S: Serializer>(moment: &Moment, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_str(&rfc3339(*moment))
}

/// For `#[serde(with = "rfc3339")]`.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<Moment, D::Error> {
    let text = String::deserialize(input)?;
    parse(&text)
}

fn parse<E: de::Error>(text: &str) -> Result<Moment, E> {
    parse_rfc3339(text).ok_or_else(|| E::custom(format!("`{text}` is not a moment")))
}

/// For `#[serde(with = "rfc3339::option")]`.
pub(crate) mod option {
    use super::{Deserialize, Deserializer, Moment, Serializer, parse};

    pub(crate) fn serialize<S: Serializer>(moment: &Option<Moment>, out: S) -> Result<S::Ok, S::Error> {
        match moment {
            Some(moment) => super::serialize(moment, out),
            None => out.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<Option<Moment>, D::Error> {
        Option::<String>::deserialize(input)?.map(|text| parse(&text)).transpose()
    }
}
