//! Defines the five sections of a playbook.

use longhaul_core::word_enum;

word_enum! {
    /// A section of a playbook. The titles, the order and the prefixes of ids are those of existing playbooks.
    #[derive(serde::Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub enum Section {
        /// Approaches that work.
        Patterns = "PATTERNS & APPROACHES",
        /// Approaches that fail.
        Mistakes = "MISTAKES TO AVOID",
        /// The user's preferences.
        Preferences = "USER PREFERENCES",
        /// Facts about the project.
        Context = "PROJECT CONTEXT",
        /// Everything else.
        Others = "OTHERS",
    }
}

impl Section {
    /// Returns the heading, which is also the name in the file.
    pub fn title(self) -> &'static str {
        self.as_str()
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

    /// Returns the section of this title, ignoring case and surrounding space.
    pub fn from_title(title: &str) -> Option<Section> {
        let title = title.trim();
        Section::ALL.iter().copied().find(|section| section.title().eq_ignore_ascii_case(title))
    }
}
