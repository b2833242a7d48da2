//! The playbook of a project: its sections, its points, and what may be done with them. Nothing here looks at a file.

mod apply;
mod change_summary;
mod ids;
mod inject;
mod lint;
mod operation;
mod parse;
mod section;
mod select;
mod serialize;
mod similarity;

#[cfg(test)]
mod tests;

pub use apply::{Applied, apply};
pub use change_summary::{AppliedChange, ChangeSummary, SkippedChange};
pub(crate) use inject::render_points;
pub use inject::{Injection, inject};
pub use operation::{NotAnOperation, Operation};
pub use parse::ReadError;
pub use section::Section;
pub use similarity::{Similarity, THRESHOLD, WordOverlap, threshold};

use crate::judging::Verdict;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fmt;

/// What was learnt about working in one project.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Playbook {
    /// When it was last changed, as it is written: `2026-11-23T00:30:00.123456`. Each change has a later one than the last, by
    /// which a state of the file is known.
    pub last_updated: Option<String>,
    /// The version of the format, as it is written, if that is another than `1.0`.
    version: Option<Value>,
    /// The points of each section, in the order of [`Section::ALL`].
    sections: [Vec<Point>; Section::ALL.len()],
    /// Sections that are none of ours. They are kept, and told to nobody.
    unknown_sections: Map<String, Value>,
    /// What the file has besides, which is none of ours and is kept.
    unknown_fields: Map<String, Value>,
}

/// One thing to know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Point {
    /// Its name, by which it is cited.
    pub name: PointId,
    /// What it says.
    pub text: String,
    /// How often it was judged to have helped.
    pub helpful: u64,
    /// How often it was judged to have done harm.
    pub harmful: u64,
    /// What the file has besides, which is none of ours and is kept.
    #[serde(flatten)]
    pub(crate) unknown_fields: Map<String, Value>,
}

/// The name of a point: `pat-001`; those of old playbooks, `kpt_001`, stay as they are.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct PointId(String);

impl PointId {
    /// The name as it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<String> for PointId {
    fn from(name: String) -> PointId {
        PointId(name)
    }
}

impl From<&str> for PointId {
    fn from(name: &str) -> PointId {
        PointId(name.to_owned())
    }
}

impl fmt::Display for PointId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(&self.0)
    }
}

impl Point {
    /// A point that nothing is known of but what it says.
    pub(crate) fn new(name: PointId, text: impl Into<String>) -> Point {
        Point { name, text: text.into(), helpful: 0, harmful: 0, unknown_fields: Map::new() }
    }
}

impl Playbook {
    /// The points of a section, in their order.
    pub fn section(&self, section: Section) -> &[Point] {
        &self.sections[section as usize]
    }

    /// The points of a section, to be changed.
    pub(crate) fn section_mut(&mut self, section: Section) -> &mut Vec<Point> {
        &mut self.sections[section as usize]
    }

    /// Every point with its section, in order.
    pub fn points(&self) -> impl Iterator<Item = (Section, &Point)> {
        Section::ALL.iter().flat_map(|section| self.section(*section).iter().map(|point| (*section, point)))
    }

    /// Every point, to be changed.
    fn points_mut(&mut self) -> impl Iterator<Item = &mut Point> {
        self.sections.iter_mut().flatten()
    }

    /// Counts a verdict on the point of this name; the first, should there be several. Whether there is one.
    pub(crate) fn count(&mut self, name: &PointId, verdict: Verdict) -> bool {
        let Some(point) = self.points_mut().find(|point| point.name == *name) else { return false };
        match verdict {
            Verdict::Helpful => point.helpful = point.helpful.saturating_add(1),
            Verdict::Harmful => point.harmful = point.harmful.saturating_add(1),
            Verdict::Neutral => {}
        }
        true
    }

    /// The point of this name; the first, should there be several.
    pub fn point(&self, name: &PointId) -> Option<&Point> {
        self.points().map(|(_, point)| point).find(|point| point.name == *name)
    }

    /// The section of the point of this name.
    pub fn section_of(&self, name: &PointId) -> Option<Section> {
        self.points().find(|(_, point)| point.name == *name).map(|(section, _)| section)
    }

    /// The version of its format.
    pub fn version(&self) -> String {
        let version = self.version.as_ref();
        version.map_or_else(
            || parse::VERSION.to_owned(),
            |version| version.as_str().map_or_else(|| version.to_string(), str::to_owned),
        )
    }

    /// Whether it says the same as another, whenever the two were written.
    pub fn same_content(&self, other: &Playbook) -> bool {
        let Playbook {
            last_updated: _,
            version,
            sections,
            unknown_sections: other_sections,
            unknown_fields: others,
        } = self;
        *version == other.version
            && *sections == other.sections
            && *other_sections == other.unknown_sections
            && *others == other.unknown_fields
    }

    /// Whether it says nothing.
    pub fn is_empty(&self) -> bool {
        self.points().next().is_none()
    }
}
