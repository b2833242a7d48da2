//! Applying what was learnt from a session to a playbook, all of it or nothing: the playbook that comes out is another one.

use super::similarity::{Similarity, join_duplicates};
use super::{Done, Operation, Told};
use crate::judging::{Reflection, Verdict};
use crate::{Playbook, Point, PointId, Section};
use serde_json::Value;

/// A curator that is asked for a handful of changes and wants more of them rewrites the playbook, which loses its details.
const OPERATIONS_MAX: usize = 10;
/// A point that did harm once or twice may have met a strange session; the third time is a habit.
const PRUNED_FROM_HARMFUL: u64 = 3;

/// A playbook after it has learnt.
#[derive(Clone, Debug, PartialEq)]
pub struct Learned {
    /// The playbook.
    pub playbook: Playbook,
    /// What has changed, and what was not done.
    pub told: Told,
}

/// What a playbook is after a session: each point is counted as the reflector tagged it, the curator's operations are carried
/// out in their order, points that say the same become one, and those that do harm go. An operation that cannot be carried
/// out is passed over and told.
pub fn learn(
    playbook: &Playbook,
    reflection: &Reflection,
    operations: &[Value],
    similarity: &dyn Similarity,
    threshold: f64,
) -> Learned {
    let mut learning = Applying::to(playbook);
    for tag in &reflection.tags {
        learning.count(&tag.name, tag.tag);
    }
    learning.operations(operations);
    learning.finished(similarity, threshold)
}

/// A copy that is being changed.
struct Applying {
    playbook: Playbook,
    told: Told,
}

impl Applying {
    fn to(playbook: &Playbook) -> Applying {
        Applying { playbook: playbook.clone(), told: Told::default() }
    }

    fn count(&mut self, name: &PointId, verdict: Verdict) {
        if !self.playbook.count(name, verdict) {
            return self.told.skip("tag", format!("there is no point [{name}]"));
        }
        let name = name.clone();
        match verdict {
            Verdict::Helpful => self.told.done.push(Done::Helped { name }),
            Verdict::Harmful => self.told.done.push(Done::Harmed { name }),
            Verdict::Neutral => {}
        }
    }

    fn operations(&mut self, operations: &[Value]) {
        for written in operations.iter().take(OPERATIONS_MAX) {
            match Operation::parse(written) {
                Ok(operation) => self.operation(operation),
                Err(not) => self.told.skip(&not.what, not.why),
            }
        }
        let beyond = operations.len().saturating_sub(OPERATIONS_MAX);
        if beyond > 0 {
            self.told.skip("operations", format!("{beyond} beyond the first {OPERATIONS_MAX}"));
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
            return self.told.skip("ADD", why);
        }
        let (section, unknown_section) = section_of(section, Section::Others);
        let name = self.playbook.next_name(section);
        self.playbook.section_mut(section).push(Point::new(name.clone(), text));
        self.told.done.push(Done::Added { name, section, text: text.to_owned(), unknown_section });
    }

    fn update(&mut self, name: PointId, text: String) {
        let Some(point) = self.playbook.points_mut().find(|point| point.name == name) else {
            return self.told.skip("UPDATE", format!("there is no point [{name}]"));
        };
        let was = std::mem::replace(&mut point.text, text.clone());
        if was == text {
            return self.told.skip("UPDATE", format!("[{name}] says that already"));
        }
        self.told.done.push(Done::Updated { name, was, text });
    }

    fn delete(&mut self, name: PointId, reason: String) {
        match self.take(&name) {
            Some((section, point)) => {
                self.told.done.push(Done::Deleted { name, section, text: point.text, reason });
            }
            None => self.told.skip("DELETE", format!("there is no point [{name}]")),
        }
    }

    fn merge(&mut self, sources: &[PointId], text: String, section: Option<&str>) {
        let mut from: Vec<PointId> = Vec::new();
        for source in sources {
            if self.playbook.point(source).is_none() {
                self.told.skip("MERGE", format!("there is no point [{source}]"));
            } else if !from.contains(source) {
                // One that is named twice counts once.
                from.push(source.clone());
            }
        }
        let Some(first) = from.first().filter(|_| from.len() >= 2) else {
            return self.told.skip("MERGE", "fewer than two of its points are there");
        };
        let its_own = self.playbook.section_of(first).unwrap_or(Section::Others);
        let (section, unknown_section) = section_of(section, its_own);
        // Named before its sources go, so that it is none of them.
        let name = self.playbook.next_name(section);
        let mut merged = Point::new(name.clone(), text.clone());
        for source in &from {
            if let Some((_, point)) = self.take(source) {
                take_over(&mut merged, point);
            }
        }
        self.playbook.section_mut(section).push(merged);
        self.told.done.push(Done::Merged { name, section, text, from, unknown_section });
    }

    /// Takes a point out. Its number stays in use.
    fn take(&mut self, name: &PointId) -> Option<(Section, Point)> {
        let section = self.playbook.section_of(name)?;
        let before = self.playbook.clone();
        let points = self.playbook.section_mut(section);
        let place = points.iter().position(|point| point.name == *name)?;
        let point = points.remove(place);
        self.playbook.remember_numbers(&before);
        Some((section, point))
    }

    fn finished(mut self, similarity: &dyn Similarity, threshold: f64) -> Learned {
        let before = self.playbook.clone();
        self.told.done.extend(join_duplicates(&mut self.playbook, similarity, threshold));
        self.prune();
        self.playbook.remember_numbers(&before);
        Learned { playbook: self.playbook, told: self.told }
    }

    fn prune(&mut self) {
        for section in Section::ALL.iter().copied() {
            let is_harm =
                |point: &mut Point| point.harmful >= PRUNED_FROM_HARMFUL && point.harmful > point.helpful;
            for point in self.playbook.section_mut(section).extract_if(.., is_harm) {
                let Point { name, text, helpful, harmful, others: _ } = point;
                self.told.done.push(Done::Pruned { name, section, text, helpful, harmful });
            }
        }
    }
}

/// Gives a point the counters of another, and what that has besides.
pub(super) fn take_over(point: &mut Point, other: Point) {
    point.helpful = point.helpful.saturating_add(other.helpful);
    point.harmful = point.harmful.saturating_add(other.harmful);
    for (key, value) in other.others {
        point.others.entry(key).or_insert(value);
    }
}

/// The section of this title, and the title where there is none of it.
fn section_of(title: Option<&str>, default: Section) -> (Section, Option<String>) {
    let Some(title) = title.filter(|title| !title.trim().is_empty()) else { return (default, None) };
    let section = Section::of_title(title);
    let is_known = title.trim().eq_ignore_ascii_case(section.title());
    (section, (!is_known).then(|| title.to_owned()))
}
