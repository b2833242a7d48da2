//! Reads what Python's `repr` wrote: of strings in every form of quotes and escapes, of numbers, lists, tuples and
//! dictionaries, and of objects as `Name(field='…')`. Nothing is run, and nothing is guessed: what is no such text is
//! told with the place where that shows.

mod string;

use serde_json::{Map, Number};

// Deeper than anything that an agent's tool takes; what is deeper would use up the stack.
const DEPTH_MAX: usize = 100;

/// A value of Python.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum PythonValue {
    None,
    Bool(bool),
    /// As it is written: a whole number has no largest one there.
    Number(String),
    Text(String),
    /// A list or a tuple.
    List(Vec<PythonValue>),
    Dict(Vec<(PythonValue, PythonValue)>),
    /// An object: its class, and its fields, with their names where they are written.
    Object(String, Vec<(Option<String>, PythonValue)>),
}

/// That a text is no value of Python.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReprError {
    /// Where that shows, in bytes.
    pub(crate) at: usize,
}

impl PythonValue {
    /// Reads a text that is one value as a whole.
    pub(crate) fn read(text: &str) -> Result<PythonValue, ReprError> {
        let mut reader = Reader { text, at: 0 };
        let value = reader.value(0)?;
        reader.blank();
        if reader.at == text.len() { Ok(value) } else { Err(reader.wrong()) }
    }

    /// The text, if it is one.
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

