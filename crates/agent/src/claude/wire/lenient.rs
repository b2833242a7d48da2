//! Types that treat a value of an unexpected type as missing. A vendor may change a type, and a run must not
//! lose its result because of an irrelevant field.

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

/// A type that reads a value of an unexpected type as its default.
pub(super) trait Lenient<'de>: Default {
    fn from_text(_: Cow<'de, str>) -> Self {
        Self::default()
    }

    fn from_seq<A: SeqAccess<'de>>(mut seq: A) -> Result<Self, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Self::default())
    }

    fn from_map<A: MapAccess<'de>>(mut map: A) -> Result<Self, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Self::default())
    }
}

/// Reads a value of any type.
pub(super) fn deserialize<'de, T: Lenient<'de>, D: Deserializer<'de>>(input: D) -> Result<T, D::Error> {
    input.deserialize_any(LenientVisitor(PhantomData))
}

struct LenientVisitor<T>(PhantomData<T>);

impl<'de, T: Lenient<'de>> Visitor<'de> for LenientVisitor<T> {
    type Value = T;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("anything")
    }

    fn visit_bool<E>(self, _: bool) -> Result<T, E> {
        Ok(T::default())
    }

    fn visit_u64<E>(self, _: u64) -> Result<T, E> {
        Ok(T::default())
    }

    fn visit_i64<E>(self, _: i64) -> Result<T, E> {
        Ok(T::default())
    }

    fn visit_f64<E>(self, _: f64) -> Result<T, E> {
        Ok(T::default())
    }

    fn visit_unit<E>(self) -> Result<T, E> {
        Ok(T::default())
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<T, E> {
        Ok(T::from_text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<T, E> {
        Ok(T::from_text(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<T, A::Error> {
        T::from_seq(seq)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::from_map(map)
    }
}

/// A string. A missing one is empty.
#[derive(Clone, Debug, Default)]
pub(in crate::claude) struct Text<'a>(Cow<'a, str>);

impl<'a> Text<'a> {
    pub(in crate::claude) fn new(text: &'a str) -> Text<'a> {
        Text(Cow::Borrowed(text))
    }

    pub(in crate::claude) fn as_str(&self) -> &str {
        &self.0
    }

    pub(in crate::claude) fn is(&self, word: &str) -> bool {
        self.0 == word
    }

    pub(in crate::claude) fn non_empty(&self) -> Option<&str> {
        Some(self.as_str()).filter(|text| !text.is_empty())
    }

    /// Returns a copy of the string, unless it is empty.
    pub(in crate::claude) fn owned(&self) -> Option<String> {
        self.non_empty().map(str::to_owned)
    }
}

impl<'de> Lenient<'de> for Text<'de> {
    fn from_text(text: Cow<'de, str>) -> Self {
        Text(text)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        deserialize::<Text<'de>, D>(input)
    }
}

/// A list. Any other value is an empty list.
#[derive(Clone, Debug)]
pub(in crate::claude) struct List<T>(pub(in crate::claude) Vec<T>);

impl<T> Default for List<T> {
    fn default() -> List<T> {
        List(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Lenient<'de> for List<T> {
    fn from_seq<A: SeqAccess<'de>>(mut seq: A) -> Result<Self, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(List(items))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        deserialize(input)
    }
}

/// An object whose keys are data. Any other value is an empty object. A repeated key occurs repeatedly.
#[derive(Clone, Debug)]
pub(in crate::claude) struct Map<'a, T>(pub(in crate::claude) Vec<(Text<'a>, T)>);

impl<T> Default for Map<'_, T> {
    fn default() -> Self {
        Map(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Lenient<'de> for Map<'de, T> {
    fn from_map<A: MapAccess<'de>>(mut map: A) -> Result<Self, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = map.next_entry()? {
            items.push(item);
        }
        Ok(Map(items))
    }
}

impl<'de: 'a, 'a, T: Deserialize<'de>> Deserialize<'de> for Map<'a, T> {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        deserialize::<Map<'de, T>, D>(input)
    }
}
