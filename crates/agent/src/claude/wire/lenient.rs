//! Types that treat a value of an unexpected type as missing. A vendor may change a type, and a run must not
//! lose its result because of an irrelevant field.

use crate::json_reader::Reader;
use std::borrow::Cow;

/// A type that reads a value of an unexpected type as its default.
pub(in crate::claude) trait Field<'a>: Default {
    /// Reads one value. Returns `None` if it is not JSON.
    fn read(reader: &mut Reader<'a>) -> Option<Self>;
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

impl<'a> Field<'a> for Text<'a> {
    fn read(reader: &mut Reader<'a>) -> Option<Self> {
        match reader.peek()? {
            b'"' => reader.string().map(Text),
            _ => reader.value().map(|_| Text::default()),
        }
    }
}

/// A list. Any other value is an empty list.
#[derive(Clone, Debug, Default)]
pub(in crate::claude) struct List<T>(pub(in crate::claude) Vec<T>);

impl<'a, T: Field<'a>> Field<'a> for List<T> {
    fn read(reader: &mut Reader<'a>) -> Option<Self> {
        let mut items = Vec::new();
        match reader.peek()? {
            b'[' => reader.array(|reader| T::read(reader).map(|item| items.push(item)))?,
            _ => drop(reader.value()?),
        }
        Some(List(items))
    }
}

/// An object whose keys are data. Any other value is an empty object. A repeated key occurs repeatedly.
#[derive(Clone, Debug, Default)]
pub(in crate::claude) struct Map<'a, T>(pub(in crate::claude) Vec<(Text<'a>, T)>);

impl<'a, T: Field<'a>> Field<'a> for Map<'a, T> {
    fn read(reader: &mut Reader<'a>) -> Option<Self> {
        let mut items = Vec::new();
        match reader.peek()? {
            b'{' => {
                reader.object(|key, reader| T::read(reader).map(|item| items.push((Text(key), item))))?;
            }
            _ => drop(reader.value()?),
        }
        Some(Map(items))
    }
}

/// A value that may be missing. `null` is missing.
impl<'a, T: Field<'a>> Field<'a> for Option<T> {
    fn read(reader: &mut Reader<'a>) -> Option<Self> {
        match reader.peek()? {
            b'n' => reader.value().map(|_| None),
            _ => T::read(reader).map(Some),
        }
    }
}