    /// The same in JSON, as Python's own encoder would write it; an object as its fields, those without a name by
    /// their place.
    pub(crate) fn json(&self) -> serde_json::Value {
        use serde_json::Value;
        match self {
            PythonValue::None => Value::Null,
            PythonValue::Bool(truth) => Value::Bool(*truth),
            PythonValue::Number(digits) => number(digits),
            PythonValue::Text(text) => Value::String(text.clone()),
            PythonValue::List(items) => items.iter().map(PythonValue::json).collect(),
            PythonValue::Dict(pairs) => {
                let pairs = pairs.iter().map(|(key, value)| (key_of(key), value.json()));
                Value::Object(pairs.collect())
            }
            PythonValue::Object(_, fields) => {
                let named = fields.iter().enumerate();
                let pairs = named.map(|(place, (name, value))| {
                    (name.clone().unwrap_or_else(|| place.to_string()), value.json())
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
    // What JSON has no number for is told as it was written.
    number.map_or_else(|| serde_json::Value::String(digits), serde_json::Value::Number)
}

fn key_of(key: &PythonValue) -> String {
    key.text().map_or_else(|| key.json().to_string(), str::to_owned)
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn value(&mut self, depth: usize) -> Result<PythonValue, ReprError> {
        self.blank();
        if depth > DEPTH_MAX {
            return Err(self.wrong());
        }
        match self.rest().chars().next() {
            Some('[') => Ok(PythonValue::List(self.items('[', ']', depth)?)),
            Some('(') => Ok(self.bracketed(depth)?),
            Some('{') => Ok(PythonValue::Dict(self.pairs(depth)?)),
            Some('\'' | '"') => Ok(PythonValue::Text(self.string("")?)),
            Some('-' | '+' | '.' | '0'..='9') => self.number(),
            Some(sign) if is_of_name(sign) => self.named(depth),
            Some(_) | None => Err(self.wrong()),
        }
    }

    /// A tuple, or a value that only stands in brackets.
    fn bracketed(&mut self, depth: usize) -> Result<PythonValue, ReprError> {
        let started = self.at;
        let mut items = self.items('(', ')', depth)?;
        let inside = self.text[started..self.at - 1].trim_end();
        Ok(if items.len() == 1 && !inside.ends_with(',') {
            items.remove(0)
        } else {
            PythonValue::List(items)
        })
    }

    fn items(&mut self, open: char, close: char, depth: usize) -> Result<Vec<PythonValue>, ReprError> {
        let mut items = Vec::new();
        self.sign(open)?;
        while !self.has(close) {
            items.push(self.value(depth + 1)?);
            self.next_or(close)?;
        }
        Ok(items)
    }

    fn pairs(&mut self, depth: usize) -> Result<Vec<(PythonValue, PythonValue)>, ReprError> {
        let mut pairs = Vec::new();
        self.sign('{')?;
        while !self.has('}') {
            let key = self.value(depth + 1)?;
            self.sign(':')?;
            pairs.push((key, self.value(depth + 1)?));
            self.next_or('}')?;
        }
        Ok(pairs)
    }

    fn number(&mut self) -> Result<PythonValue, ReprError> {
        let is_of_number = |sign: char| sign.is_ascii_alphanumeric() || matches!(sign, '-' | '+' | '.' | '_');
        let digits = self.word(is_of_number);
        let bare = digits.trim_start_matches(['-', '+']);
        match bare {
            "inf" | "nan" => Ok(PythonValue::Number(digits.to_owned())),
            _ if bare.replace('_', "").parse::<f64>().is_ok() => Ok(PythonValue::Number(digits.to_owned())),
            _ => Err(self.wrong()),
        }
    }

    /// What begins with a name: a word of the language, a string with a letter before it, or an object.
    fn named(&mut self, depth: usize) -> Result<PythonValue, ReprError> {
        let name = self.word(|sign| is_of_name(sign) || sign == '.').to_owned();
        if self.rest().starts_with(['\'', '"']) {
            return Ok(PythonValue::Text(self.string(&name)?));
        }
        self.blank();
        if self.rest().starts_with('(') {
            return Ok(PythonValue::Object(name, self.fields(depth)?));
        }
        match name.as_str() {
            "None" => Ok(PythonValue::None),
            "True" => Ok(PythonValue::Bool(true)),
            "False" => Ok(PythonValue::Bool(false)),
            "inf" | "nan" => Ok(PythonValue::Number(name)),
            _ => Err(self.wrong()),
        }
    }

    fn fields(&mut self, depth: usize) -> Result<Vec<(Option<String>, PythonValue)>, ReprError> {
        let mut fields = Vec::new();
        self.sign('(')?;
        while !self.has(')') {
            let started = self.at;
            let name = self.word(is_of_name).to_owned();
            self.blank();
            let named = !name.is_empty() && self.rest().starts_with('=');
            if named {
                self.sign('=')?;
            } else {
                self.at = started;
            }
            fields.push((named.then_some(name), self.value(depth + 1)?));
            self.next_or(')')?;
        }
        Ok(fields)
    }

    /// A string whose quotes are next, with these letters before them.
    fn string(&mut self, prefix: &str) -> Result<String, ReprError> {
        match string::read(self.rest(), prefix) {
            Ok((string, length)) => {
                self.at += length;
                Ok(string)
            }
            Err(offset) => Err(ReprError { at: self.at + offset }),
        }
    }

    /// Whether this sign is next; then it is passed.
    fn has(&mut self, sign: char) -> bool {
        self.blank();
        let has = self.rest().starts_with(sign);
        self.at += if has { sign.len_utf8() } else { 0 };
        has
    }

    fn sign(&mut self, sign: char) -> Result<(), ReprError> {
        if self.has(sign) { Ok(()) } else { Err(self.wrong()) }
    }

    /// A comma, or the end, which stays.
    fn next_or(&mut self, close: char) -> Result<(), ReprError> {
        self.blank();
        if self.rest().starts_with(close) || self.has(',') { Ok(()) } else { Err(self.wrong()) }
    }

    fn word(&mut self, is_of_word: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|sign: char| !is_of_word(sign)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn blank(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn wrong(&self) -> ReprError {
        ReprError { at: self.at }
    }
}

fn is_of_name(sign: char) -> bool {
    sign.is_alphanumeric() || sign == '_'
}

#[cfg(test)]
mod tests;
