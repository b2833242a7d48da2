//! A rule of the table: a program, and the arguments with which its side effects reach outside the workspace.

use super::is_name_byte;
use crate::pattern::{Pattern, empty_pattern};
use serde::Deserialize;

/// A row of the table. `effects.toml` documents its fields.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ProgramRule {
    pub(super) names: Vec<String>,
    starts_with: Vec<WordPatterns>,
    contains: Vec<Pattern>,
    ends_with: Vec<Pattern>,
    options: Vec<OptionPattern>,
    pub(super) harmless: Vec<OptionPattern>,
    workspace_only: Vec<Pattern>,
    options_with_value: Vec<String>,
}

/// Patterns for consecutive words, separated by spaces.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
struct WordPatterns(Vec<Pattern>);

/// An option and a pattern for its value. Without the pattern, the option may have any value or none.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct OptionPattern {
    name: Pattern,
    value: Option<Pattern>,
}

#[derive(Debug, Default)]
struct Arguments<'a> {
    /// Arguments that are neither options nor their values.
    words: Vec<&'a str>,
    options: Vec<(String, Option<&'a str>)>,
}

impl ProgramRule {
    pub(super) fn checked(self) -> Result<ProgramRule, String> {
        if self.names.is_empty() || self.names.iter().any(String::is_empty) {
            return Err("a program without names, expected for example names = [\"deploy.sh\"]".to_owned());
        }
        match self.names.iter().find(|name| !name.bytes().all(is_name_byte)) {
            Some(name) => Err(format!(
                "\"{name}\" is not a program name (letters, digits and -_.+@, without its directory)"
            )),
            None => Ok(self),
        }
    }

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
                || self.starts_with.iter().any(|prefix| starts_with(&words, &prefix.0)))
            && (self.contains.is_empty() || words.iter().any(|word| any(&self.contains, word)))
            && (self.ends_with.is_empty() || words.last().is_some_and(|word| any(&self.ends_with, word)))
            && (self.options.is_empty() || has_option(&self.options))
    }
}

impl TryFrom<String> for WordPatterns {
    type Error = String;

    fn try_from(text: String) -> Result<WordPatterns, String> {
        let words = text.split(' ').map(Pattern::new).collect::<Option<_>>();
        words.map(WordPatterns).ok_or_else(|| empty_pattern(&text))
    }
}

impl TryFrom<String> for OptionPattern {
    type Error = String;

    fn try_from(text: String) -> Result<OptionPattern, String> {
        let pattern = |word: &str| Pattern::new(word).ok_or_else(|| empty_pattern(&text));
        let (name, value) =
            text.split_once(' ').map_or((text.as_str(), None), |(name, value)| (name, Some(value)));
        let (name, value) = (pattern(name)?, value.map(pattern).transpose()?);
        if name.alternatives().any(|name| !name.starts_with('-')) {
            return Err(format!("\"{text}\" is not an option (options start with \"-\")"));
        }
        Ok(OptionPattern { name, value })
    }
}

impl OptionPattern {
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

fn starts_with(words: &[&str], patterns: &[Pattern]) -> bool {
    words.len() >= patterns.len() && patterns.iter().zip(words).all(|(pattern, word)| pattern.matches(word))
}
