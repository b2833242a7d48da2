//! Applying what was learnt from a session to a playbook, all of it or nothing: the playbook that comes out is another one.

use super::similarity::{Similarity, merge_duplicates};
use super::{AppliedChange, ChangeSummary, Operation};
use crate::judging::{Reflection, Verdict};
use crate::{Playbook, Point, PointId, Section};
use serde_json::Value;

/// A curator that is asked for a handful of changes and wants more of them rewrites the playbook, which loses its details.
const OPERATIONS_MAX: usize = 10;
/// A point that did harm once or twice may have met a strange session; the third time is a habit.
const PRUNED_FROM_HARMFUL: u64 = 3;

/// A playbook after it has learnt.
#[derive(Clone, Debug, PartialEq)]
pub struct Applied {
    /// The playbook.
    pub playbook: Playbook,
    /// What has changed, and what was not done.
    pub changes: ChangeSummary,
}

/// What a playbook is after a session: each point is counted as the reflector tagged it, the curator's operations are carried
/// out in their order, points that say the same become one, and those that do harm go. An operation that cannot be carried
/// out is passed over and told.
pub fn apply(
    playbook: &Playbook,
    reflection: &Reflection,
    operations: &[Value],
    similarity: &dyn Similarity,
    threshold: f64,
) -> Applied {
    let mut learning = Applier::to(playbook);
    for tag in &reflection.tags {
        learning.count(&tag.name, tag.tag);
    }
    learning.operations(operations);
    learning.finished(similarity, threshold)
}

/// A copy that is being changed.
struct Applier {
    playbook: Playbook,
    changes: ChangeSummary,
}

impl Applier {
    fn to(playbook: &Playbook) -> Applier {
        Applier { playbook: playbook.clone(), changes: ChangeSummary::default() }
    }

    fn count(&mut self, name: &PointId, verdict: Verdict) {
        if !self.playbook.count(name, verdict) {
            return self.changes.push_skipped("tag", format!("there is no point [{name}]"));
        }
        let name = name.clone();
        match verdict {
            Verdict::Helpful => self.changes.applied.push(AppliedChange::Helped { name }),
            Verdict::Harmful => self.changes.applied.push(AppliedChange::Harmed { name }),
            Verdict::Neutral => {}
        }
    }

    fn operations(&mut self, operations: &[Value]) {
        for written in operations.iter().take(OPERATIONS_MAX) {
            match Operation::parse(written) {
                Ok(operation) => self.operation(operation),
                Err(not) => self.changes.push_skipped(&not.description, not.reason),
            }
        }
        let beyond = operations.len().saturating_sub(OPERATIONS_MAX);
        if beyond > 0 {
            self.changes.push_skipped("operations", format!("{beyond} beyond the first {OPERATIONS_MAX}"));
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
            let why = format!("[{}] says the same", same.name);
            return self.changes.push_skipped("ADD", why);
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
        let was = std::mem::replace(&mut point.text, text.clone());
        if was == text {
            return self.changes.push_skipped("UPDATE", format!("[{name}] says that already"));
        }
        self.changes.applied.push(AppliedChange::Updated { name, previous_text: was, text });
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
                // One that is named twice counts once.
                from.push(source.clone());
            }
        }
        let Some(first) = from.first().filter(|_| from.len() >= 2) else {
            return self.changes.push_skipped("MERGE", "fewer than two of its points are there");
        };
        let its_own = self.playbook.section_of(first).unwrap_or(Section::Others);
        let (section, unknown_section) = section_of(section, its_own);
        // Named before its sources go, so that it is none of them.
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

    /// Takes a point out. Its number stays in use.
    fn take(&mut self, name: &PointId) -> Option<(Section, Point)> {
        let section = self.playbook.section_of(name)?;
        let before = self.playbook.clone();
        let points = self.playbook.section_mut(section);
        let place = points.iter().position(|point| point.name == *name)?;
        let point = points.remove(place);
        self.playbook.reserve_ids(&before);
        Some((section, point))
    }

    fn finished(mut self, similarity: &dyn Similarity, threshold: f64) -> Applied {
        let before = self.playbook.clone();
        self.changes.applied.extend(merge_duplicates(&mut self.playbook, similarity, threshold));
        self.prune();
        self.playbook.reserve_ids(&before);
        Applied { playbook: self.playbook, changes: self.changes }
    }

    fn prune(&mut self) {
        for section in Section::ALL.iter().copied() {
            let is_harm =
                |point: &mut Point| point.harmful >= PRUNED_FROM_HARMFUL && point.harmful > point.helpful;
            for point in self.playbook.section_mut(section).extract_if(.., is_harm) {
                let Point { name, text, helpful, harmful, unknown_fields: _ } = point;
                self.changes.applied.push(AppliedChange::Pruned { name, section, text, helpful, harmful });
            }
        }
    }
}

/// Gives a point the counters of another, and what that has besides.
pub(super) fn absorb(point: &mut Point, other: Point) {
    point.helpful = point.helpful.saturating_add(other.helpful);
    point.harmful = point.harmful.saturating_add(other.harmful);
    for (key, value) in other.unknown_fields {
        point.unknown_fields.entry(key).or_insert(value);
    }
}

/// The section of this title, and the title where there is none of it.
fn section_of(title: Option<&str>, default: Section) -> (Section, Option<String>) {
    let Some(title) = title.filter(|title| !title.trim().is_empty()) else { return (default, None) };
    let section = Section::of_title(title);
    let is_known = title.trim().eq_ignore_ascii_case(section.title());
    (section, (!is_known).then(|| title.to_owned()))
}
