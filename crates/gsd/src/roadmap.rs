//! Reads phases and milestones from `ROADMAP.md`: headings, check lists, tables and folded archives.

use crate::PhaseId;
use crate::claim::{Claim, ROADMAP, Source};
use crate::disk::is_plan_id;
use crate::markdown::{
    cells, field, is_complete_note, leading_number, letters, plain, ratio, says_complete, without_emoji,
};
use crate::milestone::{Milestone, version_start};
use crate::phase_id::{mention, unreadable_mention};
use longhaul_workflow::document::{DocumentLine, heading, list_item, visible_lines};
use std::collections::BTreeMap;

/// Limit of phases. Long projects have 300.
pub(crate) const PHASES_MAX: usize = 3000;

/// The phases and the milestones, in the order of the text.
#[derive(Debug, Default)]
pub(crate) struct Roadmap {
    pub phases: Vec<RoadmapPhase>,
    pub milestones: Vec<Milestone>,
    /// First line that was not read because of [`PHASES_MAX`].
    pub end: Option<Source>,
    /// Ids of open phases that are no numbers, such as `PROJ-42`.
    pub unreadable: Vec<Claim<String>>,
}

/// A phase, put together from all lines that mention it.
#[derive(Debug)]
pub(crate) struct RoadmapPhase {
    pub id: PhaseId,
    pub name: Option<Claim<String>>,
    /// Index of the milestone whose part of the text names the phase.
    pub milestone: Option<usize>,
    pub source: Source,
    /// Line that says that the phase is complete: a ticked box, a row of a table or a heading. They are updated late, never
    /// early.
    pub complete: Option<Source>,
    /// Finished and all plans, as the table or the heading states them.
    pub ratio: Option<Claim<(usize, Option<usize>)>>,
    /// Number of plans, as a line states it.
    pub plan_count: Option<Claim<usize>>,
    /// Boxes of the listed plans.
    pub plans: Vec<Claim<bool>>,
}

/// A part of the text that belongs to a milestone.
struct Frame {
    /// Level of the heading. `None` for a folded part.
    level: Option<usize>,
    milestone: Option<usize>,
}

#[derive(Default)]
struct Parser {
    roadmap: Roadmap,
    frames: Vec<Frame>,
    /// Milestone that the title of the whole document names.
    title: Option<usize>,
    /// Index and heading level of the phase that the text describes.
    phase: Option<(usize, usize)>,
    /// Header of the table, in lower case.
    header: Option<Vec<String>>,
    /// Ids of phases that are no numbers, with their first line and whether the phase is complete.
    unreadable: BTreeMap<String, (Source, bool)>,
}

impl Roadmap {
    pub(crate) fn parse(text: &str) -> Roadmap {
        let mut parser = Parser::default();
        let mut end = None;
        for line in visible_lines(text) {
            if parser.roadmap.phases.len() >= PHASES_MAX {
                end = Some(Source::new(ROADMAP, line.number));
                break;
            }
            parser.line(&line);
        }
        let Roadmap { mut phases, milestones, .. } = parser.roadmap;
        for phase in &mut phases {
            let mut owners = (0..milestones.len()).filter(|index| milestones[*index].contains(&phase.id));
            phase.milestone = phase.milestone.or_else(|| owners.next().filter(|_| owners.next().is_none()));
        }
        let title = parser.title;
        phases.iter_mut().for_each(|phase| phase.milestone = phase.milestone.or(title));
        let open = parser.unreadable.into_iter().filter(|(_, (_, is_complete))| !is_complete);
        let unreadable = open.map(|(id, (source, _))| Claim::new(id, source)).collect();
        Roadmap { phases, milestones, end, unreadable }
    }
}

impl Parser {
    fn line(&mut self, line: &DocumentLine) {
        let text = line.text.as_str();
        if let Some((level, title)) = heading(text) {
            self.header = None;
            self.heading(level, title, line.number);
        } else if text.trim_start().starts_with('<') {
            self.tag(text.trim());
        } else if let Some(cells) = cells(text) {
            match self.header.take() {
                None => self.header = Some(cells.iter().map(|cell| plain(cell).to_lowercase()).collect()),
                Some(header) => {
                    self.row(&header, &cells, line.number);
                    self.header = Some(header);
                }
            }
        } else if !text.trim_start().starts_with('|') {
            self.header = None;
            self.text(text, line.number);
        }
    }

