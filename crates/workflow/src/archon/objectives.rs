//! Finds the objectives in a section of `PROGRESS.md`: the Lean files that head its list items. It never counts
//! a file that a text only mentions, such as a finding, a dependency or a deferred target.

mod file_names;
mod label_purpose;

use crate::document::{DocumentLine, ListItem, heading, list_item};
use file_names::{bold_title, file_value, head_names, leading_names};
use label_purpose::LabelPurpose;

/// A Lean file that the plan agent assigns, as it is named in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Objective {
    /// Path or bare name of the file. It ends with `.lean`.
    pub name: String,
    /// Line that names it, starting at 1.
    pub line: usize,
}

/// The lines that govern a list item.
#[derive(Default)]
struct Scope {
    /// Levels of the excluding headings above, outermost first.
    excluding_headings: Vec<usize>,
    /// Whether a heading or a label above the list leaves its purpose open.
    has_open_purpose: bool,
    /// Whether the label of the list excludes it.
    is_excluded: bool,
    /// Indentation of the list's outermost items.
    list_indent: Option<usize>,
    /// Indentation of an item that is excluded with its nested items.
    excluded_indent: Option<usize>,
    /// Whether the line above belongs to an item.
    follows_item: bool,
}

/// Returns the names to assign in a section, in its order. Each occurs once.
pub(super) fn names_in(lines: &[DocumentLine]) -> Vec<Objective> {
    let (mut scope, mut objectives) = (Scope::default(), Vec::<Objective>::new());
    for line in lines {
        for name in scope.read_line(&line.text) {
            if !objectives.iter().any(|objective| objective.name == name) {
                objectives.push(Objective { name, line: line.number });
            }
        }
    }
    objectives
}

impl Scope {
    /// Returns the names that this line assigns, and updates the scope for the next line.
    fn read_line(&mut self, line: &str) -> Vec<String> {
        if let Some((level, title)) = heading(line) {
            self.read_heading(level, title);
        } else if let Some(item) = list_item(line) {
            return self.read_item(&item);
        } else {
            self.read_paragraph(line);
        }
        Vec::new()
    }

    fn read_heading(&mut self, level: usize, title: &str) {
        let mut excluding_headings = std::mem::take(&mut self.excluding_headings);
        excluding_headings.retain(|above| *above < level);
        let purpose = LabelPurpose::new(title);
        if purpose == LabelPurpose::Excluded {
            excluding_headings.push(level);
        }
        *self =
            Scope { excluding_headings, has_open_purpose: purpose == LabelPurpose::Open, ..Scope::default() };
    }

    /// A paragraph that starts bold or ends with a colon labels the list below it.
    fn read_paragraph(&mut self, line: &str) {
        let text = line.trim();
        let title = bold_title(text);
        if text.is_empty() {
            self.follows_item = false;
        }
        // Indented text continues an item, as does text without a blank line between.
        if text.is_empty() || line.starts_with([' ', '\t']) || (self.follows_item && title.is_none()) {
            return;
        }
        if let Some(label) = title.or_else(|| text.strip_suffix(':')) {
            let purpose = LabelPurpose::new(label);
            self.has_open_purpose = purpose == LabelPurpose::Open;
            self.is_excluded = purpose == LabelPurpose::Excluded;
        } else if self.list_indent.is_some() {
            // A label governs text below it, too, but only up to the end of its list.
            self.is_excluded = false;
        }
        (self.list_indent, self.excluded_indent, self.follows_item) = (None, None, false);
    }

    fn read_item(&mut self, item: &ListItem<'_>) -> Vec<String> {
        self.follows_item = true;
        let list_indent = *self.list_indent.get_or_insert(item.indent);
        if self.excluded_indent.is_some_and(|indent| item.indent <= indent) {
            self.excluded_indent = None;
        }
        let title = bold_title(item.text).map_or(LabelPurpose::Open, LabelPurpose::new);
        let is_finished = item.is_ticked == Some(true) || item.text.starts_with("~~");
        if self.excluded_indent.is_none() && (is_finished || title == LabelPurpose::Excluded) {
            self.excluded_indent = Some(item.indent);
        }
        if self.is_excluded || !self.excluding_headings.is_empty() || self.excluded_indent.is_some() {
            return Vec::new();
        }
        // A level of markers differs by at least two columns from the next.
        let is_nested = item.indent >= list_indent + 2;
        match file_value(item.text) {
            Some(value) => leading_names(value).0,
            None if is_nested => Vec::new(),
            None => {
                let (names, is_marked) = head_names(item.text);
                // A plain name below a label of unknown purpose is no objective.
                if self.has_open_purpose && !is_marked { Vec::new() } else { names }
            }
        }
    }
}

#[cfg(test)]
mod tests;
