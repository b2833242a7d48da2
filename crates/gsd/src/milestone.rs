//! Milestones of a roadmap: their versions, and the phases that belong to them.

use crate::PhaseId;
use crate::markdown::{plain, without_emoji};
use crate::phase_id::PHASE_WORDS;

/// A milestone that a roadmap names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Milestone {
    /// Version such as `v1.0`.
    pub version: String,
    /// Name after the version. Empty without one.
    pub name: String,
    /// First and last phase. Without a last one, all later phases belong to it.
    pub range: Option<(PhaseId, Option<PhaseId>)>,
    pub is_shipped: bool,
}

impl Milestone {
    /// Reads the title of a milestone, such as `✅ v1.0 Name (Phases 1-4)` or `Milestone: v2`.
    /// `None` if it names no version, or names one only in passing.
    pub(crate) fn parse(text: &str, is_ticked: bool) -> Option<Milestone> {
        const BEFORE: &[&str] = &[
            "milestone",
            "current",
            "active",
            "next",
            "roadmap",
            "phases",
            "phase",
            "archived",
            "hito",
            "marco",
        ];
        let line = plain(text);
        let start = version_start(&line)?;
        let words = line[..start].split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        if !words.into_iter().all(|word| BEFORE.contains(&word.to_lowercase().as_str())) {
            return None;
        }
        let title = &line[start..];
        let version = version_of(title)?;
        let rest = title[version.len()..].trim_start_matches([':', ' ']);
        let cuts = ["(", "（", " — ", " – ", " - ", "— ", "– "];
        let cut = cuts.iter().filter_map(|cut| rest.find(cut)).min().unwrap_or(rest.len());
        // In `v1.0 Phases 1-4`, no name follows the version.
        let name = Some(rest[..cut].trim()).filter(|name| range(&name.to_lowercase()).is_none());
        let lower = line.to_lowercase();
        let is_shipped = is_ticked || line.starts_with('✅') || says_shipped(&lower);
        Some(Milestone {
            version: version.to_owned(),
            name: name.unwrap_or_default().to_owned(),
            range: range(&lower),
            is_shipped: is_shipped && !lower.contains("in progress"),
        })
    }

    /// Whether both name the same milestone. Two milestones can share a version if their names differ.
    pub(crate) fn is_same(&self, other: &Milestone) -> bool {
        let same_name = self.name.eq_ignore_ascii_case(&other.name);
        self.version.eq_ignore_ascii_case(&other.version)
            && (same_name || self.name.is_empty() || other.name.is_empty())
    }

    /// Adds what another line states about the same milestone.
    pub(crate) fn merge(&mut self, other: Milestone) {
        self.is_shipped |= other.is_shipped;
        self.range = self.range.take().or(other.range);
        if self.name.is_empty() {
            self.name = other.name;
        }
    }

    pub(crate) fn contains(&self, id: &PhaseId) -> bool {
        self.range.as_ref().is_some_and(|(first, last)| {
            // The phases 8.1 and 8A belong to `Phases 1–8`.
            let is_part = |rest: &str| rest.starts_with(|c: char| !c.is_ascii_digit());
            let is_within = |last: &PhaseId| {
                id <= last || id.to_string().strip_prefix(&last.to_string()).is_some_and(is_part)
            };
            first <= id && last.as_ref().is_none_or(is_within)
        })
    }
}

/// Whether a part of the line is a note such as `(shipped 2026-01-01)` or `— COMPLETE`.
fn says_shipped(lower: &str) -> bool {
    lower.split(['(', '—', '–', '-', ',']).map(without_emoji).map(str::trim_end).any(|part| {
        let is_note =
            ["shipped", "completed", "released", "archived"].iter().any(|word| part.starts_with(word));
        is_note || part == "complete" || part == "complete)"
    })
}

/// Returns the offset of a version such as `v1.0`.
pub(crate) fn version_start(text: &str) -> Option<usize> {
    text.match_indices(['v', 'V']).map(|(start, _)| start).find(|start| {
        let is_word_start =
            !text[..*start].ends_with(|c: char| c.is_alphanumeric() || matches!(c, '/' | '-' | '.'));
        is_word_start && text[start + 1..].starts_with(|c: char| c.is_ascii_digit())
    })
}

/// Returns the version such as `v1.0` that a text names first.
pub(crate) fn version_of(text: &str) -> Option<&str> {
    let text = &text[version_start(text)?..];
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '.').unwrap_or(text.len());
    Some(text[..end].trim_end_matches('.'))
}

/// Returns the phases of `phases 5-9`, `phases 8+` or `phase 4`.
fn range(lower: &str) -> Option<(PhaseId, Option<PhaseId>)> {
    let numbers = PHASE_WORDS.iter().find_map(|word| {
        let rest = &lower[lower.find(word)? + word.len()..];
        PhaseId::split_number(rest.strip_prefix('s').unwrap_or(rest).trim_start())
    });
    let (first, rest) = numbers?;
    if rest.starts_with('+') {
        return Some((first, None));
    }
    let rest = rest.trim_start();
    let last = rest.strip_prefix(['-', '–', '—', '→']);
    let last = last.and_then(|rest| PhaseId::split_number(rest.trim_start()));
    let last = last.map_or_else(|| first.clone(), |(last, _)| last);
    Some((first, Some(last)))
}

/// Whether a text names no milestone but the absence of one, or the placeholder that GSD writes.
pub(crate) fn is_placeholder(text: &str) -> bool {
    let text = without_emoji(text).to_lowercase();
    matches!(text.as_str(), "" | "none" | "milestone" | "n/a" | "tbd" | "null") || text.starts_with("between")
}