    fn heading(&mut self, level: usize, title: &str, number: usize) {
        while self.frames.last().is_some_and(|frame| frame.level.is_some_and(|open| open >= level)) {
            self.frames.pop();
        }
        if self.phase.is_some_and(|(_, open)| open >= level) {
            self.phase = None;
        }
        if let Some((id, rest)) = mention(title) {
            let (name, says_complete) = heading_name(rest);
            let index = self.phase_index(id, &name, None, number);
            self.roadmap.phases[index].complete_if(says_complete, number);
            self.phase = Some((index, level));
            return;
        }
        self.unreadable_phase(title, false, number);
        // The title of the document starts with the name of the project.
        let named = if level == 1 { version_start(title).map_or("", |start| &title[start..]) } else { title };
        let milestone = Milestone::parse(named, false).map(|milestone| self.milestone_index(milestone));
        if level == 1 {
            self.title = milestone;
        } else {
            self.frames.push(Frame { level: Some(level), milestone });
        }
    }

    fn tag(&mut self, text: &str) {
        let lower = text.to_lowercase();
        if lower.starts_with("<details") {
            self.frames.push(Frame { level: None, milestone: None });
            self.phase = None;
        }
        if let Some(start) = lower.find("<summary>") {
            let summary = &text[start + "<summary>".len()..];
            let summary = summary.split('<').find(|part| !part.is_empty()).unwrap_or_default();
            let summary = summary.rsplit('>').next().unwrap_or_default();
            let milestone = Milestone::parse(summary, false).map(|milestone| self.milestone_index(milestone));
            if let Some(frame) = self.frames.last_mut() {
                frame.milestone = milestone;
            }
        }
        if lower.contains("</details") {
            while self.frames.pop().is_some_and(|frame| frame.level.is_some()) {}
            self.phase = None;
        }
    }

    fn row(&mut self, header: &[String], cells: &[&str], number: usize) {
        let first = header.first().map(String::as_str).unwrap_or_default();
        if !matches!(first, "phase" | "fase" | "phases" | "#" | "no." | "nº") {
            return;
        }
        let text = plain(cells[0]);
        let Some((id, rest)) = mention(&text).or_else(|| PhaseId::split(without_emoji(&text))) else {
            return;
        };
        let named = header
            .iter()
            .skip(1)
            .position(|name| matches!(name.as_str(), "name" | "phase" | "fase" | "nome"));
        let (name, _) = heading_name(rest);
        let name = match named.and_then(|index| cells.get(index + 1)) {
            Some(cell) if name.is_empty() => plain(cell),
            _ => name,
        };
        let milestones = &self.roadmap.milestones;
        let part =
            milestones.iter().position(|milestone| cells.iter().any(|cell| *cell == milestone.version));
        let index = self.phase_index(id, &name, part, number);
        let phase = &mut self.roadmap.phases[index];
        // Rows can lack a column of the header, so that the form of a cell decides about its meaning.
        if let Some(ratio) = cells.iter().skip(1).find_map(|cell| ratio(&plain(cell))) {
            phase.ratio = Some(Claim::new(ratio, Source::new(ROADMAP, number)));
        }
        let columns = ["status", "estado", "plan", "milestone", "complet", "done", "date", "progress"];
        let is_status = |(name, _): &(&String, &&str)| columns.iter().any(|column| name.contains(column));
        let mut statuses = header.iter().zip(cells).skip(1).filter(is_status);
        phase.complete_if(statuses.any(|(_, cell)| says_complete(cell)), number);
    }

