//! Text in lines that fit a terminal's width.

/// The narrowest terminal that a table is made for.
pub const COLUMNS: usize = 100;

/// Adds `text` behind what is on the present line, in words, and indents the lines behind the first one. A word that
/// does not fit is not cut: it may be a command.
pub fn wrap(out: &mut String, text: &str, indent: usize) {
    let mut column = out.rsplit('\n').next().unwrap_or_default().chars().count();
    let mut is_first = true;
    for word in text.split(' ') {
        let width = word.chars().count();
        if !is_first && column + 1 + width > COLUMNS {
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
