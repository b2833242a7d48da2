//! Finds the mention of a phase at the start of a text, in the languages that were seen in roadmaps.

use crate::PhaseId;
use crate::markdown::without_emoji;

/// Words for a phase, in lower case.
pub(crate) const PHASE_WORDS: &[&str] =
    &["phase", "fase", "faz", "faza", "etapa", "étape", "фаза", "этап", "阶段", "階段", "フェーズ", "단계"];

/// Splits `Phase 2.1: Name` into the number and the rest.
pub(crate) fn mention(text: &str) -> Option<(PhaseId, &str)> {
    let text = without_emoji(text).trim_start_matches(['*', '~', '`', '[']);
    let word_end = text.find(|c: char| !c.is_alphabetic()).unwrap_or(text.len());
    let is_phase = PHASE_WORDS.contains(&text[..word_end].to_lowercase().as_str());
    is_phase.then(|| PhaseId::split(text[word_end..].trim_start_matches([' ', '\u{a0}', ':', '*'])))?
}
