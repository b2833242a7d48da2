//! A rule of the table: a program, and the arguments with which its side effects reach outside the workspace.

use super::{RowError, is_name_char, patterns};
use crate::pattern::Pattern;
use serde::Deserialize;

/// A row as written. `effects.toml` documents its fields.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ProgramRow {
    names: Vec<String>,
    #[serde(default)]
    starts_with: Vec<String>,
    #[serde(default)]
    contains: Vec<String>,
    #[serde(default)]
    ends_with: Vec<String>,
    #[serde(default)]
    options: Vec<String>,
    #[serde(default)]
    harmless: Vec<String>,
    #[serde(default)]
    workspace_only: Vec<String>,
    #[serde(default)]
    options_with_value: Vec<String>,
}

/// A parsed row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ProgramRule {
    pub(super) names: Vec<String>,
    starts_with: Vec<Vec<Pattern>>,
    contains: Vec<Pattern>,
    ends_with: Vec<Pattern>,
    options: Vec<OptionPattern>,
    harmless: Vec<OptionPattern>,
    workspace_only: Vec<Pattern>,
    options_with_value: Vec<String>,
}

/// An option and a pattern for its value. Without the pattern, the option may have any value or none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OptionPattern {
    name: Pattern,
    value: Option<Pattern>,
}

/// The parsed arguments of a command.
#[derive(Debug, Default)]
struct Arguments<'a> {
    /// Arguments that are neither options nor their values.
    words: Vec<&'a str>,
    options: Vec<(String, Option<&'a str>)>,
}

impl ProgramRule {
    /// Creates a rule from a row and the options that are harmless for all programs.
    pub(super) fn new(row: ProgramRow, harmless: &[OptionPattern]) -> Result<ProgramRule, RowError> {
        if row.names.is_empty() || row.names.iter().any(String::is_empty) {
            return Err(RowError::Nameless);
        }
        if let Some(name) = row.names.iter().find(|name| !name.chars().all(is_name_char)) {
            return Err(RowError::Name(name.clone()));
        }
        let prefix = |text: &String| text.split(' ').map(|word| pattern(word, text)).collect();
        Ok(ProgramRule {
            names: row.names,
            starts_with: row.starts_with.iter().map(prefix).collect::<Result<_, _>>()?,
            contains: patterns(&row.contains)?,
            ends_with: patterns(&row.ends_with)?,
            options: options(&row.options)?,
            harmless: [options(&row.harmless)?.as_slice(), harmless].concat(),
            workspace_only: patterns(&row.workspace_only)?,
            options_with_value: row.options_with_value,
        })
    }

    /// Returns whether side effects of a command of this program reach outside.
    pub(super) fn reaches_outside(&self, name: &str, arguments: &[String]) -> bool {
        if !self.names.iter().any(|existing| existing == name) {
            return false;
        }
        let Arguments { words, options } = Arguments::new(arguments, &self.options_with_value);
        let any = |patterns: &[Pattern], word: &str| patterns.iter().any(|pattern| pattern.matches(word));
        let has_option = |patterns: &[OptionPattern]| {
            patterns.iter().any(|pattern| options.iter().any(|(name, value)| pattern.matches(name, *value)))
        };
        let is_harmless =
            has_option(&self.harmless) || words.iter().any(|word| any(&self.workspace_only, word));
        !is_harmless
            && (self.starts_with.is_empty()
                || self.starts_with.iter().any(|prefix| starts_with(&words, prefix)))
            && (self.contains.is_empty() || words.iter().any(|word| any(&self.contains, word)))
            && (self.ends_with.is_empty() || words.last().is_some_and(|word| any(&self.ends_with, word)))
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

    fn matches(&self, name: &str, value: Option<&str>) -> bool {
        let value_matches = |pattern: &Pattern| value.is_some_and(|value| pattern.matches(value));
        self.name.matches(name) && self.value.as_ref().is_none_or(value_matches)
    }
}

impl<'a> Arguments<'a> {
    fn new(arguments: &'a [String], options_with_value: &[String]) -> Arguments<'a> {
        let takes_value = |option: &str| options_with_value.iter().any(|existing| existing == option);
        let mut parsed = Arguments::default();
        let mut rest = arguments.iter().map(String::as_str);
        while let Some(argument) = rest.next() {
            if argument == "--" {
                parsed.words.extend(rest.by_ref());
            } else if let Some((name, value)) =
                argument.split_once('=').filter(|_| argument.starts_with("--"))
            {
                parsed.options.push((name.to_owned(), Some(value)));
            } else if argument.starts_with("--") {
                let value = if takes_value(argument) { rest.next() } else { None };
                parsed.options.push((argument.to_owned(), value));
            } else if let Some(letters) = argument.strip_prefix('-').filter(|letters| !letters.is_empty()) {
                for (index, letter) in letters.char_indices() {
                    let name = format!("-{letter}");
                    if takes_value(&name) {
                        let joined = &letters[index + letter.len_utf8()..];
                        let value = if joined.is_empty() { rest.next() } else { Some(joined) };
                        parsed.options.push((name, value));
                        break;
                    }
                    parsed.options.push((name, None));
                }
            } else {
                parsed.words.push(argument);
            }
        }
        parsed
    }
}

fn options(texts: &[String]) -> Result<Vec<OptionPattern>, RowError> {
    texts.iter().map(|text| OptionPattern::new(text)).collect()
}

fn starts_with(words: &[&str], patterns: &[Pattern]) -> bool {
    words.len() >= patterns.len() && patterns.iter().zip(words).all(|(pattern, word)| pattern.matches(word))
}

fn pattern(word: &str, whole: &str) -> Result<Pattern, RowError> {
    Pattern::new(word).ok_or_else(|| RowError::Empty(whole.to_owned()))
}
