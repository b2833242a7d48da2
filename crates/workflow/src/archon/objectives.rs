//! Finds the objectives in a section of `PROGRESS.md`: the Lean files that head its list items. It never counts
//! a file that a text only mentions, such as a finding, a dependency or a deferred target.

use super::document::{DocumentLine, heading};

/// A Lean file that the plan agent assigns, as it is named in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Objective {
    /// Path or bare name of the file. It ends with `.lean`.
    pub name: String,
    /// Line that names it, starting at 1.
    pub line: usize,
}

/// Keys of a list item whose value names the file of an objective: `**File:** A/B.lean`.
const FILE_KEYS: [&str; 6] = ["file", "files", "target", "target file", "path", "objective"];

/// Nouns of labels whose lists report on files.
const REPORT_WORDS: [&str; 7] = ["finding", "findings", "outcome", "outcomes", "result", "results", "status"];
/// States of files without work to assign. They count as the first or the last word of a label, because
/// `Targets that were blocked by A` are targets.
const STATE_WORDS: [&str; 10] = [
    "done",
    "completed",
    "finished",
    "solved",
    "blocked",
    "blockers",
    "deferred",
    "paused",
    "skipped",
    "excluded",
];
/// Words in a row that forbid work on files.
const FORBIDDING_PHRASES: [[&str; 2]; 5] =
    [["do", "not"], ["don", "t"], ["not", "assign"], ["not", "assigned"], ["not", "dispatched"]];

/// The names in a section.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct SectionNames {
    /// Names to assign. Each occurs once.
    pub objectives: Vec<Objective>,
    /// Names at the head of an item that its label, its heading or its checkbox excludes.
    pub excluded: Vec<Objective>,
}

/// A list item.
struct Item<'a> {
    /// Number of columns before its marker.
    indent: usize,
    /// The text after the marker and the checkbox.
    text: &'a str,
    is_checked: bool,
}

/// The lines that govern a list item.
#[derive(Default)]
struct Scope {
    /// Levels of the excluding headings above, outermost first.
    excluding_headings: Vec<usize>,
    /// Whether a heading or a label precedes the list, so that the list may serve another purpose.
    is_labeled: bool,
    /// Whether the label of the list excludes it.
    is_excluded: bool,
    /// Indentation of the list's outermost items.
    list_indent: Option<usize>,
    /// Indentation of an item that is excluded with its nested items.
    excluded_indent: Option<usize>,
}

/// Returns the names in a section, in its order.
pub(super) fn names_in(lines: &[DocumentLine]) -> SectionNames {
    let (mut scope, mut names) = (Scope::default(), SectionNames::default());
    for line in lines {
        let found = scope.read_line(&line.text);
        let list = if found.is_excluded { &mut names.excluded } else { &mut names.objectives };
        for name in found.names {
            if !list.iter().any(|objective| objective.name == name) {
                list.push(Objective { name, line: line.number });
            }
        }
    }
    names
}

/// The names at the head of one line.
#[derive(Default)]
struct LineNames {
    names: Vec<String>,
    is_excluded: bool,
}

impl Scope {
    /// Returns the names of this line, and updates the scope for the next line.
    fn read_line(&mut self, line: &str) -> LineNames {
        if let Some((level, title)) = heading(line) {
            self.read_heading(level, title);
        } else if let Some(item) = item(line) {
            return self.read_item(&item);
        } else {
            self.read_paragraph(line);
        }
        LineNames::default()
    }

    fn read_heading(&mut self, level: usize, title: &str) {
        let mut excluding_headings = std::mem::take(&mut self.excluding_headings);
        excluding_headings.retain(|above| *above < level);
        if is_excluding(title) {
            excluding_headings.push(level);
        }
        *self = Scope { excluding_headings, is_labeled: true, ..Scope::default() };
    }

    /// A paragraph that ends with a colon, or is bold as a whole, labels the list below it.
    fn read_paragraph(&mut self, line: &str) {
        let text = line.trim();
        // Indented text continues an item.
        if text.is_empty() || line.starts_with([' ', '\t']) {
            return;
        }
        if is_bold(text) || text.trim_end_matches('*').ends_with(':') {
            (self.is_labeled, self.is_excluded) = (true, is_excluding(text));
        } else if self.list_indent.is_some() {
            // A label governs text below it, too, but only up to the end of its list.
            self.is_excluded = false;
        }
        (self.list_indent, self.excluded_indent) = (None, None);
    }

    fn read_item(&mut self, item: &Item<'_>) -> LineNames {
        let list_indent = *self.list_indent.get_or_insert(item.indent);
        if self.excluded_indent.is_some_and(|indent| item.indent <= indent) {
            self.excluded_indent = None;
        }
        let is_finished = item.is_checked || item.text.starts_with("~~");
        if self.excluded_indent.is_none() && (is_finished || bold_title(item.text).is_some_and(is_excluding))
        {
            self.excluded_indent = Some(item.indent);
        }
        let is_excluded =
            self.is_excluded || !self.excluding_headings.is_empty() || self.excluded_indent.is_some();
        // A level of markers differs by at least two columns from the next.
        let is_nested = item.indent >= list_indent + 2;
        let names = match file_value(item.text) {
            Some(value) => leading_names(value).map(|(name, _)| name).collect(),
            None if is_nested => Vec::new(),
            // A plain name in a labeled list may be any kind of note.
            None => head_names(item.text, self.is_labeled && !is_excluded),
        };
        LineNames { names, is_excluded }
    }
}

