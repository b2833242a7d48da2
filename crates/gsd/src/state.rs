//! Reads position, milestone and blockers from `STATE.md`. It never decides between contradictory claims.

use crate::claim::{Claim, STATE, Source};
use crate::front_matter::FrontMatter;
use crate::markdown::{field, leading_number, plain, ratio, says_complete};
use crate::milestone::{is_placeholder, version_of};
use crate::phase_id::{PHASE_WORDS, mention};
use crate::{PhaseId, Warning};
use longhaul_workflow::document::{DocumentLine, heading, list_item, visible_lines};

/// Everything that the state claims.
#[derive(Debug, Default)]
pub(crate) struct State {
    /// Claims about the current phase, the most trustworthy first.
    pub phases: Vec<Claim<PhaseClaim>>,
    /// Plans of the current phase.
    pub plan_count: Option<Claim<usize>>,
    /// Versions of the milestone.
    pub milestones: Vec<Claim<String>>,
    pub blockers: Vec<String>,
    pub front_matter: FrontMatter,
}

/// A claim about the current phase. Without a number, the text says that no phase is in progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PhaseClaim {
    pub id: Option<PhaseId>,
    pub name: Option<String>,
    /// Whether the text says that no phase is in progress, and is not merely unclear.
    pub is_none: bool,
}

impl State {
    pub(crate) fn parse(text: &str, warnings: &mut Vec<Warning>) -> State {
        let front_matter = FrontMatter::parse(text, warnings);
        let body = text.split_inclusive('\n').skip(front_matter.line_count).collect::<String>();
        let mut lines = visible_lines(&body);
        lines.iter_mut().for_each(|line| line.number += front_matter.line_count);
        let mut state = State { blockers: blockers(&lines), ..State::default() };
        if let Some(line) = lines.iter().find(|line| line.text.starts_with("<<<<<<< ")) {
            warnings.push(Source::new(STATE, line.number).warning("a merge conflict is unresolved"));
        }
        state.read_position(position(&lines));
        if state.phases.is_empty() {
            state.read_fields(&lines);
        }
        state.read_front_matter(&front_matter);
        if state.phases.is_empty() {
            state.phases.extend(focus(&lines));
        }
        state.front_matter = front_matter;
        state
    }

    /// Reads the section with the position. A line in it can start with the phase.
    fn read_position(&mut self, lines: &[DocumentLine]) {
        self.read_fields(lines);
        if self.phases.is_empty()
            && let Some(line) = lines.iter().find(|line| mention(&line.text).is_some())
        {
            let claim = PhaseClaim::parse(&plain(&line.text));
            self.phases.push(Claim::new(claim, Source::new(STATE, line.number)));
        }
    }

    fn read_fields(&mut self, lines: &[DocumentLine]) {
        for line in lines {
            let source = Source::new(STATE, line.number);
            let Some((key, value)) = field(&line.text) else { continue };
            // A second language can follow: `Phase / Faz`.
            match key.split(" / ").next().unwrap_or_default() {
                "phase" | "current phase" | "active phase" | "fase" | "fase atual" | "fase actual" => {
                    self.phases.push(Claim::new(PhaseClaim::parse(&value), source));
                }
                // The number before `of` can be a finished plan or the next one. Only the total is clear.
                "plan" | "plans" if !value.to_lowercase().contains("phase ") => {
                    let total = match ratio(&value) {
                        Some((_, total)) => total,
                        None => leading_number(&value).map(|(count, _)| count).filter(|_| key == "plans"),
                    };
                    let total = total.map(|total| Claim::new(total, source));
                    self.plan_count = self.plan_count.take().or(total);
                }
                "milestone" if !is_placeholder(&value) => {
                    let version = version_of(&value).unwrap_or(&value).to_owned();
                    self.milestones.push(Claim::new(version, source));
                }
                _ => {}
            }
        }
    }

    fn read_front_matter(&mut self, front_matter: &FrontMatter) {
        if let Some(claim) = front_matter.get("current_phase") {
            let mut phase = PhaseClaim::parse(&claim.value);
            let name = front_matter.get("current_phase_name").map(|claim| claim.value.clone());
            phase.name = name.filter(|name| !name.starts_with('#'));
            self.phases.push(Claim::new(phase, claim.source.clone()));
        }
        if let Some(claim) = front_matter.get("milestone").filter(|claim| !is_placeholder(&claim.value)) {
            self.milestones.push(claim.clone());
        }
    }
}

