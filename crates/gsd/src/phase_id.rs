//! Phase numbers: `2`, `2.1`, `10.1.1`, `12A` and `12A.1`. They are no decimal fractions: `8.10` comes after `8.9`.

use crate::markdown::{leading_number, without_emoji};
use serde::{Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// The number of a phase. Leading zeros and the case of its letter do not matter: `08.1` is `8.1`, and `12a` is `12A`.
/// The order is that of GSD: 12, 12.1, 12A, 12A.1, 12B, 13.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PhaseId {
    number: u32,
    letter: Option<char>,
    decimals: Vec<u32>,
}

/// A text that is no phase number.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no phase number: write one such as 2, 2.1 or 2A")]
pub struct PhaseIdError(String);

impl PhaseId {
    /// Splits a text that starts with a phase number into the number and the rest.
    /// `None` if it starts with something else, or with a range of phases.
    pub(crate) fn split(text: &str) -> Option<(PhaseId, &str)> {
        let (id, rest) = PhaseId::split_number(text)?;
        let is_word_end = !rest.starts_with(|c| is_word_char(c) || c == '+');
        Some((id, rest)).filter(|_| is_word_end && !is_range(rest))
    }

    /// Splits a text that starts with a phase number into the number and the rest, whatever it is.
    pub(crate) fn split_number(text: &str) -> Option<(PhaseId, &str)> {
        let (number, mut rest) = component(text)?;
        // In `2nd`, no letter belongs to the number.
        let letter = rest.chars().next().filter(char::is_ascii_alphabetic);
        let letter = letter.filter(|_| !rest[1..].starts_with(is_word_char));
        rest = &rest[letter.map_or(0, char::len_utf8)..];
        let mut decimals = Vec::new();
        while let Some((decimal, after)) = rest.strip_prefix('.').and_then(component) {
            decimals.push(decimal);
            rest = after;
        }
        Some((PhaseId { number, letter: letter.map(|c| c.to_ascii_uppercase()), decimals }, rest))
    }

    /// Whether the phase belongs to the backlog, which GSD numbers 999.1, 999.2 and so forth.
    pub(crate) fn is_backlog(&self) -> bool {
        self.number == 999
    }
}

/// Words for a phase, in lower case, in the languages that were seen in roadmaps.
pub(crate) const PHASE_WORDS: &[&str] =
    &["phase", "fase", "faz", "faza", "etapa", "étape", "фаза", "этап", "阶段", "階段", "フェーズ", "단계"];

/// Splits `Phase 2.1: Name` into the number and the rest.
pub(crate) fn mention(text: &str) -> Option<(PhaseId, &str)> {
    PhaseId::split(after_phase_word(text)?)
}

/// Splits `Phase PROJ-42: Name`, whose id is no number, into the id and the rest. `None` for other titles, such as
/// `Phase order: first to last`.
pub(crate) fn unreadable_mention(text: &str) -> Option<(&str, &str)> {
    let text = after_phase_word(text)?;
    let (id, rest) = text.split_at(text.find([':', ' ', '*'])?);
    let is_title = rest.trim_start_matches(['*', ' ']).starts_with([':', '—', '–', '-']);
    let has_digit = id.contains(|c: char| c.is_ascii_digit());
    let is_id = !id.is_empty() && (has_digit || id.chars().all(|c| c.is_ascii_uppercase()));
    (is_id && is_title && PhaseId::split(text).is_none()).then_some((id, rest))
}

/// Returns the text after the word for a phase that it starts with.
fn after_phase_word(text: &str) -> Option<&str> {
    let text = without_emoji(text).trim_start_matches(['*', '~', '`', '[']);
    let word_end = text.find(|c: char| !c.is_alphabetic()).unwrap_or(text.len());
    let is_phase = PHASE_WORDS.contains(&text[..word_end].to_lowercase().as_str());
    is_phase.then(|| text[word_end..].trim_start_matches([' ', '\u{a0}', ':', '*']))
}

