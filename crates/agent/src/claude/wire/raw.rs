//! Values that stay unparsed until they are needed, because most of them never are.

use super::{Block, Field, List, Text};
use crate::json_reader::{Reader, unquote};
use serde::ser::Error;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use std::borrow::Cow;

#[derive(Clone, Copy, Debug, Default)]
pub(in crate::claude) struct Raw<'a>(Option<&'a str>);

impl<'a> Field<'a> for Raw<'a> {
    fn read(reader: &mut Reader<'a>) -> Option<Self> {
        reader.value().map(|json| Raw(Some(json)))
    }
}

impl Serialize for Raw<'_> {
    fn serialize<S: Serializer>(&self, output: S) -> Result<S::Ok, S::Error> {
        let raw: Option<&RawValue> =
            self.0.map(serde_json::from_str).transpose().map_err(S::Error::custom)?;
        raw.serialize(output)
    }
}

impl<'a> Raw<'a> {
    pub(in crate::claude) fn is_missing(&self) -> bool {
        self.0.is_none()
    }

    /// Returns the JSON text, or an empty text if it is missing.
    pub(in crate::claude) fn json(self) -> &'a str {
        self.0.unwrap_or_default()
    }

    /// Returns the value if it is a string. Half surrogate pairs, which the agent writes when it truncates a
    /// text within a character, become replacement characters.
    pub(in crate::claude) fn text(self) -> Option<Cow<'a, str>> {
        unquote(self.json())
    }

    /// Returns whether the value is `true`, a list or an object.
    pub(in crate::claude) fn is_set(self) -> bool {
        self.json() == "true" || self.json().starts_with(['[', '{'])
    }

    /// Returns the value if it is a number. One that no `f64` can hold is missing, so a line with `1e400` is
    /// still parsed.
    pub(in crate::claude) fn number(self) -> Option<f64> {
        self.json().parse().ok().filter(|number: &f64| number.is_finite())
    }

    /// Returns the value if it is a number that is not negative. A value out of range saturates.
    pub(in crate::claude) fn count(self) -> Option<u64> {
        // JavaScript writes large and computed integers as floats; `as` saturates.
        let float = || self.number().filter(|number| *number >= 0.0).map(|number| number as u64);
        self.json().parse().ok().or_else(float)
    }

    /// Returns the length of a string on the wire, in bytes, or zero for another value. Deltas are most of a
    /// stream, so their text is not decoded.
    pub(in crate::claude) fn text_bytes(self) -> u64 {
        let content = self.json().strip_prefix('"').and_then(|text| text.strip_suffix('"'));
        content.unwrap_or_default().len() as u64
    }

    /// Parses content into blocks. A plain string is one text block.
    pub(in crate::claude) fn blocks(self) -> Vec<Block<'a>> {
        Content::read(&mut Reader::new(self.json())).map(|content| content.0).unwrap_or_default()
    }
}

/// A value of any type that a message keeps as it is.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::claude) struct RawInput<'a>(Option<&'a RawValue>);

impl<'a> Field<'a> for RawInput<'a> {
    fn read(reader: &mut Reader<'a>) -> Option<Self> {
        reader.raw_value().map(|value| RawInput(Some(value)))
    }
}

impl<'a> RawInput<'a> {
    /// Returns the JSON text, or an empty text if it is missing.
    pub(in crate::claude) fn json(self) -> &'a str {
        self.0.map_or("", RawValue::get)
    }

    pub(in crate::claude) fn to_owned(self) -> Option<Box<RawValue>> {
        self.0.map(ToOwned::to_owned)
    }
}

/// The content of a message, as blocks. A plain string is one text block.
#[derive(Clone, Debug, Default)]
pub(in crate::claude) struct Content<'a>(pub(in crate::claude) Vec<Block<'a>>);

impl<'a> Field<'a> for Content<'a> {
    fn read(reader: &mut Reader<'a>) -> Option<Self> {
        if reader.peek()? != b'"' {
            return List::read(reader).map(|list| Content(list.0));
        }
        let text = Raw::read(reader)?;
        Some(Content(vec![Block { kind: Text::new("text"), text, ..Block::default() }]))
    }
}