/// Returns the names at the head of an item, or in its bold title.
fn head_names(text: &str, only_marked: bool) -> Vec<String> {
    let text = text.trim_start_matches("~~");
    let mut names = leading_names(text).peekable();
    if names.peek().is_none() {
        return titled_name(text).into_iter().collect();
    }
    names.filter(|(_, is_marked)| *is_marked || !only_marked).map(|(name, _)| name).collect()
}

/// Parses a list item such as `- text`, `2. text` or `* [ ] text`.
fn item(line: &str) -> Option<Item<'_>> {
    let text = line.trim_start();
    // A tab reaches at least the next level.
    let indent = line[..line.len() - text.len()].chars().map(|c| if c == '\t' { 4 } else { 1 }).sum();
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let rest = match digits {
        0 => text.strip_prefix(['-', '*', '+']),
        _ => text[digits..].strip_prefix(['.', ')']),
    };
    let rest = rest?.strip_prefix([' ', '\t'])?.trim_start();
    let checked = ["[x]", "[X]"].iter().find_map(|mark| rest.strip_prefix(mark));
    let text = checked.or_else(|| rest.strip_prefix("[ ]")).unwrap_or(rest).trim_start();
    Some(Item { indent, text, is_checked: checked.is_some() })
}

/// Returns the names at the start of a text, and whether each is bold or code. Commas, `and` and `&` continue
/// the enumeration.
fn leading_names(text: &str) -> impl Iterator<Item = (String, bool)> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?.trim_start();
        let (token, after) = split_token(text);
        let name = lean_name(token);
        rest = name.as_ref().and_then(|_| after_separator(after, token));
        Some((name?, token.starts_with(['*', '_', '`'])))
    })
}

/// Splits off the first word, or the first span that is bold or code.
fn split_token(text: &str) -> (&str, &str) {
    let marks = text.len() - text.trim_start_matches(['*', '_', '`']).len();
    let end = match &text[..marks] {
        "" => None,
        marker => {
            let closing: String = marker.chars().rev().collect();
            text[marks..].find(closing.as_str()).map(|end| marks + end + marks)
        }
    };
    text.split_at(end.or_else(|| text.find(char::is_whitespace)).unwrap_or(text.len()))
}

/// Returns the rest of an enumeration after a name.
fn after_separator<'a>(rest: &'a str, token: &str) -> Option<&'a str> {
    let rest = rest.trim_start();
    let separated = [",", "&", "+", "and "].iter().find_map(|separator| rest.strip_prefix(separator));
    separated.or_else(|| token.ends_with(',').then_some(rest))
}

/// Returns the path in a token such as `` **`A/B.lean:12`** ``, or `None` if the token has other text.
fn lean_name(token: &str) -> Option<String> {
    let is_mark = |c: char| matches!(c, '*' | '_' | '`' | '~');
    let path = token.trim_start_matches(is_mark).trim_end_matches([',', ';', ':', '.']);
    let path = path.trim_end_matches(is_mark).trim_end_matches(':');
    // `B.lean:12` and `B.lean:12-20` name lines.
    let path = path.split_once(".lean:").map_or(path, |(stem, _)| &path[..stem.len() + ".lean".len()]);
    let path = path.trim_matches(is_mark).replace('\\', "/");
    let stem = path.strip_suffix(".lean")?;
    let is_path = !stem.is_empty() && !stem.ends_with('/') && !stem.contains([' ', '*', '`', '<', '>', '"']);
    is_path.then_some(path)
}

/// Returns the value of an item such as `**File:** A/B.lean`.
fn file_value(text: &str) -> Option<&str> {
    let (key, value) = text.split_once(':')?;
    let key = key.trim_matches(['*', '_', ' ']).to_ascii_lowercase();
    FILE_KEYS.contains(&key.as_str()).then(|| value.trim_start_matches(['*', '_']).trim_start())
}

/// Returns the only Lean file in the bold title of an item such as `**Target 1: B.lean (4 sorries)** …`.
fn titled_name(text: &str) -> Option<String> {
    let title = bold_title(text)?;
    let words = title.split(|c: char| c.is_whitespace() || matches!(c, '(' | ')' | ','));
    let mut names = words.filter_map(lean_name);
    let name = names.next()?;
    names.next().is_none().then_some(name)
}

/// Returns the bold text at the start.
fn bold_title(text: &str) -> Option<&str> {
    text.strip_prefix("**")?.split_once("**").map(|(title, _)| title)
}

fn is_bold(text: &str) -> bool {
    bold_title(text).is_some_and(|title| title.len() + 2 * "**".len() == text.len())
}

/// Returns whether a label says that its list assigns no work.
fn is_excluding(label: &str) -> bool {
    let label = label.to_lowercase();
    let words: Vec<&str> =
        label.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let ends = [words.first(), words.last()];
    words.iter().any(|word| REPORT_WORDS.contains(word))
        || ends.into_iter().flatten().any(|word| STATE_WORDS.contains(word))
        || words.windows(2).any(|pair| FORBIDDING_PHRASES.iter().any(|phrase| pair == phrase))
}

#[cfg(test)]
mod tests;
