//! Defines the playbook of a project: its sections, its points and its operations. This module reads no file.

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
mod text_size;

#[cfg(test)]
mod tests;

pub use apply::{Applied, apply};
pub use change_summary::{AppliedChange, ChangeSummary, SkippedChange};
pub(crate) use inject::render_points;
pub use inject::{Injection, inject};
pub(crate) use operation::Operation;
pub use parse::ReadError;
pub use section::Section;
pub use similarity::{THRESHOLD, threshold};
pub use text_size::TextSize;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fmt;

/// The lessons about working in one project.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Playbook {
    /// Time of the last change, like `2026-11-23T00:30:00.123456`. It increases with each change and
    /// identifies the state of the file.
    pub last_updated: Option<String>,
    /// Version of the format as written, if it is not `1.0`.
    version: Option<Value>,
    /// Points of each section, in the order of [`Section::ALL`].
    sections: [Vec<Point>; Section::ALL.len()],
    /// Unknown sections. They are preserved but not injected.
    unknown_sections: Map<String, Value>,
    /// Unknown fields of the file, preserved.
    unknown_fields: Map<String, Value>,
}

/// One lesson.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Point {
    /// Id, by which the point is cited.
    pub name: PointId,
    /// Text of the lesson.
    pub text: String,
    /// Number of times it was judged helpful.
    pub helpful: u64,
    /// Number of times it was judged harmful.
    pub harmful: u64,
    /// Unknown fields of the point, preserved.
    #[serde(flatten)]
    pub(crate) unknown_fields: Map<String, Value>,
}

/// The id of a point, such as `pat-001`. Ids of old playbooks, such as `kpt_001`, are preserved.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct PointId(String);

/// The verdict about one point in a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tag {
    /// Id of the point.
    pub name: PointId,
    /// Verdict.
    pub tag: PointVerdict,
    /// Reason for the verdict.
    #[serde(default)]
    pub rationale: String,
}

/// The effect of a point in a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PointVerdict {
    /// It helped.
    Helpful,
    /// It did harm.
    Harmful,
    /// It had no effect, or it was not used.
    Neutral,
}

impl PointId {
    /// Returns the id as text.
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
    /// Creates a point without ratings.
    pub(crate) fn new(name: PointId, text: impl Into<String>) -> Point {
        Point { name, text: text.into(), helpful: 0, harmful: 0, unknown_fields: Map::new() }
    }
}

impl Playbook {
    /// Returns the points of a section, in order.
    pub fn section(&self, section: Section) -> &[Point] {
        &self.sections[section as usize]
    }

    pub(crate) fn section_mut(&mut self, section: Section) -> &mut Vec<Point> {
        &mut self.sections[section as usize]
    }

    /// Returns every point with its section, in order.
    pub fn points(&self) -> impl Iterator<Item = (Section, &Point)> {
        Section::ALL.iter().flat_map(|section| self.section(*section).iter().map(|point| (*section, point)))
    }

    fn points_mut(&mut self) -> impl Iterator<Item = &mut Point> {
        self.sections.iter_mut().flatten()
    }

    /// Counts a verdict on the first point with this id. Returns `false` if there is none.
    pub(crate) fn count(&mut self, name: &PointId, verdict: PointVerdict) -> bool {
        let Some(point) = self.points_mut().find(|point| point.name == *name) else { return false };
        match verdict {
            PointVerdict::Helpful => point.helpful = point.helpful.saturating_add(1),
            PointVerdict::Harmful => point.harmful = point.harmful.saturating_add(1),
            PointVerdict::Neutral => {}
        }
        true
    }

    /// Returns the first point with this id.
    pub fn point(&self, name: &PointId) -> Option<&Point> {
        self.points().map(|(_, point)| point).find(|point| point.name == *name)
    }

    /// Returns the section of the first point with this id.
    pub fn section_of(&self, name: &PointId) -> Option<Section> {
        self.points().find(|(_, point)| point.name == *name).map(|(section, _)| section)
    }

    /// Returns the version of the format.
    pub fn version(&self) -> String {
        let version = self.version.as_ref();
        version.map_or_else(
            || parse::VERSION.to_owned(),
            |version| version.as_str().map_or_else(|| version.to_string(), str::to_owned),
        )
    }

    /// Returns whether two playbooks have the same content, regardless of when they were written.
    pub fn same_content(&self, other: &Playbook) -> bool {
        let Playbook { last_updated: _, version, sections, unknown_sections, unknown_fields } = self;
        *version == other.version
            && *sections == other.sections
            && *unknown_sections == other.unknown_sections
            && *unknown_fields == other.unknown_fields
    }

    /// Returns whether it has no points.
    pub fn is_empty(&self) -> bool {
        self.points().next().is_none()
    }
}
