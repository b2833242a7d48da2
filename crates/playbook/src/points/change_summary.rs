//! What came of changing a playbook, as data: what was done, and what was not and why.

use crate::{Playbook, Point, PointId, Section};
use serde::{Deserialize, Serialize};

/// What came of changing a playbook.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChangeSummary {
    /// What was done, in its order.
    pub applied: Vec<AppliedChange>,
    /// What was asked for and not done.
    pub skipped: Vec<SkippedChange>,
}

/// One thing that was done to a playbook.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "did", rename_all = "snake_case")]
pub enum AppliedChange {
    /// A point helped once more.
    Helped {
        /// The point.
        name: PointId,
    },
    /// A point did harm once more.
    Harmed {
        /// The point.
        name: PointId,
    },
    /// A point is new.
    Added {
        /// The point.
        name: PointId,
        /// Where it is.
        section: Section,
        /// What it says.
        text: String,
        /// The section that was asked for, where there is none of this title.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unknown_section: Option<String>,
    },
    /// A point says something else.
    Updated {
        /// The point.
        name: PointId,
        /// What it said.
        previous_text: String,
        /// What it says.
        text: String,
    },
    /// A point is gone.
    Deleted {
        /// The point.
        name: PointId,
        /// Where it was.
        section: Section,
        /// What it said.
        text: String,
        /// Why, in the curator's words.
        reason: String,
    },
    /// One point stands for several, by the curator's word.
    Merged {
        /// The new point.
        name: PointId,
        /// Where it is.
        section: Section,
        /// What it says.
        text: String,
        /// Those that are gone.
        from: Vec<PointId>,
        /// The section that was asked for, where there is none of this title.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unknown_section: Option<String>,
    },
    /// A point said what an earlier one says: that one has its counters, too.
    Joined {
        /// The point that stays.
        name: PointId,
        /// The one that is gone.
        from: PointId,
        /// What that one said.
        text: String,
    },
    /// A point did harm often, and more often than it helped: it is gone.
    Pruned {
        /// The point.
        name: PointId,
        /// Where it was.
        section: Section,
        /// What it said.
        text: String,
        /// How often it had helped.
        helpful: u64,
        /// How often it had done harm.
        harmful: u64,
    },
    /// A point has other counters, or is in another section.
    Changed {
        /// The point.
        name: PointId,
        /// Where it is.
        section: Section,
        /// How often it has helped.
        helpful: u64,
        /// How often it has done harm.
        harmful: u64,
    },
}

/// One thing that was asked for and not done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SkippedChange {
    /// What was asked for: `ADD`, `tag`.
    pub description: String,
    /// Why it was not done.
    pub reason: String,
}

impl ChangeSummary {
    /// What was done, counted: `2 new, 1 changed, 3 gone, 3 rated, 1 not done`. Of several points that became one, that is new and
    /// they are gone.
    pub fn summary_line(&self) -> String {
        let (mut new, mut changed, mut gone, mut rated) = (0, 0, 0, 0);
        for done in &self.applied {
            match done {
                AppliedChange::Added { .. } => new += 1,
                AppliedChange::Merged { from, .. } => {
                    new += 1;
                    gone += from.len();
                }
                AppliedChange::Updated { .. } | AppliedChange::Changed { .. } => changed += 1,
                AppliedChange::Deleted { .. }
                | AppliedChange::Joined { .. }
                | AppliedChange::Pruned { .. } => gone += 1,
                AppliedChange::Helped { .. } | AppliedChange::Harmed { .. } => rated += 1,
            }
        }
        let not_done = self.skipped.len();
        let counts =
            [(new, "new"), (changed, "changed"), (gone, "gone"), (rated, "rated"), (not_done, "not done")];
        let words =
            counts.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}"));
        let words: Vec<String> = words.collect();
        if words.is_empty() { "nothing changed".to_owned() } else { words.join(", ") }
    }

    /// Notes what was not done.
    pub(super) fn push_skipped(&mut self, what: &str, why: impl Into<String>) {
        self.skipped.push(SkippedChange { description: what.to_owned(), reason: why.into() });
    }
}

impl ChangeSummary {
    /// What is different in another state of a playbook.
    pub(crate) fn diff(before: &Playbook, after: &Playbook) -> ChangeSummary {
        let mut done = Vec::new();
        for (section, point) in after.points() {
            let Point { name, text, helpful, harmful, .. } = point;
            let (name, text) = (name.clone(), text.clone());
            let Some(was) = before.point(&name) else {
                done.push(AppliedChange::Added { name, section, text, unknown_section: None });
                continue;
            };
            if was.text != text {
                done.push(AppliedChange::Updated {
                    name: name.clone(),
                    previous_text: was.text.clone(),
                    text,
                });
            }
            let is_moved = before.section_of(&name) != Some(section);
            if (was.helpful, was.harmful) != (*helpful, *harmful) || is_moved {
                done.push(AppliedChange::Changed { name, section, helpful: *helpful, harmful: *harmful });
            }
        }
        for (section, point) in before.points().filter(|(_, point)| after.point(&point.name).is_none()) {
            let (name, text) = (point.name.clone(), point.text.clone());
            done.push(AppliedChange::Deleted { name, section, text, reason: String::new() });
        }
        ChangeSummary { applied: done, skipped: Vec::new() }
    }
}
