//! Applies the lessons from a session to a playbook, all or none. The result is a new playbook.

use super::similarity::{absorb, merge_duplicates};
use super::{AppliedChange, ChangeSummary, Operation, PointVerdict, Tag};
use crate::{Playbook, Point, PointId, Section};
use serde_json::Value;

/// More operations than this amount to rewriting the playbook, which loses details.
const OPERATIONS_MAX: usize = 10;
/// Minimum harmful count for removal. One or two harmful ratings may be due to unusual sessions; three are a
/// pattern.
const PRUNE_HARMFUL_MIN: u64 = 3;

/// The result of applying lessons.
#[derive(Clone, Debug, PartialEq)]
pub struct Applied {
    /// Changed playbook.
    pub playbook: Playbook,
    /// Applied and skipped changes.
    pub changes: ChangeSummary,
}

/// Counts the reflector's tags, applies the curator's operations in order, joins duplicates and removes
/// harmful points. Invalid operations are skipped and reported.
pub fn apply(playbook: &Playbook, tags: &[Tag], operations: &[Value], threshold: f64) -> Applied {
    let mut applier = Applier { playbook: playbook.clone(), changes: ChangeSummary::default() };
    for tag in tags {
        applier.count(&tag.name, tag.tag);
    }
    applier.operations(operations);
    applier.finish(threshold)
}

struct Applier {
    playbook: Playbook,
    changes: ChangeSummary,
}

impl Applier {
    fn count(&mut self, name: &PointId, verdict: PointVerdict) {
        if !self.playbook.count(name, verdict) {
            return self.changes.push_skipped("tag", format!("there is no point [{name}]"));
        }
        let name = name.clone();
        match verdict {
            PointVerdict::Helpful => self.changes.applied.push(AppliedChange::Helped { name }),
            PointVerdict::Harmful => self.changes.applied.push(AppliedChange::Harmed { name }),
            PointVerdict::Neutral => {}
        }
    }

    fn operations(&mut self, operations: &[Value]) {
        for value in operations.iter().take(OPERATIONS_MAX) {
            match Operation::parse(value) {
                Ok(operation) => self.operation(operation),
                Err(skipped) => self.changes.skipped.push(skipped),
            }
        }
        let excess = operations.len().saturating_sub(OPERATIONS_MAX);
        if excess > 0 {
            self.changes.push_skipped("operations", format!("{excess} beyond the first {OPERATIONS_MAX}"));
        }
    }

    fn operation(&mut self, operation: Operation) {
        match operation {
            Operation::Add { text, section } => self.add(&text, section.as_deref()),
            Operation::Update { target_id, text } => self.update(target_id, text),
            Operation::Delete { target_id, reason } => self.delete(target_id, reason),
            Operation::Merge { source_ids, merged_text, section } => {
                self.merge(&source_ids, merged_text, section.as_deref());
            }
        }
    }

    fn add(&mut self, text: &str, section: Option<&str>) {
        if let Some((_, same)) = self.playbook.points().find(|(_, point)| point.text == text) {
            let reason = format!("[{}] has the same text", same.name);
            return self.changes.push_skipped("ADD", reason);
        }
        let (section, unknown_section) = section_of(section, Section::Others);
        let name = self.playbook.next_name(section);
        self.playbook.section_mut(section).push(Point::new(name.clone(), text));
        self.changes.applied.push(AppliedChange::Added {
            name,
            section,
            text: text.to_owned(),
            unknown_section,
        });
    }

    fn update(&mut self, name: PointId, text: String) {
        let Some(point) = self.playbook.points_mut().find(|point| point.name == name) else {
            return self.changes.push_skipped("UPDATE", format!("there is no point [{name}]"));
        };
        let previous_text = std::mem::replace(&mut point.text, text.clone());
        if previous_text == text {
            return self.changes.push_skipped("UPDATE", format!("[{name}] has this text already"));
        }
        self.changes.applied.push(AppliedChange::Updated { name, previous_text, text });
    }

    fn delete(&mut self, name: PointId, reason: String) {
        match self.take(&name) {
            Some((section, point)) => {
                self.changes.applied.push(AppliedChange::Deleted { name, section, text: point.text, reason });
            }
            None => self.changes.push_skipped("DELETE", format!("there is no point [{name}]")),
        }
    }

    fn merge(&mut self, sources: &[PointId], text: String, section: Option<&str>) {
        let mut from: Vec<PointId> = Vec::new();
        for source in sources {
            if self.playbook.point(source).is_none() {
                self.changes.push_skipped("MERGE", format!("there is no point [{source}]"));
            } else if !from.contains(source) {
                // A point that is listed twice counts once.
                from.push(source.clone());
            }
        }
        let Some(first) = from.first().filter(|_| from.len() >= 2) else {
            return self.changes.push_skipped("MERGE", "fewer than two of its points exist");
        };
        let default_section = self.playbook.section_of(first).unwrap_or(Section::Others);
        let (section, unknown_section) = section_of(section, default_section);
        // The id is created before the sources are removed, so that it differs from all of them.
        let name = self.playbook.next_name(section);
        let mut merged = Point::new(name.clone(), text.clone());
        for source in &from {
            if let Some((_, point)) = self.take(source) {
                absorb(&mut merged, point);
            }
        }
        self.playbook.section_mut(section).push(merged);
        self.changes.applied.push(AppliedChange::Merged { name, section, text, from, unknown_section });
    }

    /// Removes a point. Its number stays reserved.
    fn take(&mut self, name: &PointId) -> Option<(Section, Point)> {
        let section = self.playbook.section_of(name)?;
        let before = self.playbook.clone();
        let points = self.playbook.section_mut(section);
        let index = points.iter().position(|point| point.name == *name)?;
        let point = points.remove(index);
        self.playbook.reserve_ids(&before);
        Some((section, point))
    }

    fn finish(mut self, threshold: f64) -> Applied {
        let before = self.playbook.clone();
        self.changes.applied.extend(merge_duplicates(&mut self.playbook, threshold));
        self.prune();
        self.playbook.reserve_ids(&before);
        Applied { playbook: self.playbook, changes: self.changes }
    }

    fn prune(&mut self) {
        for section in Section::ALL.iter().copied() {
            let is_harm =
                |point: &mut Point| point.harmful >= PRUNE_HARMFUL_MIN && point.harmful > point.helpful;
            for point in self.playbook.section_mut(section).extract_if(.., is_harm) {
                let Point { name, text, helpful, harmful, unknown_fields: _ } = point;
                self.changes.applied.push(AppliedChange::Pruned { name, section, text, helpful, harmful });
            }
        }
    }
}

/// Returns the section of this title, and also the title if it is unknown.
fn section_of(title: Option<&str>, default: Section) -> (Section, Option<String>) {
    let Some(title) = title else { return (default, None) };
    match Section::from_title(title) {
        Some(section) => (section, None),
        None => (Section::Others, Some(title.to_owned())),
    }
}
