//! Reads `.archon/PROGRESS.md`, in which the plan agent states the stage and the objectives. It never guesses:
//! a stage that is none of the known words is an error.

use super::objectives::{Objective, names_in};
use crate::document::{DocumentLine, DocumentSection, sections, visible_lines};
use longhaul_core::word_enum;
use serde::Deserialize;

word_enum! {
    /// The stage of a project.
    #[derive(Deserialize)]
    pub enum Stage {
        /// The project is not set up yet.
        Init = "init",
        /// Statements are translated to Lean.
        Autoformalize = "autoformalize",
        /// Proofs are filled in.
        Prover = "prover",
        /// Proofs are cleaned up.
        Polish = "polish",
        /// The project is finished.
        Complete = "COMPLETE",
    }
}

/// The state of a project, as the plan agent wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectProgress {
    /// The stage.
    pub stage: Stage,
    /// Objectives of the newest section, in its order. They are not resolved yet.
    pub objectives: Vec<Objective>,
}

fn stage_words() -> String {
    let words: Vec<&str> = Stage::ALL.iter().map(|stage| stage.as_str()).collect();
    let (last, others) = words.split_last().map_or(("", &[][..]), |(last, others)| (*last, others));
    format!("{} or {last}", others.join(", "))
}

impl ProjectProgress {
    /// Parses the text of a `PROGRESS.md`. Fenced code and HTML comments do not count.
    ///
    /// # Errors
    /// Returns an error if the text states no stage, an unknown one, or two different ones.
    pub fn parse(text: &str) -> Result<ProjectProgress, String> {
        let lines = visible_lines(text);
        let stage = current_stage(&lines)?;
        // Plan agents append sections and keep the old ones.
        let newest = sections(&lines, "Current Objectives").pop();
        let objectives = newest.map_or_else(Vec::new, |section| names_in(section.lines));
        Ok(ProjectProgress { stage, objectives })
    }
}

fn current_stage(lines: &[DocumentLine]) -> Result<Stage, String> {
    let mut current: Option<(Stage, usize)> = None;
    for section in sections(lines, "Current Stage") {
        let (second, second_line) = stage_of(section)?;
        match current {
            Some((first, first_line)) if first != second => {
                return Err(format!(
                    "PROGRESS.md states the stage {first} in line {first_line} and {second} in line {second_line}; \
                     delete one"
                ));
            }
            Some(_) | None => current = Some((second, second_line)),
        }
    }
    current.map(|(stage, _)| stage).ok_or_else(|| {
        let stages = stage_words();
        format!("PROGRESS.md has no heading `## Current Stage`; add it, with {stages} in the line below")
    })
}

/// Returns the stage in the first line with text, and the number of this line.
fn stage_of(section: DocumentSection<'_>) -> Result<(Stage, usize), String> {
    let error = |line: usize, problem: String| format!("PROGRESS.md, line {line}: {problem}");
    let Some(line) = section.lines.iter().find(|line| !line.text.trim().is_empty()) else {
        let problem = format!("no stage follows the heading; write {} below it", stage_words());
        return Err(error(section.number, problem));
    };
    let text = line.text.trim();
    let unknown = || error(line.number, format!("`{text}` is no stage; write only {}", stage_words()));
    Ok((parse_stage(text).ok_or_else(unknown)?, line.number))
}

/// Parses a stage: its word, emphasized or not, and for stages with work left also with a note.
fn parse_stage(text: &str) -> Option<Stage> {
    // COMPLETE ends the workflow, so the word must be exact and alone.
    if plain(text) == Stage::Complete.as_str() {
        return Some(Stage::Complete);
    }
    let note = [" (", " — ", " – ", " - "].iter().filter_map(|start| text.find(start)).min();
    let word = plain(note.map_or(text, |note| &text[..note]));
    let mut unfinished = Stage::ALL.iter().copied().filter(|stage| *stage != Stage::Complete);
    unfinished.find(|stage| stage.as_str().eq_ignore_ascii_case(word))
}

/// Removes emphasis, code marks and a final period.
fn plain(text: &str) -> &str {
    text.trim_matches(['*', '_', '`', ' ']).trim_end_matches('.').trim_end_matches(['*', '_', '`'])
}

#[cfg(test)]
mod tests;
