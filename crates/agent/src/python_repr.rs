//! Parses the output of Python's `repr`: strings with any quotes and escapes, numbers, lists, tuples,
//! dictionaries, and objects as `Name(field='…')`. Never evaluates or guesses anything; an error states where
//! the text is not valid.

mod string;

use serde_json::{Map, Number};

// Deeper than the input of any agent's tool. Deeper nesting could overflow the stack.
const DEPTH_MAX: usize = 100;

/// A Python value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum PythonValue {
    None,
    Bool(bool),
    /// The digits as written, because Python integers have no maximum.
    Number(String),
    Text(String),
    /// A list or a tuple.
    List(Vec<PythonValue>),
    Dict(Vec<(PythonValue, PythonValue)>),
    /// An object: its class, and its fields with their names, if they are written.
    Object(String, Vec<(Option<String>, PythonValue)>),
}

/// The text is not a Python literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReprError {
    /// Offset in bytes at which the text stops being valid.
    pub(crate) offset: usize,
}

impl PythonValue {
    /// Parses a text that is one value.
    pub(crate) fn parse(text: &str) -> Result<PythonValue, ReprError> {
        let mut reader = Reader { text, offset: 0 };
        let value = reader.value(0)?;
        reader.skip_whitespace();
        if reader.offset == text.len() { Ok(value) } else { Err(reader.error()) }
    }

    /// Returns the text of a string, or `None` for another value.
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            PythonValue::Text(text) => Some(text),
            PythonValue::None
            | PythonValue::Bool(_)
            | PythonValue::Number(_)
            | PythonValue::List(_)
            | PythonValue::Dict(_)
            | PythonValue::Object(..) => None,
        }
    }

    /// Converts the value to JSON, as Python's own encoder does. An object becomes its fields; unnamed fields
    /// get their index as key.
    pub(crate) fn json(&self) -> serde_json::Value {
        use serde_json::Value;
        match self {
            PythonValue::None => Value::Null,
            PythonValue::Bool(truth) => Value::Bool(*truth),
            PythonValue::Number(digits) => number(digits),
            PythonValue::Text(text) => Value::String(text.clone()),
            PythonValue::List(items) => items.iter().map(PythonValue::json).collect(),
            PythonValue::Dict(pairs) => {
                let pairs = pairs.iter().map(|(key, value)| (key_text(key), value.json()));
                Value::Object(pairs.collect())
            }
            PythonValue::Object(_, fields) => {
                let fields = fields.iter().enumerate();
                let pairs = fields.map(|(index, (name, value))| {
                    (name.clone().unwrap_or_else(|| index.to_string()), value.json())
                });
                Value::Object(pairs.collect::<Map<_, _>>())
            }
        }
    }
}

fn number(digits: &str) -> serde_json::Value {
    let digits = digits.replace('_', "");
    let whole = digits.parse::<i64>().map(Number::from).or_else(|_| digits.parse::<u64>().map(Number::from));
    let number = whole.ok().or_else(|| Number::from_f64(digits.parse().ok()?));
    // Numbers that JSON cannot represent stay text.
    number.map_or_else(|| serde_json::Value::String(digits), serde_json::Value::Number)
}

fn key_text(key: &PythonValue) -> String {
    key.text().map_or_else(|| key.json().to_string(), str::to_owned)
}

struct Reader<'a> {
    text: &'a str,
    offset: usize,
}

impl<'a> Reader<'a> {
    fn value(&mut self, depth: usize) -> Result<PythonValue, ReprError> {
        self.skip_whitespace();
        if depth > DEPTH_MAX {
            return Err(self.error());
        }
        match self.rest().chars().next() {
            Some('[') => Ok(PythonValue::List(self.items('[', ']', depth)?)),
            Some('(') => Ok(self.bracketed(depth)?),
            Some('{') => Ok(PythonValue::Dict(self.pairs(depth)?)),
            Some('\'' | '"') => Ok(PythonValue::Text(self.string("")?)),
            Some('-' | '+' | '.' | '0'..='9') => self.number(),
            Some(c) if is_name_char(c) => self.named_value(depth),
            Some(_) | None => Err(self.error()),
        }
    }

    /// Reads a tuple, or a value in parentheses.
    fn bracketed(&mut self, depth: usize) -> Result<PythonValue, ReprError> {
        let start = self.offset;
        let mut items = self.items('(', ')', depth)?;
        let inner = self.text[start..self.offset - 1].trim_end();
        Ok(if items.len() == 1 && !inner.ends_with(',') { items.remove(0) } else { PythonValue::List(items) })
    }

