//! Serializes a playbook byte for byte like Python's `json.dump(…, indent=2, ensure_ascii=False)`, with the
//! key order of existing playbooks. Diffs then show only real changes, whichever program writes the file.

use super::parse::VERSION;
use crate::{Playbook, Section};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

impl Playbook {
    /// Returns the text of the file.
    pub fn text(&self) -> String {
        serde_json::to_string_pretty(self).expect("a playbook has only string keys")
    }
}

impl Serialize for Playbook {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match &self.version {
            Some(version) => map.serialize_entry("version", version)?,
            None => map.serialize_entry("version", VERSION)?,
        }
        map.serialize_entry("last_updated", &self.last_updated)?;
        map.serialize_entry("sections", &Sections(self))?;
        for (key, value) in &self.unknown_fields {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

struct Sections<'a>(&'a Playbook);

impl Serialize for Sections<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Sections(playbook) = self;
        let mut map = serializer.serialize_map(None)?;
        for section in Section::ALL {
            map.serialize_entry(section.title(), playbook.section(*section))?;
        }
        for (title, points) in &playbook.unknown_sections {
            map.serialize_entry(title, points)?;
        }
        map.end()
    }
}
