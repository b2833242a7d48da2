//! Parses the output of Python's `repr`: strings, numbers, lists, tuples, dictionaries, and objects as
//! `Name(field='…')`. Never evaluates or guesses anything.

use serde_json::Value;
use std::str::Chars;

// Deeper than the input of any agent's tool. Deeper nesting could overflow the stack.
const DEPTH_MAX: usize = 100;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PythonValue {
    pub(crate) class: Option<String>,
    /// The value as Python's own encoder writes it. An object is its fields; unnamed ones have their index as
    /// key.
    pub(crate) json: Value,
}

impl PythonValue {
    /// Parses a text, or returns `None` if it is not exactly one value.
    pub(crate) fn parse(text: &str) -> Option<PythonValue> {
        let mut reader = Reader { rest: text, class: None };
        let json = reader.value(0)?;
        reader.rest.trim_start().is_empty().then_some(PythonValue { class: reader.class, json })
    }
}

struct Reader<'a> {
    rest: &'a str,
    class: Option<String>,
}

impl<'a> Reader<'a> {
    fn value(&mut self, depth: usize) -> Option<Value> {
        self.rest = self.rest.trim_start();
        if depth > DEPTH_MAX {
            return None;
        }
        match self.rest.chars().next()? {
            '[' => self.parts(']', |reader, _| reader.value(depth + 1)),
            '(' => self.parts(')', |reader, _| reader.value(depth + 1)),
            '{' => self.parts('}', |reader, _| reader.pair(depth + 1)),
            quote @ ('\'' | '"') => self.string(quote).map(Value::String),
            '-' | '0'..='9' => {
                let is_number_char = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '+' | '.');
                serde_json::from_str(self.word(is_number_char)).ok()
            }
            _ => self.named_value(depth),
        }
    }

    /// Reads parts up to the closing character, after the opening one.
    fn parts<T>(&mut self, close: char, part: impl Fn(&mut Self, usize) -> Option<T>) -> Option<Value>
    where
        Value: FromIterator<T>,
    {
        let mut parts = Vec::new();
        self.rest = self.rest.get(1..)?;
        while !self.consume(close) {
            parts.push(part(self, parts.len())?);
            if !self.consume(',') && !self.rest.starts_with(close) {
                return None;
            }
        }
        Some(parts.into_iter().collect())
    }

    fn pair(&mut self, depth: usize) -> Option<(String, Value)> {
        let key = self.value(depth)?;
        let key = key.as_str().map_or_else(|| key.to_string(), str::to_owned);
        if self.consume(':') { Some((key, self.value(depth)?)) } else { None }
    }

    fn field(&mut self, index: usize, depth: usize) -> Option<(String, Value)> {
        let start = self.rest;
        let mut name = self.word(is_name_char).to_owned();
        if name.is_empty() || !self.consume('=') {
            (self.rest, name) = (start, index.to_string());
        }
        Some((name, self.value(depth)?))
    }

    /// Reads a keyword or an object.
    fn named_value(&mut self, depth: usize) -> Option<Value> {
        let name = self.word(|c| is_name_char(c) || c == '.');
        match name {
            _ if self.rest.starts_with('(') && !name.is_empty() => {
                self.class = (depth == 0).then(|| name.to_owned()).or(self.class.take());
                self.parts(')', |reader, index| reader.field(index, depth + 1))
            }
            "None" => Some(Value::Null),
            "True" => Some(Value::Bool(true)),
            "False" => Some(Value::Bool(false)),
            // Numbers that JSON cannot represent stay text.
            "inf" | "nan" => Some(Value::String(name.to_owned())),
            _ => None,
        }
    }

    fn string(&mut self, quote: char) -> Option<String> {
        let mut string = String::new();
        let mut chars = self.rest.get(1..)?.chars();
        loop {
            match chars.next()? {
                '\n' => return None,
                '\\' => string.push(escape(&mut chars)?),
                c if c == quote => {
                    self.rest = chars.as_str();
                    return Some(string);
                }
                c => string.push(c),
            }
        }
    }

    fn consume(&mut self, c: char) -> bool {
        self.rest = self.rest.trim_start();
        let rest = self.rest.strip_prefix(c);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn word(&mut self, is_word_char: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|c: char| !is_word_char(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }
}

fn is_name_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Reads an escape after its backslash.
fn escape(chars: &mut Chars<'_>) -> Option<char> {
    let digits = match chars.next()? {
        c @ ('\\' | '\'' | '"') => return Some(c),
        'n' => return Some('\n'),
        'r' => return Some('\r'),
        't' => return Some('\t'),
        'x' => 2,
        'u' => 4,
        'U' => 8,
        _ => return None,
    };
    let (number, rest) = chars.as_str().split_at_checked(digits)?;
    *chars = rest.chars();
    // Half of a surrogate pair is not a character.
    Some(char::from_u32(u32::from_str_radix(number, 16).ok()?).unwrap_or(char::REPLACEMENT_CHARACTER))
}

#[cfg(test)]
mod tests;
