//! Reads JSON in one pass over its text, for records that borrow from it. Accepts exactly what serde_json accepts,
//! except that half surrogate pairs become replacement characters.

use memchr::{memchr, memchr2};
use serde::de::{Deserialize, Deserializer as Input, Visitor};
use serde_json::Deserializer;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    text: &'a str,
    offset: usize,
}

impl<'a> Reader<'a> {
    /// Creates a reader of this text. Strings in it may not contain control characters, which the caller checks.
    pub(crate) fn new(text: &'a str) -> Reader<'a> {
        Reader { text, offset: 0 }
    }

    /// Returns the first byte of the next token, or `None` at the end of the text.
    pub(crate) fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = bytes.get(self.offset) {
            self.offset += 1;
        }
        bytes.get(self.offset).copied()
    }

    /// Reads a value of any type and depth, and returns its text.
    pub(crate) fn value(&mut self) -> Option<&'a str> {
        if self.peek()? == b'"' {
            return self.quoted().map(|(text, _)| text);
        }
        if let Some(word) = word(self.text.get(self.offset..)?) {
            self.offset += word.len();
            return Some(word);
        }
        self.raw_value().map(RawValue::get)
    }

    /// Reads a value of any type and depth as serde_json represents it.
    pub(crate) fn raw_value(&mut self) -> Option<&'a RawValue> {
        self.peek()?;
        let mut values = Deserializer::from_str(self.text.get(self.offset..)?).into_iter();
        let value = values.next()?.ok()?;
        self.offset += values.byte_offset();
        Some(value)
    }

    pub(crate) fn string(&mut self) -> Option<Cow<'a, str>> {
        let (quoted, has_escapes) = self.quoted()?;
        content(quoted, has_escapes)
    }

    /// Reads an object. `each` receives each key and must read its value.
    pub(crate) fn object(
        &mut self,
        mut each: impl FnMut(Cow<'a, str>, &mut Reader<'a>) -> Option<()>,
    ) -> Option<()> {
        self.items(b'{', b'}', |this| {
            let key = this.string()?;
            this.skip(b':').then(|| each(key, this))?
        })
    }

    /// Reads an array. `each` must read each item.
    pub(crate) fn array(&mut self, each: impl FnMut(&mut Reader<'a>) -> Option<()>) -> Option<()> {
        self.items(b'[', b']', each)
    }

    fn items(
        &mut self,
        start: u8,
        end: u8,
        mut each: impl FnMut(&mut Reader<'a>) -> Option<()>,
    ) -> Option<()> {
        if !self.skip(start) {
            return None;
        }
        if self.skip(end) {
            return Some(());
        }
        loop {
            each(self)?;
            if self.skip(end) {
                return Some(());
            }
            if !self.skip(b',') {
                return None;
            }
        }
    }

    fn skip(&mut self, token: u8) -> bool {
        let is_next = self.peek() == Some(token);
        self.offset += usize::from(is_next);
        is_next
    }

    /// Reads a string and returns it with its quotes and escapes, and whether it has escapes.
    fn quoted(&mut self) -> Option<(&'a str, bool)> {
        if self.peek()? != b'"' {
            return None;
        }
        let (bytes, start) = (self.text.as_bytes(), self.offset);
        let mut has_escapes = false;
        self.offset += 1;
        loop {
            let rest = bytes.get(self.offset..)?;
            let length = memchr2(b'"', b'\\', rest)?;
            self.offset += length;
            match rest.get(length..)? {
                [b'"', ..] => break,
                [b'\\', b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', ..] => self.offset += 2,
                [b'\\', b'u', a, b, c, d, ..]
                    if [a, b, c, d].iter().all(|digit| digit.is_ascii_hexdigit()) =>
                {
                    self.offset += 6;
                }
                _ => return None,
            }
            has_escapes = true;
        }
        self.offset += 1;
        Some((self.text.get(start..self.offset)?, has_escapes))
    }
}

/// Returns the literal or the number of digits at the start of a text. Most values that are no strings are one.
fn word(text: &str) -> Option<&str> {
    let end = text.bytes().position(|byte| !byte.is_ascii_alphanumeric()).unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    let is_word = match word.as_bytes() {
        b"null" | b"true" | b"false" => true,
        b"0" | [b'1'..=b'9', ..] => word.bytes().all(|byte| byte.is_ascii_digit()) && !rest.starts_with('.'),
        _ => false,
    };
    is_word.then_some(word)
}

pub(crate) fn unquote(quoted: &str) -> Option<Cow<'_, str>> {
    let has_escapes = memchr(b'\\', quoted.as_bytes()).is_some();
    content(quoted, has_escapes)
}

fn content(quoted: &str, has_escapes: bool) -> Option<Cow<'_, str>> {
    if has_escapes {
        return serde_json::from_str::<Lossy>(quoted).ok().map(|text| Cow::Owned(text.0));
    }
    quoted.strip_prefix('"')?.strip_suffix('"').map(Cow::Borrowed)
}

/// A string that may contain half surrogate pairs.
struct Lossy(String);

impl<'de> Deserialize<'de> for Lossy {
    fn deserialize<D: Input<'de>>(input: D) -> Result<Self, D::Error> {
        struct LossyVisitor;
        impl Visitor<'_> for LossyVisitor {
            type Value = Lossy;
            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a string")
            }
            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Lossy, E> {
                Ok(Lossy(String::from_utf8_lossy(bytes).into_owned()))
            }
        }
        // As bytes, because only then does serde_json accept half pairs.
        input.deserialize_bytes(LossyVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::Reader;
    use serde::de::IgnoredAny;

    #[test]
    fn accepts_the_values_of_serde_json() {
        for value in [
            "0",
            "7",
            "120",
            "01",
            "0.5",
            "1.5e3",
            "1e3",
            "1E+3",
            "1.",
            "-1",
            "-",
            "+1",
            "1-",
            "1x",
            "12é",
            "null",
            "nul",
            "nullx",
            "true",
            "True",
            "false",
            "\"a\"",
            "\"a",
            "[0,null]",
            "[0,]",
            "[nullx]",
            "{\"a\":true}",
            "{\"a\":0.}",
            "",
        ] {
            for text in [value.to_owned(), format!(" {value} "), format!("[{value}]")] {
                let mut reader = Reader::new(&text);
                let is_read = reader.value().is_some() && reader.peek().is_none();
                assert_eq!(is_read, serde_json::from_str::<IgnoredAny>(&text).is_ok(), "{text}");
            }
        }
    }
}