    fn items(&mut self, open: char, close: char, depth: usize) -> Result<Vec<PythonValue>, ReprError> {
        let mut items = Vec::new();
        self.expect_char(open)?;
        while !self.consume(close) {
            items.push(self.value(depth + 1)?);
            self.expect_comma_or(close)?;
        }
        Ok(items)
    }

    fn pairs(&mut self, depth: usize) -> Result<Vec<(PythonValue, PythonValue)>, ReprError> {
        let mut pairs = Vec::new();
        self.expect_char('{')?;
        while !self.consume('}') {
            let key = self.value(depth + 1)?;
            self.expect_char(':')?;
            pairs.push((key, self.value(depth + 1)?));
            self.expect_comma_or('}')?;
        }
        Ok(pairs)
    }

    fn number(&mut self) -> Result<PythonValue, ReprError> {
        let is_number_char = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '+' | '.' | '_');
        let digits = self.word(is_number_char);
        let bare = digits.trim_start_matches(['-', '+']);
        match bare {
            "inf" | "nan" => Ok(PythonValue::Number(digits.to_owned())),
            _ if bare.replace('_', "").parse::<f64>().is_ok() => Ok(PythonValue::Number(digits.to_owned())),
            _ => Err(self.error()),
        }
    }

    /// Reads an item that starts with a name: a keyword, a string with a prefix, or an object.
    fn named_value(&mut self, depth: usize) -> Result<PythonValue, ReprError> {
        let name = self.word(|c| is_name_char(c) || c == '.').to_owned();
        if self.rest().starts_with(['\'', '"']) {
            return Ok(PythonValue::Text(self.string(&name)?));
        }
        self.skip_whitespace();
        if self.rest().starts_with('(') {
            return Ok(PythonValue::Object(name, self.fields(depth)?));
        }
        match name.as_str() {
            "None" => Ok(PythonValue::None),
            "True" => Ok(PythonValue::Bool(true)),
            "False" => Ok(PythonValue::Bool(false)),
            "inf" | "nan" => Ok(PythonValue::Number(name)),
            _ => Err(self.error()),
        }
    }

    fn fields(&mut self, depth: usize) -> Result<Vec<(Option<String>, PythonValue)>, ReprError> {
        let mut fields = Vec::new();
        self.expect_char('(')?;
        while !self.consume(')') {
            let start = self.offset;
            let name = self.word(is_name_char).to_owned();
            self.skip_whitespace();
            let is_named = !name.is_empty() && self.rest().starts_with('=');
            if is_named {
                self.expect_char('=')?;
            } else {
                self.offset = start;
            }
            fields.push((is_named.then_some(name), self.value(depth + 1)?));
            self.expect_comma_or(')')?;
        }
        Ok(fields)
    }

    /// Reads the next string, which follows this prefix.
    fn string(&mut self, prefix: &str) -> Result<String, ReprError> {
        match string::parse(self.rest(), prefix) {
            Ok((string, length)) => {
                self.offset += length;
                Ok(string)
            }
            Err(offset) => Err(ReprError { offset: self.offset + offset }),
        }
    }

    /// Consumes this character if it is next.
    fn consume(&mut self, c: char) -> bool {
        self.skip_whitespace();
        let is_next = self.rest().starts_with(c);
        self.offset += if is_next { c.len_utf8() } else { 0 };
        is_next
    }

    fn expect_char(&mut self, c: char) -> Result<(), ReprError> {
        if self.consume(c) { Ok(()) } else { Err(self.error()) }
    }

    /// Consumes a comma, or checks that the closing character is next.
    fn expect_comma_or(&mut self, close: char) -> Result<(), ReprError> {
        self.skip_whitespace();
        if self.rest().starts_with(close) || self.consume(',') { Ok(()) } else { Err(self.error()) }
    }

    fn word(&mut self, is_word_char: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|c: char| !is_word_char(c)).unwrap_or(rest.len());
        self.offset += end;
        &rest[..end]
    }

    fn skip_whitespace(&mut self) {
        self.offset += self.rest().len() - self.rest().trim_start().len();
    }

    fn rest(&self) -> &'a str {
        &self.text[self.offset..]
    }

    fn error(&self) -> ReprError {
        ReprError { offset: self.offset }
    }
}

fn is_name_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests;
