//! Parses the output of Python's `repr`: strings with any quotes and escapes, numbers, lists, tuples,
//! dictionaries, and objects as `Name(field='…')`. Never evaluates or guesses anything.

mod string;

use serde_json::{Map, Number, Value};

// Deeper than the input of any agent's tool. Deeper nesting could overflow the stack.
const DEPTH_MAX: usize = 100;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PythonValue {
    /// The class of an object.
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
            '[' => self.items('[', ']', depth).map(Value::Array),
            '(' => self.bracketed(depth),
            '{' => self.pairs(depth).map(Value::Object),
            '\'' | '"' => self.string("").map(Value::String),
            '-' | '+' | '.' | '0'..='9' => self.number(),
            c if is_name_char(c) => self.named_value(depth),
            _ => None,
        }
    }

    /// Reads a tuple, or a value in parentheses.
    fn bracketed(&mut self, depth: usize) -> Option<Value> {
        let start = self.rest;
        let mut items = self.items('(', ')', depth)?;
        let inner = start[..start.len() - self.rest.len() - 1].trim_end();
        Some(if items.len() == 1 && !inner.ends_with(',') { items.remove(0) } else { Value::Array(items) })
    }

    fn items(&mut self, open: char, close: char, depth: usize) -> Option<Vec<Value>> {
        let mut items = Vec::new();
        self.expect_char(open)?;
        while !self.consume(close) {
            items.push(self.value(depth + 1)?);
            self.expect_comma_or(close)?;
        }
        Some(items)
    }

    fn pairs(&mut self, depth: usize) -> Option<Map<String, Value>> {
        let mut pairs = Map::new();
        self.expect_char('{')?;
        while !self.consume('}') {
            let key = self.value(depth + 1)?;
            self.expect_char(':')?;
            let key = key.as_str().map_or_else(|| key.to_string(), str::to_owned);
            pairs.insert(key, self.value(depth + 1)?);
            self.expect_comma_or('}')?;
        }
        Some(pairs)
    }

    fn number(&mut self) -> Option<Value> {
        let is_number_char = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '+' | '.' | '_');
        let digits = self.word(is_number_char).replace('_', "");
        let float: f64 = digits.parse().ok()?;
        let whole =
            digits.parse::<i64>().map(Number::from).or_else(|_| digits.parse::<u64>().map(Number::from));
        // Numbers that JSON cannot represent stay text.
        let number = whole.ok().or_else(|| Number::from_f64(float));
        Some(number.map_or_else(|| Value::String(digits), Value::Number))
    }

    /// Reads an item that starts with a name: a keyword, a string with a prefix, or an object.
    fn named_value(&mut self, depth: usize) -> Option<Value> {
        let name = self.word(|c| is_name_char(c) || c == '.');
        if self.rest.starts_with(['\'', '"']) {
            return self.string(name).map(Value::String);
        }
        self.rest = self.rest.trim_start();
        if self.rest.starts_with('(') {
            self.class = (depth == 0).then(|| name.to_owned()).or(self.class.take());
            return self.fields(depth).map(Value::Object);
        }
        match name {
            "None" => Some(Value::Null),
            "True" => Some(Value::Bool(true)),
            "False" => Some(Value::Bool(false)),
            "inf" | "nan" => Some(Value::String(name.to_owned())),
            _ => None,
        }
    }

    fn fields(&mut self, depth: usize) -> Option<Map<String, Value>> {
        let mut fields = Map::new();
        let mut count = 0_usize;
        self.expect_char('(')?;
        while !self.consume(')') {
            let start = self.rest;
            let mut name = self.word(is_name_char).to_owned();
            if name.is_empty() || !self.consume('=') {
                (self.rest, name) = (start, count.to_string());
            }
            fields.insert(name, self.value(depth + 1)?);
            self.expect_comma_or(')')?;
            count += 1;
        }
        Some(fields)
    }

    fn string(&mut self, prefix: &str) -> Option<String> {
        let (string, rest) = string::parse(self.rest, prefix)?;
        self.rest = rest;
        Some(string)
    }

    fn consume(&mut self, c: char) -> bool {
        self.rest = self.rest.trim_start();
        let rest = self.rest.strip_prefix(c);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn expect_char(&mut self, c: char) -> Option<()> {
        self.consume(c).then_some(())
    }

    /// Consumes a comma, or checks that the closing character is next.
    fn expect_comma_or(&mut self, close: char) -> Option<()> {
        (self.consume(',') || self.rest.starts_with(close)).then_some(())
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

#[cfg(test)]
mod tests;