    fn text(&mut self, text: &str, number: usize) {
        if let Some(item) = list_item(text) {
            let parent = self.phase.map(|(index, _)| index);
            let is_backlog = parent.is_some_and(|index| self.roadmap.phases[index].id.is_backlog());
            if let (Some(ticked), Some((id, rest)), false) =
                (item.is_ticked, titled_mention(item.text), is_backlog)
            {
                let name = item_name(item.text, rest);
                let index = self.phase_index(id, &name, None, number);
                let phase = &mut self.roadmap.phases[index];
                phase.complete_if(ticked, number);
                return phase.plans_in_parentheses(item.text, number);
            }
            if let Some(ticked) = item.is_ticked {
                self.unreadable_phase(item.text, ticked, number);
            }
            if let (Some(ticked), Some(index), true) = (item.is_ticked, parent, is_plan(item.text)) {
                let plan = Claim::new(ticked, Source::new(ROADMAP, number));
                return self.roadmap.phases[index].plans.push(plan);
            }
            if let Some(milestone) = Milestone::parse(item.text, item.is_ticked == Some(true)) {
                self.milestone_index(milestone);
            }
        }
        let (Some((index, _)), Some((key, value))) = (self.phase, field(text)) else { return };
        let phase = &mut self.roadmap.phases[index];
        match key.as_str() {
            "plans" | "planos" | "planes" => phase.plans_in(&value, number),
            "status" => phase.complete_if(says_complete(&value), number),
            _ => {}
        }
    }

    fn unreadable_phase(&mut self, text: &str, is_complete: bool, number: usize) {
        let Some((id, rest)) = unreadable_mention(text) else { return };
        let milestone = self.frames.iter().rev().find_map(|frame| frame.milestone);
        let is_shipped = milestone.is_some_and(|index| self.roadmap.milestones[index].is_shipped);
        let phase = self.unreadable.entry(id.to_owned());
        let (_, was_complete) = phase.or_insert((Source::new(ROADMAP, number), false));
        *was_complete |= is_complete || is_shipped || heading_name(rest).1;
    }

    /// Returns the index of the phase with this number and name, in the given or the current part of the text.
    fn phase_index(&mut self, id: PhaseId, name: &str, part: Option<usize>, number: usize) -> usize {
        let milestone = part.or_else(|| self.frames.iter().rev().find_map(|frame| frame.milestone));
        let Roadmap { phases, milestones, .. } = &mut self.roadmap;
        let owned = phases
            .iter()
            .position(|phase| phase.id == id && phase.milestone.is_some() && phase.milestone == milestone);
        let same = owned.or_else(|| {
            phases.iter().rposition(|phase| {
                // A later milestone can start again with the numbers of one that has shipped.
                let is_archived = phase.milestone.is_some_and(|index| milestones[index].is_shipped);
                let is_other = phase.milestone.is_some() && milestone.is_some();
                phase.id == id && !is_other && (!is_archived || phase.has_name(name))
            })
        });
        let index = same.unwrap_or(phases.len());
        if same.is_none() {
            phases.push(RoadmapPhase {
                id,
                name: None,
                milestone,
                source: Source::new(ROADMAP, number),
                complete: None,
                ratio: None,
                plan_count: None,
                plans: Vec::new(),
            });
        }
        let phase = &mut phases[index];
        phase.milestone = phase.milestone.or(milestone);
        phase.set_name(name, number);
        index
    }

    fn milestone_index(&mut self, milestone: Milestone) -> usize {
        let milestones = &mut self.roadmap.milestones;
        match milestones.iter().position(|existing| existing.is_same(&milestone)) {
            Some(index) => {
                milestones[index].merge(milestone);
                index
            }
            None => {
                milestones.push(milestone);
                milestones.len() - 1
            }
        }
    }
}

impl RoadmapPhase {
    fn set_name(&mut self, name: &str, number: usize) {
        if self.name.is_none() && !name.is_empty() {
            self.name = Some(Claim::new(name.to_owned(), Source::new(ROADMAP, number)));
        }
    }

    fn complete_if(&mut self, is_complete: bool, number: usize) {
        if self.complete.is_none() && is_complete {
            self.complete = Some(Source::new(ROADMAP, number));
        }
    }

    /// Reads `(2/3 plans)` or `(3 plans)` in the text of an item.
    fn plans_in_parentheses(&mut self, text: &str, number: usize) {
        let notes = text.split('(').skip(1).filter_map(|note| note.split_once(')'));
        for (note, _) in notes.filter(|(note, _)| note.contains("plan")) {
            self.plans_in(note, number);
        }
    }

