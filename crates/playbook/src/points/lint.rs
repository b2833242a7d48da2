//! What is wrong in a playbook that can be read.

use crate::{Playbook, PointId, Section};
use std::collections::HashMap;

impl Playbook {
    /// What a person should see to, each with its place: names that are there twice, points that say nothing, and points
    /// that say the same. What is odd in the file itself is said when it is read.
    pub fn lint(&self) -> Vec<String> {
        let mut findings = Vec::new();
        let mut names: HashMap<&PointId, Section> = HashMap::new();
        let mut texts: HashMap<&str, &PointId> = HashMap::new();
        for (section, point) in self.points() {
            let at = format!("{section} [{}]", point.name);
            if let Some(first) = names.insert(&point.name, section) {
                findings.push(format!("{at}: there is another point of this name in {first}"));
            }
            let text = point.text.trim();
            if text.is_empty() {
                findings.push(format!("{at}: it says nothing"));
            } else if let Some(first) = texts.insert(text, &point.name) {
                findings.push(format!("{at}: it says the same as [{first}]"));
            }
            if !is_name(point.name.as_str()) {
                findings.push(format!("{at}: its name cannot be cited: use letters, digits, `-` and `_`"));
            }
        }
        findings
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|sign| sign.is_ascii_alphanumeric() || sign == '-' || sign == '_')
}
