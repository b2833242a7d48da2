//! One row of the table: a program, and what makes a command of it reach outside.

use super::{RowError, is_of_name, patterns};
use crate::pattern::Pattern;
use serde::Deserialize;

/// A row as it is written. What its fields mean stands in `effects.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ProgramRow {
    names: Vec<String>,
    #[serde(default)]
    begins: Vec<String>,
    #[serde(default)]
    has: Vec<String>,
    #[serde(default)]
    ends: Vec<String>,
    #[serde(default)]
    options: Vec<String>,
    #[serde(default)]
    harmless: Vec<String>,
    #[serde(default)]
    inside: Vec<String>,
    #[serde(default)]
    valued: Vec<String>,
}

/// A row, ready for use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ProgramRule {
    pub(super) names: Vec<String>,
    begins: Vec<Vec<Pattern>>,
    has: Vec<Pattern>,
    ends: Vec<Pattern>,
    options: Vec<OptionPattern>,
    harmless: Vec<OptionPattern>,
    inside: Vec<Pattern>,
    valued: Vec<String>,
}

/// An option, and which values of it; nothing for any or none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OptionPattern {
    name: Pattern,
    value: Option<Pattern>,
}

/// A command's arguments, told apart.
#[derive(Debug, Default)]
struct Arguments<'a> {
    /// Those that are neither options nor their values.
    words: Vec<&'a str>,
    options: Vec<(String, Option<&'a str>)>,
}

impl ProgramRule {
    /// A row with the options that are harmless for all programs.
    pub(super) fn new(row: ProgramRow, harmless: &[OptionPattern]) -> Result<ProgramRule, RowError> {
        if row.names.is_empty() || row.names.iter().any(String::is_empty) {
            return Err(RowError::Nameless);
        }
        if let Some(name) = row.names.iter().find(|name| !name.chars().all(is_of_name)) {
            return Err(RowError::Name(name.clone()));
        }
        let begin = |text: &String| text.split(' ').map(|word| pattern(word, text)).collect();
        Ok(ProgramRule {
            names: row.names,
            begins: row.begins.iter().map(begin).collect::<Result<_, _>>()?,
            has: patterns(&row.has)?,
            ends: patterns(&row.ends)?,
            options: options(&row.options)?,
            harmless: [options(&row.harmless)?.as_slice(), harmless].concat(),
            inside: patterns(&row.inside)?,
            valued: row.valued,
        })
    }

    /// Whether a command of the program with that name reaches outside.
    pub(super) fn reaches(&self, name: &str, arguments: &[String]) -> bool {
        if !self.names.iter().any(|known| known == name) {
            return false;
        }
        let Arguments { words, options } = Arguments::new(arguments, &self.valued);
        let any = |patterns: &[Pattern], word: &str| patterns.iter().any(|pattern| pattern.matches(word));
        let has_option = |wanted: &[OptionPattern]| {
            wanted.iter().any(|pattern| options.iter().any(|(name, value)| pattern.fits(name, *value)))
        };
        let stops = has_option(&self.harmless) || words.iter().any(|word| any(&self.inside, word));
        !stops
            && (self.begins.is_empty() || self.begins.iter().any(|begin| begins(&words, begin)))
            && (self.has.is_empty() || words.iter().any(|word| any(&self.has, word)))
            && (self.ends.is_empty() || words.last().is_some_and(|word| any(&self.ends, word)))
            && (self.options.is_empty() || has_option(&self.options))
    }
}

impl OptionPattern {
    pub(super) fn new(text: &str) -> Result<OptionPattern, RowError> {
        let (name, value) = match text.split_once(' ') {
            Some((name, value)) => (name, Some(pattern(value, text)?)),
            None => (text, None),
        };
        let name = pattern(name, text)?;
        if name.is_option() {
            Ok(OptionPattern { name, value })
        } else {
            Err(RowError::NoOption(text.to_owned()))
        }
    }

    fn fits(&self, name: &str, value: Option<&str>) -> bool {
        let value_fits = |wanted: &Pattern| value.is_some_and(|value| wanted.matches(value));
        self.name.matches(name) && self.value.as_ref().is_none_or(value_fits)
    }
}

impl<'a> Arguments<'a> {
    fn new(arguments: &'a [String], valued: &[String]) -> Arguments<'a> {
        let takes_value = |option: &str| valued.iter().any(|known| known == option);
        let mut found = Arguments::default();
        let mut rest = arguments.iter().map(String::as_str);
        while let Some(argument) = rest.next() {
            if argument == "--" {
                found.words.extend(rest.by_ref());
            } else if let Some((name, value)) =
                argument.split_once('=').filter(|_| argument.starts_with("--"))
            {
                found.options.push((name.to_owned(), Some(value)));
            } else if argument.starts_with("--") {
                let value = if takes_value(argument) { rest.next() } else { None };
                found.options.push((argument.to_owned(), value));
            } else if let Some(letters) = argument.strip_prefix('-').filter(|letters| !letters.is_empty()) {
                for (at, letter) in letters.char_indices() {
                    let name = format!("-{letter}");
                    if takes_value(&name) {
                        let joined = &letters[at + letter.len_utf8()..];
                        let value = if joined.is_empty() { rest.next() } else { Some(joined) };
                        found.options.push((name, value));
                        break;
                    }
                    found.options.push((name, None));
                }
            } else {
                found.words.push(argument);
            }
        }
        found
    }
}

fn options(texts: &[String]) -> Result<Vec<OptionPattern>, RowError> {
    texts.iter().map(|text| OptionPattern::new(text)).collect()
}

fn begins(words: &[&str], patterns: &[Pattern]) -> bool {
    words.len() >= patterns.len() && patterns.iter().zip(words).all(|(pattern, word)| pattern.matches(word))
}

fn pattern(word: &str, whole: &str) -> Result<Pattern, RowError> {
    Pattern::new(word).ok_or_else(|| RowError::Empty(whole.to_owned()))
}
