//! Values that stay unparsed until they are needed, because most of them never are.

use super::{Block, List, Text, parse};
use serde::de::{Deserializer, SeqAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;
use std::fmt;

/// A raw value.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::claude) struct Raw<'a>(Option<&'a RawValue>);

impl<'de: 'a, 'a> Deserialize<'de> for Raw<'a> {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        <&RawValue>::deserialize(input).map(|raw| Raw(Some(raw)))
    }
}

impl Serialize for Raw<'_> {
    fn serialize<S: Serializer>(&self, output: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(output)
    }
}

impl<'a> Raw<'a> {
    /// Returns whether the value is missing.
    pub(in crate::claude) fn is_missing(&self) -> bool {
        self.0.is_none()
    }

    /// Returns the JSON text, or an empty text if it is missing.
    pub(in crate::claude) fn json(self) -> &'a str {
        self.0.map_or("", RawValue::get)
    }

    /// Returns the value if it is a string. Half surrogate pairs, which the agent writes when it truncates a
    /// text within a character, become replacement characters.
    pub(in crate::claude) fn text(self) -> Option<String> {
        serde_json::from_str::<Lossy>(self.json()).ok().map(|text| text.0)
    }

    /// Parses content into blocks. A plain string is one text block.
    pub(in crate::claude) fn blocks(self) -> Vec<Block<'a>> {
        if self.json().starts_with('"') {
            return vec![Block { kind: Text::new("text"), text: self, ..Block::default() }];
        }
        parse::<List<Block<'a>>>(self.json().as_bytes()).map(|list| list.0).unwrap_or_default()
    }
}

/// A string that may contain half surrogate pairs.
struct Lossy(String);

impl<'de> Deserialize<'de> for Lossy {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct LossyVisitor;
        impl<'de> Visitor<'de> for LossyVisitor {
            type Value = Lossy;
            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a string")
            }
            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Lossy, E> {
                Ok(Lossy(String::from_utf8_lossy(bytes).into_owned()))
            }
            // serde_json offers a list where bytes are requested, but a list is not a string.
            fn visit_seq<A: SeqAccess<'de>>(self, _: A) -> Result<Lossy, A::Error> {
                Err(serde::de::Error::custom("a list"))
            }
        }
        // As bytes, because only then does serde_json accept half pairs.
        input.deserialize_bytes(LossyVisitor)
    }
}

/// The content of a message, as blocks. A plain string is one text block.
#[derive(Clone, Debug, Default)]
pub(in crate::claude) struct Content<'a>(pub(in crate::claude) Vec<Block<'a>>);

impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        Raw::deserialize(input).map(|raw| Content(raw.blocks()))
    }
}
