//! Text in lines that fit a terminal's width.

use super::{out, width};

// As wide as a page; what is wider is hard to read.
pub const COLUMNS: usize = 100;
// In less, words are no text any more.
const COLUMNS_MIN: usize = 40;

/// How wide text is: as a page, and no wider than the terminal.
pub fn columns() -> usize {
    // A test is not to look at whose terminal it runs on.
    if cfg!(test) { COLUMNS } else { width().clamp(COLUMNS_MIN, COLUMNS) }
}

/// Adds `text` behind what is on the present line, in words, and indents the lines behind the first one. A word that
/// does not fit is not cut: it may be a command.
pub fn wrap(out: &mut String, text: &str, indent: usize) {
    let columns = columns();
    let mut column = out.rsplit('\n').next().unwrap_or_default().chars().count();
    let mut is_first = true;
    for word in text.split(' ') {
        let width = word.chars().count();
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

/// A line for whoever looks at a terminal, which would break it within words; the same line, ended, for whoever does not.
pub fn fits_terminal(line: &str, indent: usize) -> String {
    if cfg!(test) || !out::stdout_is_terminal() {
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
    fn words_are_not_cut() {
        let mut out = "ab  ".to_owned();
        let long = "x".repeat(99);
        wrap(&mut out, &format!("one {long} two three"), 4);
        assert_eq!(out, format!("ab  one\n    {long}\n    two three\n"));
    }
}
