//! Lines of a TOML string: which line of the file each line of its text is from.

/// Returns the line of the file for each line of the text. `raw` is the string with its quotes, and `first` the
/// line that it starts on.
pub fn template_lines(raw: &str, first: usize) -> Vec<usize> {
    let has_escapes = raw.starts_with('"');
    let is_multiline = raw.starts_with("\"\"\"") || raw.starts_with("'''");
    let body = raw.get(if is_multiline { 3 } else { 1 }..).unwrap_or_default();
    let mut line = first;
    let mut chars = body.chars().peekable();
    if is_multiline {
        // A line break after the opening quotes is not part of the text.
        chars.next_if_eq(&'\r');
        if chars.next_if_eq(&'\n').is_some() {
            line += 1;
        }
    }
    let mut lines = vec![line];
    while let Some(c) = chars.next() {
        if c == '\n' {
            line += 1;
            lines.push(line);
        } else if c == '\\' && has_escapes {
            match chars.next() {
                Some('n') => lines.push(line),
                // A backslash at the end of a line joins the next line that has text.
                Some(c) if c.is_whitespace() => {
                    line += usize::from(c == '\n');
                    while let Some(c) = chars.next_if(|c| c.is_whitespace()) {
                        line += usize::from(c == '\n');
                    }
                }
                Some(_) | None => {}
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::template_lines;

    fn check(raw: &str, expected: &[usize]) {
        assert_eq!(template_lines(raw, 5), expected, "{raw}");
        // Closing quotes add no line.
        let toml = format!("a = {raw}");
        let table: toml::Table = toml.parse().expect("TOML");
        let text = table["a"].as_str().expect("a string");
        assert_eq!(text.split('\n').count(), expected.len(), "{raw}");
    }

    #[test]
    fn maps_lines_to_the_file() {
        check("\"one\"", &[5]);
        check(r#""one\ntwo""#, &[5, 5]);
        check("'one\\n'", &[5]);
        check("\"\"\"one\ntwo\"\"\"", &[5, 6]);
        check("\"\"\"\none\ntwo\n\"\"\"", &[6, 7, 8]);
        check("'''\none\n\\n\n'''", &[6, 7, 8]);
        check("\"\"\"\none \\\n   two\nthree\"\"\"", &[6, 8]);
        check("\"\"\"\none \\\\\ntwo\"\"\"", &[6, 7]);
        check("\"\"\"\r\none\r\ntwo\"\"\"", &[6, 7]);
    }
}
