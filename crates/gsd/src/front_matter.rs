//! Reads the front matter of `STATE.md`: `key: value` lines and one level of nesting. It never interprets a value.

use crate::Warning;
use crate::claim::{Claim, STATE, Source};
use std::collections::BTreeMap;

/// Values by key. A nested key is joined with a dot: `progress.total_phases`.
#[derive(Debug, Default)]
pub(crate) struct FrontMatter {
    values: BTreeMap<String, Claim<String>>,
    /// Lines that the front matter takes.
    pub line_count: usize,
}

impl FrontMatter {
    /// Reads the front matter at the start of a text. A conflict of git invalidates only the lines inside it.
    pub(crate) fn parse(text: &str, warnings: &mut Vec<Warning>) -> FrontMatter {
        let lines: Vec<&str> = text.trim_start_matches('\u{feff}').lines().collect();
        let is_rule = |line: &&str| line.trim_end() == "---";
        if !lines.first().is_some_and(is_rule) {
            return FrontMatter::default();
        }
        let Some(end) = lines[1..].iter().position(is_rule).map(|end| end + 1) else {
            warnings.push(Source::new(STATE, 1).warning("the front matter has no end and is ignored"));
            return FrontMatter::default();
        };
        let mut front_matter = FrontMatter { values: BTreeMap::new(), line_count: end + 1 };
        let (mut parent, mut in_conflict) = (String::new(), false);
        for (index, line) in lines.iter().enumerate().take(end).skip(1) {
            let source = Source::new(STATE, index + 1);
            if line.starts_with("<<<<<<<") {
                in_conflict = true;
                warnings
                    .push(source.warning("a merge conflict is unresolved, so that its lines are ignored"));
            } else if line.starts_with(">>>>>>>") {
                in_conflict = false;
            } else if !in_conflict {
                front_matter.insert(line, source, &mut parent);
            }
        }
        front_matter
    }

    fn insert(&mut self, line: &str, source: Source, parent: &mut String) {
        let Some((key, value)) = line.split_once(':') else { return };
        let (is_nested, key, value) = (key.starts_with([' ', '\t']), key.trim(), unquoted(value.trim()));
        if key.starts_with(['#', '-']) {
            return;
        }
        if !is_nested {
            key.clone_into(parent);
        }
        let key = if is_nested { format!("{parent}.{key}") } else { key.to_owned() };
        if !value.is_empty() {
            self.values.insert(key, Claim::new(value.to_owned(), source));
        }
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Claim<String>> {
        self.values.get(key).filter(|claim| !matches!(claim.value.as_str(), "null" | "~"))
    }
}

fn unquoted(value: &str) -> &str {
    for quote in ['"', '\''] {
        if let Some(inner) = value.strip_prefix(quote) {
            return inner.split(quote).next().unwrap_or_default();
        }
    }
    value.split(" #").next().unwrap_or_default().trim_end()
}
