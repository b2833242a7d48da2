//! Summarizes the changes to a playbook as data: the applied ones, and the skipped ones with the reason.

use crate::{Playbook, Point, PointId, Section};
use serde::{Deserialize, Serialize};

/// The changes to a playbook.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChangeSummary {
    /// Applied changes, in order.
    pub applied: Vec<AppliedChange>,
    /// Requested changes that were skipped.
    pub skipped: Vec<SkippedChange>,
}

/// One applied change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum AppliedChange {
    /// A point was judged helpful.
    Helped {
        /// Id of the point.
        name: PointId,
    },
    /// A point was judged harmful.
    Harmed {
        /// Id of the point.
        name: PointId,
    },
    /// A point was added.
    Added {
        /// Id of the point.
        name: PointId,
        /// Section of the point.
        section: Section,
        /// Text of the point.
        text: String,
        /// Requested section, if it does not exist.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unknown_section: Option<String>,
    },
    /// The text of a point was changed.
    Updated {
        /// Id of the point.
        name: PointId,
        /// Old text.
        previous_text: String,
        /// New text.
        text: String,
    },
    /// A point was deleted.
    Deleted {
        /// Id of the point.
        name: PointId,
        /// Section of the point.
        section: Section,
        /// Text of the point.
        text: String,
        /// The curator's reason.
        reason: String,
    },
    /// The curator merged several points into one.
    Merged {
        /// Id of the new point.
        name: PointId,
        /// Section of the new point.
        section: Section,
        /// Text of the new point.
        text: String,
        /// Ids of the merged points, which are removed.
        from: Vec<PointId>,
        /// Requested section, if it does not exist.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unknown_section: Option<String>,
    },
    /// A duplicate was joined with an earlier point, which gets its counters.
    Joined {
        /// Id of the remaining point.
        name: PointId,
        /// Id of the removed point.
        from: PointId,
        /// Text of the removed point.
        text: String,
    },
    /// A point was removed because it did harm often, and more often than it helped.
    Pruned {
        /// Id of the point.
        name: PointId,
        /// Section of the point.
        section: Section,
        /// Text of the point.
        text: String,
        /// Number of times it helped.
        helpful: u64,
        /// Number of times it did harm.
        harmful: u64,
    },
    /// The counters or the section of a point were changed.
    Changed {
        /// Id of the point.
        name: PointId,
        /// New section.
        section: Section,
        /// Number of times it helped.
        helpful: u64,
        /// Number of times it did harm.
        harmful: u64,
    },
}

/// A requested change that was skipped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SkippedChange {
    /// Kind of the change: `ADD`, `tag`.
    pub description: String,
    /// Why it was skipped.
    pub reason: String,
}

impl ChangeSummary {
    /// Returns the counts in one line: `2 new, 1 changed, 3 removed, 3 rated, 1 skipped`. A merge counts
    /// as one new point, and its sources as removed.
    pub fn summary_line(&self) -> String {
        let (mut new, mut changed, mut removed, mut rated) = (0, 0, 0, 0);
        for change in &self.applied {
            match change {
                AppliedChange::Added { .. } => new += 1,
                AppliedChange::Merged { from, .. } => {
                    new += 1;
                    removed += from.len();
                }
                AppliedChange::Updated { .. } | AppliedChange::Changed { .. } => changed += 1,
                AppliedChange::Deleted { .. }
                | AppliedChange::Joined { .. }
                | AppliedChange::Pruned { .. } => removed += 1,
                AppliedChange::Helped { .. } | AppliedChange::Harmed { .. } => rated += 1,
            }
        }
        let skipped = self.skipped.len();
        let counts = [
            (new, "new"),
            (changed, "changed"),
            (removed, "removed"),
            (rated, "rated"),
            (skipped, "skipped"),
        ];
        let parts =
            counts.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}"));
        let parts: Vec<String> = parts.collect();
        if parts.is_empty() { "nothing changed".to_owned() } else { parts.join(", ") }
    }

    pub(super) fn push_skipped(&mut self, description: &str, reason: impl Into<String>) {
        self.skipped.push(SkippedChange { description: description.to_owned(), reason: reason.into() });
    }

    pub(crate) fn diff(before: &Playbook, after: &Playbook) -> ChangeSummary {
        let mut applied = Vec::new();
        for (section, point) in after.points() {
            let Point { name, text, helpful, harmful, .. } = point;
            let (name, text) = (name.clone(), text.clone());
            let Some(previous) = before.point(&name) else {
                applied.push(AppliedChange::Added { name, section, text, unknown_section: None });
                continue;
            };
            if previous.text != text {
                applied.push(AppliedChange::Updated {
                    name: name.clone(),
                    previous_text: previous.text.clone(),
                    text,
                });
            }
            let is_moved = before.section_of(&name) != Some(section);
            if (previous.helpful, previous.harmful) != (*helpful, *harmful) || is_moved {
                applied.push(AppliedChange::Changed { name, section, helpful: *helpful, harmful: *harmful });
            }
        }
        for (section, point) in before.points().filter(|(_, point)| after.point(&point.name).is_none()) {
            let (name, text) = (point.name.clone(), point.text.clone());
            applied.push(AppliedChange::Deleted { name, section, text, reason: String::new() });
        }
        ChangeSummary { applied, skipped: Vec::new() }
    }
}