impl PhaseClaim {
    /// Reads `2 of 5 (Name)`, `05 (slug) — EXECUTING`, `04 — Name` or `1.1 - Name`.
    fn parse(value: &str) -> PhaseClaim {
        let split = mention(value).or_else(|| PhaseId::split(value.trim_start_matches('#')));
        let Some((id, rest)) = split else {
            // `none` and `All phases complete` are clear; `2–3` and `--phase — 86` are not.
            let mut words = value.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
            let is_none = words.next().is_none_or(|word| {
                word.starts_with(char::is_alphabetic) && !PHASE_WORDS.contains(&word.to_lowercase().as_str())
            });
            return PhaseClaim { id: None, name: None, is_none };
        };
        let rest = rest.trim_start();
        let after = ["of ", "de ", "/"].iter().find_map(|word| rest.strip_prefix(word));
        let after = after.and_then(|after| leading_number(after.trim_start()));
        let rest = after.map_or(rest, |(_, rest)| rest.trim_start_matches(['.', '+'])).trim_start();
        // In `228 (5 of 6 in v27.1) (Name)`, the first part is the position in the milestone.
        let position = rest.strip_prefix('(').filter(|inner| ratio(inner).is_some());
        let rest =
            position.and_then(|inner| inner.split_once(')')).map_or(rest, |(_, rest)| rest.trim_start());
        let name = match rest.strip_prefix('(') {
            Some(inner) => in_parentheses(inner),
            None => {
                let name = rest.trim_start_matches([':', '—', '–', '-', ' ']);
                let ends = [" — ", " ("].iter().filter_map(|end| name.find(end)).min();
                &name[..ends.unwrap_or(name.len())]
            }
        };
        let is_name = !name.is_empty() && !says_complete(name) && rest.starts_with(['(', ':', '—', '–', '-']);
        PhaseClaim { id: Some(id), name: is_name.then(|| name.trim().to_owned()), is_none: false }
    }
}

/// Returns the text up to the parenthesis that closes it.
fn in_parentheses(text: &str) -> &str {
    let mut depth = 1;
    let end = text.find(|c| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        depth == 0
    });
    &text[..end.unwrap_or(text.len())]
}

/// Returns the lines of the section with the position. Empty without one.
fn position(lines: &[DocumentLine]) -> &[DocumentLine] {
    let titles = ["current position", "position", "current status", "current phase"];
    section(lines, |title| titles.iter().any(|name| title.starts_with(name))).unwrap_or_default()
}

/// Returns the first section whose title in lower case matches.
fn section(lines: &[DocumentLine], is_match: impl Fn(&str) -> bool) -> Option<&[DocumentLine]> {
    let (start, level) = lines.iter().enumerate().find_map(|(index, line)| {
        let (level, title) = heading(&line.text)?;
        is_match(&title.to_lowercase()).then_some((index, level))
    })?;
    let rest = &lines[start + 1..];
    let is_end = |line: &DocumentLine| heading(&line.text).is_some_and(|(found, _)| found <= level);
    Some(&rest[..rest.iter().position(is_end).unwrap_or(rest.len())])
}

/// Reads the phase from `Current focus: Phase 3`, which GSD writes above the position.
fn focus(lines: &[DocumentLine]) -> Option<Claim<PhaseClaim>> {
    lines.iter().find_map(|line| {
        let (_, value) = field(&line.text).filter(|(key, _)| key == "current focus")?;
        mention(&value)?;
        Some(Claim::new(PhaseClaim::parse(&value), Source::new(STATE, line.number)))
    })
}

/// Returns the open blockers below a heading about them: the items, or the paragraphs if there is no item.
fn blockers(lines: &[DocumentLine]) -> Vec<String> {
    let is_blockers = |title: &str| ["blocker", "bloque", "bloqueo"].iter().any(|word| title.contains(word));
    let lines = section(lines, is_blockers).unwrap_or_default();
    let (mut items, mut paragraphs): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    let mut is_item = None;
    for line in lines.iter().take_while(|line| heading(&line.text).is_none()) {
        let text = line.text.trim();
        let item = list_item(&line.text).filter(|item| item.indent < 2);
        if let Some(item) = item {
            items.push(if item.is_ticked == Some(true) { String::new() } else { item.text.to_owned() });
            is_item = Some(true);
        } else if text.is_empty() || text.starts_with(['|', '<', '-']) {
            is_item = None;
        } else if let Some(is_item) = is_item {
            let last = if is_item { items.last_mut() } else { paragraphs.last_mut() };
            last.into_iter().for_each(|last| *last = format!("{last} {text}"));
        } else {
            paragraphs.push(text.to_owned());
            is_item = Some(false);
        }
    }
    let blockers = if items.is_empty() { paragraphs } else { items };
    blockers.iter().filter(|text| is_open_blocker(text)).map(|text| plain(text)).collect()
}

fn is_open_blocker(text: &str) -> bool {
    let lower = plain(text).to_lowercase();
    let lower = lower.trim_start_matches(|c: char| !c.is_alphanumeric());
    let closed = [
        "none",
        "no blocker",
        "no active",
        "no open",
        "no known",
        "no current",
        "n/a",
        "nothing",
        "nenhum",
        "ningun",
        "aucun",
        "resolved",
    ];
    !(lower.is_empty() || text.starts_with("~~") || closed.iter().any(|word| lower.starts_with(word)))
}