    /// Reads `2/3` or `3 plans`.
    fn plans_in(&mut self, text: &str, number: usize) {
        let source = Source::new(ROADMAP, number);
        if let Some(ratio) = ratio(text) {
            self.ratio.get_or_insert(Claim::new(ratio, source));
        } else if let Some((count, _)) = leading_number(text) {
            self.plan_count.get_or_insert(Claim::new(count, source));
        }
    }

    /// Whether this can be a name of the phase. Lines without a name say nothing about it.
    fn has_name(&self, name: &str) -> bool {
        let own = self.name.as_ref().map(|name| letters(&name.value)).unwrap_or_default();
        let other = letters(name);
        own.starts_with(&other) || other.starts_with(&own)
    }
}

/// Returns the name after a phase's number in a heading, and whether the heading says that the phase is complete.
fn heading_name(rest: &str) -> (String, bool) {
    let rest = plain(rest);
    let mut name = rest.trim_start_matches([':', '.', ' ', '—', '–', '-']).to_owned();
    let mut is_complete = false;
    for dash in [" — ", " – ", " - "] {
        if let Some((before, status)) = name.clone().rsplit_once(dash)
            && (is_complete_note(status) || is_shouted(status))
        {
            is_complete |= is_complete_note(status);
            before.clone_into(&mut name);
        }
    }
    loop {
        let trimmed = name.trim_end();
        let marked = trimmed.trim_end_matches(['✅', '✓', '✔']);
        is_complete |= marked.len() < trimmed.len();
        let (open, close) = if marked.ends_with(']') { ('[', ']') } else { ('(', ')') };
        let tail = marked.trim_end().strip_suffix(close).and_then(|inner| inner.rsplit_once(open));
        match tail {
            Some((before, status)) if is_note(status) => {
                is_complete |= is_complete_note(status);
                name = before.trim_end().to_owned();
            }
            _ => return (marked.trim_end().to_owned(), is_complete),
        }
    }
}

/// Whether the text in parentheses after a name is no part of it.
fn is_note(text: &str) -> bool {
    let has_plans = text.to_lowercase().contains("plan") && text.contains(|c: char| c.is_ascii_digit());
    is_shouted(text) || is_complete_note(text) || has_plans
}

/// Whether a text starts with a word in capitals, as notes such as `INSERTED` do.
fn is_shouted(text: &str) -> bool {
    let word = text.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    word.chars().count() > 4 && word.chars().all(char::is_uppercase)
}

/// Splits an item such as `Phase 2: Name`. `None` for a sentence about a phase, such as `Phase 2 is tested`.
fn titled_mention(text: &str) -> Option<(PhaseId, &str)> {
    let (id, rest) = mention(text)?;
    let next = rest.trim_start();
    let is_title = next.is_empty() || next.starts_with([':', '.', '—', '–', '-', '(', '*', '~']);
    (is_title || text.starts_with("**")).then_some((id, rest))
}

/// Returns the name in an item of the list of phases: the bold part, else the text up to a dash.
fn item_name(text: &str, rest: &str) -> String {
    if let Some(bold) = text.trim_start_matches('~').strip_prefix("**")
        && let Some((bold, _)) = bold.split_once("**")
        && let Some((_, name)) = mention(bold)
    {
        let (name, _) = heading_name(name);
        // In `**Phase 1:** Name`, only the number is bold.
        if !name.is_empty() {
            return name;
        }
    }
    let rest = plain(rest);
    let rest = rest.trim_start_matches([':', '.', ' ', '—', '–', '-']);
    let cut = [" — ", " – ", " - "].iter().filter_map(|dash| rest.find(dash)).min();
    heading_name(&rest[..cut.unwrap_or(rest.len())]).0
}

/// Whether an item names a plan, such as `02-01-PLAN.md`. `02-01: TBD` is a placeholder.
fn is_plan(text: &str) -> bool {
    let text = plain(text);
    !text.ends_with("TBD") && is_plan_id(text.split([' ', ':']).next().unwrap_or_default())
}
