//! Counts the requirements of the current scope in `REQUIREMENTS.md`.

use crate::claim::{Claim, REQUIREMENTS, Source};
use crate::markdown::{cells, field, plain, says_complete};
use crate::milestone::version_of;
use longhaul_workflow::document::{DocumentLine, heading, list_item, visible_lines};

/// Finished and all requirements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub complete: u32,
    pub total: u32,
}

/// Counts in one of three forms: boxes, rows of tables, or headings with a status.
/// `None` if the text has none of them.
pub(crate) fn count(text: &str) -> Option<Claim<Counts>> {
    let lines = visible_lines(text);
    let scope = current_scope(&lines);
    [boxes, rows, headings].into_iter().find_map(|count| {
        let (first, counts) = count(&scope)?;
        Some(Claim::new(counts, Source::new(REQUIREMENTS, first)))
    })
}

/// Returns the lines of the sections that belong to the current scope. The first version that a title names is the
/// current one; GSD calls later scopes `v2 Requirements` or `Out of Scope`.
fn current_scope(lines: &[DocumentLine]) -> Vec<&DocumentLine> {
    const OTHER: &[&str] = &[
        "out of scope",
        "future",
        "deferred",
        "later",
        "traceab",
        "traçab",
        "trazab",
        "rastreab",
        "superseded",
        "withdrawn",
        "shipped",
        "archived",
        "known defects",
        "coverage",
        "fora de escopo",
        "fuera de alcance",
    ];
    let (mut version, mut is_current, mut scope): (Option<String>, bool, Vec<_>) = (None, true, Vec::new());
    for line in lines {
        if let Some((2, title)) = heading(&line.text) {
            let lower = plain(title).to_lowercase();
            let named = version_of(&lower).map(str::to_owned);
            let is_other = OTHER.iter().any(|word| lower.contains(word)) && !lower.starts_with("in scope");
            is_current = !is_other && (named.is_none() || version.is_none() || named == version);
            if is_current {
                version = version.or(named);
            }
        } else if is_current {
            scope.push(line);
        }
    }
    scope
}

fn boxes(lines: &[&DocumentLine]) -> Option<(usize, Counts)> {
    counts(lines.iter().filter_map(|line| {
        let item = list_item(&line.text)?;
        Some((line.number, item.is_ticked.filter(|_| is_id(first_word(item.text)))?))
    }))
}

fn rows(lines: &[&DocumentLine]) -> Option<(usize, Counts)> {
    counts(lines.iter().filter_map(|line| {
        let cells = cells(&line.text)?;
        let is_requirement = cells.len() > 2 && is_id(&plain(cells[0]));
        is_requirement.then(|| (line.number, cells[1..].iter().any(|cell| says_complete(cell))))
    }))
}

fn headings(lines: &[&DocumentLine]) -> Option<(usize, Counts)> {
    let starts = lines.iter().enumerate().filter(|(_, line)| {
        heading(&line.text).is_some_and(|(level, title)| level == 3 && is_id(first_word(title)))
    });
    counts(starts.filter_map(|(start, line)| {
        let rest = lines[start + 1..].iter().take_while(|line| heading(&line.text).is_none());
        let status = rest.filter_map(|line| field(&line.text)).find(|(key, _)| key == "status")?;
        Some((line.number, says_complete(&status.1)))
    }))
}

/// Counts requirements, each with its line and whether it is finished. `None` if there are none.
fn counts(requirements: impl Iterator<Item = (usize, bool)>) -> Option<(usize, Counts)> {
    let mut result: Option<(usize, Counts)> = None;
    for (line, is_complete) in requirements {
        let (_, counts) = result.get_or_insert((line, Counts::default()));
        counts.total += 1;
        counts.complete += u32::from(is_complete);
    }
    result
}

fn first_word(text: &str) -> &str {
    let text = text.trim_start_matches(['*', '`', '~', '[']);
    text.split([' ', ':', '*', '`', ']']).next().unwrap_or_default()
}

/// Whether a word is the id of a requirement, such as `AUTH-01` or `R1.2`.
fn is_id(word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '.' | '_');
    word.starts_with(char::is_alphabetic)
        && word.contains(|c: char| c.is_ascii_digit())
        && word.len() <= 24
        && word.chars().all(is_part)
}
