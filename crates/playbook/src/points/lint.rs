//! Finds problems in a playbook that can be read.

use crate::{Playbook, PointId, Section};
use std::collections::HashMap;

impl Playbook {
    /// Returns problems for the user to fix, each with its location: duplicate ids, empty points and
    /// duplicate texts. Problems of the file format are reported when it is read.
    pub fn lint(&self) -> Vec<String> {
        let mut findings = Vec::new();
        let mut names: HashMap<&PointId, Section> = HashMap::new();
        let mut texts: HashMap<&str, &PointId> = HashMap::new();
        for (section, point) in self.points() {
            let location = format!("{section} [{}]", point.name);
            if let Some(first) = names.insert(&point.name, section) {
                findings.push(format!("{location}: there is another point of this name in {first}"));
            }
            let text = point.text.trim();
            if text.is_empty() {
                findings.push(format!("{location}: it has no text"));
            } else if let Some(first) = texts.insert(text, &point.name) {
                findings.push(format!("{location}: its text is the same as that of [{first}]"));
            }
            if !is_name(point.name.as_str()) {
                findings
                    .push(format!("{location}: its name cannot be cited: use letters, digits, `-` and `_`"));
            }
        }
        findings
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
}
