//! The five sections of a playbook.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A section of a playbook. Their titles, their order and the beginnings of their points' names are those of existing
/// playbooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Section {
    /// What works.
    #[serde(rename = "PATTERNS & APPROACHES")]
    Patterns,
    /// What does not.
    #[serde(rename = "MISTAKES TO AVOID")]
    Mistakes,
    /// How the user wants it.
    #[serde(rename = "USER PREFERENCES")]
    Preferences,
    /// What is to be known of the project.
    #[serde(rename = "PROJECT CONTEXT")]
    Context,
    /// Everything else.
    #[serde(rename = "OTHERS")]
    Others,
}

impl Section {
    /// Every section, in order.
    pub const ALL: &'static [Section] =
        &[Section::Patterns, Section::Mistakes, Section::Preferences, Section::Context, Section::Others];

    /// Its heading, also its name in the file.
    pub fn title(self) -> &'static str {
        match self {
            Section::Patterns => "PATTERNS & APPROACHES",
            Section::Mistakes => "MISTAKES TO AVOID",
            Section::Preferences => "USER PREFERENCES",
            Section::Context => "PROJECT CONTEXT",
            Section::Others => "OTHERS",
        }
    }

    /// What the names of its points begin with.
    pub fn slug(self) -> &'static str {
        match self {
            Section::Patterns => "pat",
            Section::Mistakes => "mis",
            Section::Preferences => "pref",
            Section::Context => "ctx",
            Section::Others => "oth",
        }
    }

    /// The section of this title, whatever its case and the space around it; an unknown or empty one is
    /// [`Section::Others`].
    pub fn of_title(title: &str) -> Section {
        let title = title.trim();
        let named = Section::ALL.iter().copied().find(|section| section.title().eq_ignore_ascii_case(title));
        named.unwrap_or(Section::Others)
    }
}

impl fmt::Display for Section {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(self.title())
    }
}
