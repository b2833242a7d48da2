//! Splits a Markdown document into the lines that a reader of the rendered page sees, and into sections.
//! It never interprets the text of a line.

/// A line with its number, starting at 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentLine {
    /// Number of the line in its file.
    pub number: usize,
    /// The text without comments and without trailing white space.
    pub text: String,
}

/// A heading and the lines below it, down to the next heading of its level or above.
#[derive(Clone, Copy, Debug)]
pub struct DocumentSection<'a> {
    /// Number of the heading's line.
    pub number: usize,
    /// The lines below the heading.
    pub lines: &'a [DocumentLine],
}

/// Returns the lines outside fenced code, without HTML comments. As in rendered pages, an unclosed fence or
/// comment hides the rest of the document.
pub fn visible_lines(document: &str) -> Vec<DocumentLine> {
    let mut lines = Vec::new();
    let (mut fence, mut in_comment): (Option<&str>, bool) = (None, false);
    for (index, line) in document.trim_start_matches('\u{feff}').lines().enumerate() {
        if let Some(open) = fence {
            if closes(open, line) {
                fence = None;
            }
            continue;
        }
        if !in_comment {
            fence = fence_of(line);
            if fence.is_some() {
                continue;
            }
        }
        let text = without_comments(line, &mut in_comment).trim_end().to_owned();
        lines.push(DocumentLine { number: index + 1, text });
    }
    lines
}

/// Returns the marker that opens fenced code, also inside a list.
fn fence_of(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let marker = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = line.len() - line.trim_start_matches(marker).len();
    // Three backticks on one line may also be a code span.
    let is_fence = length >= 3 && !(marker == '`' && line[length..].contains('`'));
    is_fence.then(|| &line[..length])
}

fn closes(open: &str, line: &str) -> bool {
    let line = line.trim();
    line.len() >= open.len() && line.chars().all(|c| open.starts_with(c))
}

fn without_comments(line: &str, in_comment: &mut bool) -> String {
    let (mut visible, mut rest) = (String::new(), line);
    loop {
        if *in_comment {
            let Some((_, after)) = rest.split_once("-->") else { return visible };
            (*in_comment, rest) = (false, after);
        }
        let start = rest.match_indices("<!--").map(|(start, _)| start).find(|start| {
            // A code span may quote the marker.
            let before = visible.matches('`').count() + rest[..*start].matches('`').count();
            before.is_multiple_of(2)
        });
        let Some(start) = start else { return visible + rest };
        visible += &rest[..start];
        (*in_comment, rest) = (true, &rest[start + "<!--".len()..]);
    }
}

/// Returns the level and the title of a heading such as `## Title ##`.
pub fn heading(line: &str) -> Option<(usize, &str)> {
    let indented = line.trim_start_matches(' ');
    let title = indented.trim_start_matches('#');
    let level = indented.len() - title.len();
    // A line that is indented further is code or belongs to a list.
    let is_heading = line.len() - indented.len() <= 3
        && (1..=6).contains(&level)
        && (title.is_empty() || title.starts_with([' ', '\t']));
    is_heading.then(|| (level, title.trim().trim_end_matches('#').trim_end()))
}

/// An item of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListItem<'a> {
    /// Number of columns before its marker.
    pub indent: usize,
    /// Whether its box is ticked. `None` without a box.
    pub is_ticked: Option<bool>,
    /// The text after the marker and the box.
    pub text: &'a str,
}

/// Returns the list item that starts on this line, such as `- text`, `2. text` or `* [ ] text`.
pub fn list_item(line: &str) -> Option<ListItem<'_>> {
    let text = line.trim_start();
    // A tab reaches at least the next level.
    let indent = line[..line.len() - text.len()].chars().map(|c| if c == '\t' { 4 } else { 1 }).sum();
    let number = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let rest = match number.len() < text.len() {
        true => number.strip_prefix(['.', ')']),
        false => text.strip_prefix(['-', '*', '+']),
    };
    let rest = rest?.strip_prefix([' ', '\t'])?.trim_start();
    let mut marks = [("[ ]", false), ("[x]", true), ("[X]", true)].into_iter();
    let boxed = marks.find_map(|(mark, is_ticked)| Some((is_ticked, rest.strip_prefix(mark)?)));
    let text = boxed.map_or(rest, |(_, text)| text.trim_start());
    Some(ListItem { indent, is_ticked: boxed.map(|(is_ticked, _)| is_ticked), text })
}

/// Returns the sections with this title at the second level, in their order. The case of the title is ignored.
pub fn sections<'a>(lines: &'a [DocumentLine], title: &str) -> Vec<DocumentSection<'a>> {
    let is_start = |line: &DocumentLine| {
        heading(&line.text).is_some_and(|(level, found)| level == 2 && found.eq_ignore_ascii_case(title))
    };
    let starts = lines.iter().enumerate().filter(|(_, line)| is_start(line));
    starts
        .map(|(start, line)| {
            let rest = &lines[start + 1..];
            let is_end = |line: &DocumentLine| heading(&line.text).is_some_and(|(level, _)| level <= 2);
            let end = rest.iter().position(is_end).unwrap_or(rest.len());
            DocumentSection { number: line.number, lines: &rest[..end] }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{heading, sections, visible_lines};

    #[track_caller]
    fn check(document: &str, expected: &str) {
        let lines = visible_lines(document);
        let shown: Vec<String> = lines.iter().map(|line| format!("{} {}", line.number, line.text)).collect();
        assert_eq!(shown.join("|"), expected);
    }

    #[test]
    fn fenced_code_is_hidden() {
        check("a\n```\n## b\n```\nc", "1 a|5 c");
        check("a\r\n~~~~ lean\r\n~~~\r\nb\r\n~~~~\r\nc\r\n", "1 a|6 c");
        check("1. a\n   ```lean\n   b\n   ```\nc", "1 1. a|5 c");
        check("a\n````\n```\n````\nb", "1 a|5 b");
        check("```a``` b", "1 ```a``` b");
        check("a\n```\nb", "1 a");
    }

    #[test]
    fn comments_are_hidden() {
        check("a <!-- b --> c<!-- d -->", "1 a  c");
        check("a <!-- b\n## c\n--> d\ne", "1 a|2 |3  d|4 e");
        check("<!--\n```\n-->\na", "1 |2 |3 |4 a");
        check("a `<!--` b\nc", "1 a `<!--` b|2 c");
        check("a <!-- b\nc", "1 a|2 ");
    }

    #[test]
    fn headings_have_a_level_and_a_title() {
        assert_eq!(heading("## Current Stage"), Some((2, "Current Stage")));
        assert_eq!(heading("  ### A # b ##"), Some((3, "A # b")));
        assert_eq!(heading("##"), Some((2, "")));
        for line in ["##Title", "    ## Title", "####### Title", "Title", "- ## Title"] {
            assert_eq!(heading(line), None, "{line}");
        }
    }

    #[test]
    fn section_ends_at_the_next_heading_of_its_level() {
        let lines = visible_lines("## A\na\n### B\nb\n## a ##\nc\n# D\nd");
        let found = sections(&lines, "A");
        let numbers = |index: usize| found[index].lines.iter().map(|line| line.number).collect::<Vec<_>>();
        assert_eq!((found.len(), numbers(0), numbers(1)), (2, vec![2, 3, 4], vec![6]));
        assert_eq!(found[1].number, 5);
    }
}
