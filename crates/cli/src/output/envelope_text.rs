//! Fits text into a line of a terminal, and formats numbers for people.

use unicode_width::UnicodeWidthStr;

/// Shortens a text to at most `chars_max` characters. An ellipsis replaces the rest.
pub fn cut(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        Some(_) => text.chars().take(chars_max.saturating_sub(1)).chain(['…']).collect(),
        None => text.to_owned(),
    }
}

/// Returns the prefix of a line that fits into this many columns of a terminal. An ellipsis replaces the
/// rest.
pub fn fit(line: &str, columns: usize) -> String {
    if line.width() <= columns {
        return line.to_owned();
    }
    let prefixes = line.char_indices().map(|(end, _)| &line[..end]);
    // One column is for the ellipsis.
    let fitting = prefixes.take_while(|prefix| prefix.width() < columns).last();
    format!("{}…", fitting.unwrap_or_default())
}

/// Removes control-like characters from a text that is measured before it is printed.
pub fn one_line(text: &str) -> String {
    text.chars().filter(|c| !is_control_like(*c)).collect()
}

/// Returns whether a terminal would interpret a character or change the direction of the surrounding text.
pub fn is_control_like(c: char) -> bool {
    let turns =
        matches!(c, '\u{061C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}');
    turns || c.is_control() && c != '\n' && c != '\t'
}

pub fn grouped(number: u64) -> String {
    match number {
        0..1_000 => number.to_string(),
        _ => format!("{},{:03}", grouped(number / 1_000), number % 1_000),
    }
}

/// Formats a number as `950`, `12.3k` or `4.5M`.
pub fn short_count(count: u64) -> String {
    let (unit, suffix) = match count {
        0..10_000 => return count.to_string(),
        10_000..1_000_000 => (1_000.0, "k"),
        1_000_000..1_000_000_000 => (1_000_000.0, "M"),
        1_000_000_000.. => (1_000_000_000.0, "G"),
    };
    format!("{:.1}{suffix}", count as f64 / unit)
}

#[cfg(test)]
mod tests {
    use super::{fit, grouped, one_line, short_count};

    #[test]
    fn lines_fit_by_columns() {
        for (line, columns, fitting) in [
            ("abc", 3, "abc"),
            ("abcd", 3, "ab…"),
            // Each character is two columns wide.
            ("日本語", 6, "日本語"),
            ("日本語", 5, "日本…"),
            ("日本語", 4, "日…"),
            // A combining accent takes no column.
            ("e\u{301}e\u{301}", 2, "e\u{301}e\u{301}"),
            ("abc", 1, "…"),
        ] {
            assert_eq!(fit(line, columns), fitting, "{line} in {columns}");
        }
    }

    #[test]
    fn plain_text_cannot_control_a_terminal() {
        assert_eq!(one_line("a\u{1b}[2Jb\u{202e}c\u{200f}d\ne"), "a[2Jbcd\ne");
    }

    #[test]
    fn numbers_are_readable() {
        for (count, text, short) in [
            (0, "0", "0"),
            (9_999, "9,999", "9999"),
            (10_000, "10,000", "10.0k"),
            (1_250_000, "1,250,000", "1.2M"),
            (2_000_000_000, "2,000,000,000", "2.0G"),
        ] {
            assert_eq!((grouped(count), short_count(count)), (text.to_owned(), short.to_owned()));
        }
    }
}
