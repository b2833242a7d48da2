//! Patterns for names and words: `*` matches any text, `|` separates alternatives.

use serde::Deserialize;
use std::fmt;

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Pattern(Vec<String>);

impl Pattern {
    /// Parses a pattern. Returns `None` if an alternative is empty, because it is a mistake and would match
    /// nothing.
    pub(crate) fn new(text: &str) -> Option<Pattern> {
        let alternatives: Vec<String> = text.split('|').map(str::to_owned).collect();
        alternatives.iter().all(|alternative| !alternative.is_empty()).then_some(Pattern(alternatives))
    }

    pub(crate) fn alternatives(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    pub(crate) fn matches(&self, word: &str) -> bool {
        self.alternatives().any(|alternative| matches(alternative, word))
    }
}

impl TryFrom<String> for Pattern {
    type Error = String;

    fn try_from(text: String) -> Result<Pattern, String> {
        Pattern::new(&text).ok_or_else(|| empty_pattern(&text))
    }
}

pub(crate) fn empty_pattern(text: &str) -> String {
    format!("empty pattern in \"{text}\" (write \"*\" for anything)")
}

impl fmt::Display for Pattern {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0.join("|"))
    }
}

/// Returns whether one alternative matches the whole word.
pub(crate) fn matches(pattern: &str, word: &str) -> bool {
    // Most words start with another character.
    if !pattern.starts_with('*') && pattern.as_bytes().first() != word.as_bytes().first() {
        return false;
    }
    let Some((start, pattern)) = pattern.split_once('*') else { return pattern == word };
    let Some(mut rest) = word.strip_prefix(start) else { return false };
    let (middle, end) = pattern.rsplit_once('*').unwrap_or(("", pattern));
    for part in middle.split('*') {
        match rest.find(part) {
            Some(offset) => rest = &rest[offset + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(end)
}

#[cfg(test)]
mod tests {
    use super::Pattern;

    #[test]
    fn matches_alternatives_and_stars() {
        let check = |pattern: &str, word: &str, expected: bool| {
            let pattern = Pattern::new(pattern).expect("the pattern is whole");
            assert_eq!(pattern.matches(word), expected, "{pattern:?} {word}");
        };
        check("push", "push", true);
        check("push", "pushed", false);
        check("a|b*|c", "bc", true);
        check("*", "", true);
        check("*:*", "host:", true);
        check("*:*", "host", false);
        check("mcp__*__create*", "mcp__a__b__create_issue", true);
        check("mcp__*__create*", "mcp__create_issue", false);
        check("a*a", "a", false);
        check("*é*", "xéy", true);
        assert_eq!(Pattern::new("a||b"), None);
        assert_eq!(Pattern::new(""), None);
    }
}
