//! Types that treat a value of an unexpected type as missing. A vendor may change a type, and a run must not
//! lose its result because of an irrelevant field.

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

/// The rest of a visitor: unexpected values are skipped and read as the default.
macro_rules! otherwise_default {
    ($($part:ident)*) => {
        fn expecting(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            out.write_str("anything")
        }
        $(lenient::otherwise_default!(@$part);)*
    };
    (@scalars) => {
        lenient::otherwise_default!(@bool);
        lenient::otherwise_default!(@numbers);
        lenient::otherwise_default!(@text);
        lenient::otherwise_default!(@unit);
    };
    (@bool) => {
        fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> { Ok(Default::default()) }
    };
    (@numbers) => {
        fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> { Ok(Default::default()) }
        fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> { Ok(Default::default()) }
        fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> { Ok(Default::default()) }
    };
    (@text) => {
        fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> { Ok(Default::default()) }
    };
    (@unit) => {
        fn visit_unit<E>(self) -> Result<Self::Value, E> { Ok(Default::default()) }
    };
    (@seq) => {
        fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
            while seq.next_element::<serde::de::IgnoredAny>()?.is_some() {}
            Ok(Default::default())
        }
    };
    (@map) => {
        fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            while map.next_entry::<serde::de::IgnoredAny, serde::de::IgnoredAny>()?.is_some() {}
            Ok(Default::default())
        }
    };
}
pub(super) use otherwise_default;

// The macro refers to its siblings by this path.
use super::lenient;

/// A key of an object.
#[derive(Clone, Debug)]
pub(in crate::claude) struct Key<'a>(Cow<'a, str>);

impl Key<'_> {
    pub(in crate::claude) fn as_str(&self) -> &str {
        &self.0
    }
}

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct KeyVisitor;
        impl<'de> Visitor<'de> for KeyVisitor {
            type Value = Key<'de>;
            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a key")
            }
            fn visit_borrowed_str<E>(self, key: &'de str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Borrowed(key)))
            }
            fn visit_str<E>(self, key: &str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Owned(key.to_owned())))
            }
        }
        input.deserialize_str(KeyVisitor)
    }
}

/// A string. A missing one is empty.
#[derive(Clone, Debug, Default)]
pub(in crate::claude) struct Text<'a>(Option<Cow<'a, str>>);

impl<'a> Text<'a> {
    pub(in crate::claude) fn new(text: &'a str) -> Text<'a> {
        Text(Some(Cow::Borrowed(text)))
    }

    pub(in crate::claude) fn as_str(&self) -> &str {
        self.0.as_deref().unwrap_or_default()
    }

    pub(in crate::claude) fn is(&self, word: &str) -> bool {
        self.as_str() == word
    }

    /// Returns the string, if it is present and not empty.
    pub(in crate::claude) fn non_empty(&self) -> Option<&str> {
        self.0.as_deref().filter(|text| !text.is_empty())
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct TextVisitor;
        impl<'de> Visitor<'de> for TextVisitor {
            type Value = Text<'de>;
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Some(Cow::Borrowed(text))))
            }
            fn visit_str<E>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text(Some(Cow::Owned(text.to_owned()))))
            }
            otherwise_default!(bool numbers unit seq map);
        }
        input.deserialize_any(TextVisitor)
    }
}

/// The length of a string on the wire, in bytes. Deltas are most of a stream, so their text is not decoded.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(in crate::claude) struct Length(pub(in crate::claude) u64);

impl<'de> Deserialize<'de> for Length {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        Ok(Length::of(<&RawValue>::deserialize(input)?.get()))
    }
}

impl Length {
    /// Returns the length of a JSON string, or zero if the value is no string.
    pub(in crate::claude) fn of(json: &str) -> Length {
        let text = json.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
        Length(text.unwrap_or_default().len() as u64)
    }
}

/// A number that is not negative. A value out of range saturates, or is missing if no `f64` can hold it, so a
/// line with `1e400` is still parsed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(in crate::claude) struct Count(pub(in crate::claude) Option<u64>);

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let raw = <&RawValue>::deserialize(input)?.get();
        // JavaScript writes large and computed integers as floats; `as` saturates.
        let float = || amount(raw).filter(|number| *number >= 0.0).map(|number| number as u64);
        Ok(Count(raw.parse().ok().or_else(float)))
    }
}

impl Count {
    /// Returns the number, or zero if it is missing.
    pub(in crate::claude) fn or_zero(self) -> u64 {
        self.0.unwrap_or_default()
    }
}

/// A number with a fraction. A value out of range is missing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(in crate::claude) struct Amount(pub(in crate::claude) Option<f64>);

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        Ok(Amount(amount(<&RawValue>::deserialize(input)?.get())))
    }
}

fn amount(json: &str) -> Option<f64> {
    json.parse().ok().filter(|number: &f64| number.is_finite())
}

/// Whether a value is present and not false.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(in crate::claude) struct Flag(pub(in crate::claude) bool);

impl<'de> Deserialize<'de> for Flag {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct FlagVisitor;
        impl<'de> Visitor<'de> for FlagVisitor {
            type Value = Flag;
            fn visit_bool<E>(self, flag: bool) -> Result<Flag, E> {
                Ok(Flag(flag))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Flag, A::Error> {
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Flag(true))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Flag, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Flag(true))
            }
            otherwise_default!(numbers text unit);
        }
        input.deserialize_any(FlagVisitor)
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

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct ListVisitor<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for ListVisitor<T> {
            type Value = List<T>;
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<List<T>, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = seq.next_element()? {
                    items.push(item);
                }
                Ok(List(items))
            }
            otherwise_default!(scalars map);
        }
        input.deserialize_any(ListVisitor(PhantomData))
    }
}

/// An object whose keys are data. Any other value is an empty object. A repeated key occurs repeatedly.
#[derive(Clone, Debug)]
pub(in crate::claude) struct Map<'a, T>(pub(in crate::claude) Vec<(Key<'a>, T)>);

impl<T> Default for Map<'_, T> {
    fn default() -> Self {
        Map(Vec::new())
    }
}

impl<'de: 'a, 'a, T: Deserialize<'de>> Deserialize<'de> for Map<'a, T> {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct MapVisitor<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for MapVisitor<T> {
            type Value = Map<'de, T>;
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Map<'de, T>, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = map.next_entry()? {
                    items.push(item);
                }
                Ok(Map(items))
            }
            otherwise_default!(scalars seq);
        }
        input.deserialize_any(MapVisitor(PhantomData))
    }
}