/// Whether a range continues after its first number: `–11.3`, `-7` or ` - Phase 7`.
fn is_range(rest: &str) -> bool {
    let after = rest.trim_start().strip_prefix(['-', '–', '—', '→']).unwrap_or_default();
    // A date or a name can follow a dash with spaces around it.
    let is_close = !rest.starts_with(' ') && after.starts_with(|c: char| c.is_ascii_digit());
    is_close && rest.starts_with(['-', '–', '—'])
}

/// Returns the number at the start of a text, and the rest.
fn component(text: &str) -> Option<(u32, &str)> {
    let (number, rest) = leading_number(text)?;
    Some((number.try_into().ok()?, rest))
}

fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

impl FromStr for PhaseId {
    type Err = PhaseIdError;

    fn from_str(text: &str) -> Result<PhaseId, PhaseIdError> {
        let whole = PhaseId::split_number(text).filter(|(_, rest)| rest.is_empty());
        whole.map(|(id, _)| id).ok_or_else(|| PhaseIdError(text.to_owned()))
    }
}

impl fmt::Display for PhaseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.number)?;
        self.letter.iter().try_for_each(|letter| write!(f, "{letter}"))?;
        self.decimals.iter().try_for_each(|decimal| write!(f, ".{decimal}"))
    }
}

/// A whole phase is a number in JSON, as scripts for openclawpack expect. Others are strings: as a number, `2.10`
/// would become `2.1`.
impl Serialize for PhaseId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.letter.is_none() && self.decimals.is_empty() {
            serializer.serialize_u32(self.number)
        } else {
            serializer.collect_str(self)
        }
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for PhaseId {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "PhaseId".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "Number of a phase: an integer, or a string such as 2.1 or 12A",
            "type": ["integer", "string"],
            "minimum": 0,
            "pattern": "^[0-9]+([A-Z]([.][0-9]+)*|([.][0-9]+)+)$",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::PhaseId;

    fn id(text: &str) -> PhaseId {
        text.parse().expect("a phase number")
    }

    #[test]
    fn components_decide_the_order() {
        assert_eq!(id("08.1"), id("8.1"));
        assert_eq!(id("0").to_string(), "0");
        assert_eq!(id("012a"), id("12A"));
        let sorted = [
            "2", "2.1", "8.1", "8.10", "10.1", "10.1.1", "12", "12.1", "12A", "12A.1.2", "12A.2", "12B", "13",
        ];
        let mut ids: Vec<PhaseId> = sorted.into_iter().rev().map(id).collect();
        ids.sort();
        assert_eq!(ids.iter().map(PhaseId::to_string).collect::<Vec<_>>(), sorted);
        let overflow = "99999999999";
        for text in ["", "a", "2.", ".1", "2..1", "-1", "+1", "1-2", "1AB", "A1", "1.2A", overflow] {
            assert!(text.parse::<PhaseId>().is_err(), "{text}");
        }
    }

    #[test]
    fn only_whole_phases_are_json_numbers() {
        let json = |text: &str| serde_json::to_string(&id(text)).expect("it serializes");
        assert_eq!(["04", "08.10", "1a"].map(json), ["4", "\"8.10\"", "\"1A\""]);
    }

    #[test]
    fn number_is_split_from_its_text() {
        let split = |text| PhaseId::split(text).map(|(id, rest)| (id.to_string(), rest));
        assert_eq!(split("05.1: Name"), Some(("5.1".to_owned(), ": Name")));
        assert_eq!(split("12A: Name"), Some(("12A".to_owned(), ": Name")));
        assert_eq!(split("1. Name"), Some(("1".to_owned(), ". Name")));
        assert_eq!(split("1 - 3D"), Some(("1".to_owned(), " - 3D")));
        for text in ["11.2–11.3", "1-7 (v1.0)", "1A-1C", "35+", "3rd", "2.1A", "x", ""] {
            assert_eq!(split(text), None, "{text}");
        }
    }
}
