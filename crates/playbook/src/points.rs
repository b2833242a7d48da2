//! The playbook of a project: its sections, its points, and what may be done with them. Nothing here looks at a file.

mod operation;
mod section;

pub use operation::Operation;
pub use section::Section;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fmt;

/// What was learnt about working in one project.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Playbook {
    /// When it was last changed, as it is written: `2026-11-23T00:30:00.123456`. Each change has a later one than the last, by
    /// which a state of the file is known.
    pub last_updated: Option<String>,
    /// The points of each section, in the order of [`Section::ALL`].
    sections: [Vec<Point>; Section::ALL.len()],
    /// What the file has besides, which is none of ours and is kept.
    pub(crate) others: Map<String, Value>,
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
    pub(crate) others: Map<String, Value>,
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

    /// The point of this name.
    pub fn point(&self, name: &PointId) -> Option<&Point> {
        self.points().map(|(_, point)| point).find(|point| point.name == *name)
    }

    /// Whether it says nothing.
    pub fn is_empty(&self) -> bool {
        self.points().next().is_none()
    }
}
