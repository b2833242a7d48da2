//! Defines the five sections of a playbook.

use serde::{Deserialize, Serialize};
use strum::{Display, IntoStaticStr};

/// A section of a playbook. The titles, the order and the prefixes of ids are those of existing playbooks.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Display, IntoStaticStr,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Section {
    /// Approaches that work.
    #[serde(rename = "PATTERNS & APPROACHES")]
    #[strum(serialize = "PATTERNS & APPROACHES")]
    Patterns,
    /// Approaches that fail.
    #[serde(rename = "MISTAKES TO AVOID")]
    #[strum(serialize = "MISTAKES TO AVOID")]
    Mistakes,
    /// The user's preferences.
    #[serde(rename = "USER PREFERENCES")]
    #[strum(serialize = "USER PREFERENCES")]
    Preferences,
    /// Facts about the project.
    #[serde(rename = "PROJECT CONTEXT")]
    #[strum(serialize = "PROJECT CONTEXT")]
    Context,
    /// Everything else.
    #[serde(rename = "OTHERS")]
    #[strum(serialize = "OTHERS")]
    Others,
}

impl Section {
    /// All sections, in order.
    pub const ALL: &'static [Section] =
        &[Section::Patterns, Section::Mistakes, Section::Preferences, Section::Context, Section::Others];

    /// Returns the heading, which is also the name in the file.
    pub fn title(self) -> &'static str {
        self.into()
    }

    /// Returns the prefix of its points' ids.
    pub fn slug(self) -> &'static str {
        match self {
            Section::Patterns => "pat",
            Section::Mistakes => "mis",
            Section::Preferences => "pref",
            Section::Context => "ctx",
            Section::Others => "oth",
        }
    }

    /// Returns the section of this title, ignoring case and surrounding space. An unknown or empty title
    /// returns [`Section::Others`].
    pub fn from_title(title: &str) -> Section {
        let title = title.trim();
        let named = Section::ALL.iter().copied().find(|section| section.title().eq_ignore_ascii_case(title));
        named.unwrap_or(Section::Others)
    }
}
