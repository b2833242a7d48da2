//! Wraps text to the width of a terminal.

use super::{out, width};
use std::sync::OnceLock;
use unicode_width::UnicodeWidthStr;

// Fits a printed page, an email and half a screen. Longer lines are hard to read.
pub const COLUMNS: usize = 100;
// A narrower column would be unreadable.
const COLUMNS_MIN: usize = 40;

/// Width of the terminal, once the program has measured it.
static TERMINAL: OnceLock<usize> = OnceLock::new();

/// Measures the terminal for this process. Without it, text has the width of a page, so that unit tests print
/// the same text everywhere.
pub fn measure_terminal() {
    let _ = TERMINAL.set(width());
}

/// Returns the width for text: that of a page, but at most that of the terminal.
pub fn columns() -> usize {
    TERMINAL.get().map_or(COLUMNS, |width| (*width).clamp(COLUMNS_MIN, COLUMNS))
}

/// Appends `text` to the current line, wraps it at words and indents all lines but the first. A word that
/// does not fit is not split, and neither is a command in backticks: people copy it.
pub fn wrap(out: &mut String, text: &str, indent: usize) {
    let columns = columns();
    let mut column = out.rsplit('\n').next().unwrap_or_default().width();
    let mut is_first = true;
    for word in words(text) {
        let width = word.width();
        if !is_first && column + 1 + width > columns {
            out.push('\n');
            out.push_str(&" ".repeat(indent));
            column = indent;
        } else if !is_first {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += width;
        is_first = false;
    }
    out.push('\n');
}

/// Returns the words of a text. A command in backticks is one word, with what follows it without a space.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let last_backtick = text.rfind('`').unwrap_or_default();
    let mut is_quoted = false;
    text.char_indices()
        .filter(move |(index, c)| {
            is_quoted ^= *c == '`' && (is_quoted || *index < last_backtick);
            *c == ' ' && !is_quoted
        })
        .map(|(index, _)| index)
        .chain([text.len()])
        .scan(0, move |start, end| Some(&text[std::mem::replace(start, end + 1)..end]))
}

/// Wraps a line for a terminal, which would break it within words. Without a terminal it only adds a newline.
pub fn fits_terminal(line: &str, indent: usize) -> String {
    if TERMINAL.get().is_none() || !out::stdout_is_terminal() {
        return format!("{line}\n");
    }
    let mut out = String::new();
    wrap(&mut out, line, indent);
    out
}

#[cfg(test)]
mod tests {
    use super::wrap;

    #[test]
    fn keeps_words_whole() {
        let mut out = "ab  ".to_owned();
        let long = "x".repeat(99);
        wrap(&mut out, &format!("one {long} two three"), 4);
        assert_eq!(out, format!("ab  one\n    {long}\n    two three\n"));
    }

    #[test]
    fn keeps_commands_whole() {
        let check = |text: &str, expected: &str| {
            let mut out = String::new();
            wrap(&mut out, text, 2);
            assert_eq!(out, expected);
        };
        let command = format!("`git -C {} merge it`", "x".repeat(80));
        check(
            &format!("resolve it with {command}, then resume, or do not"),
            &format!("resolve it with\n  {command},\n  then resume, or do not\n"),
        );
        let words = "word ".repeat(19);
        check(&format!("{words}a `b c"), &format!("{words}a `b\n  c\n"));
    }
}
