//! Lines of a TOML string: which line of the file each line of its text is from.

/// Returns the line of the file for each line of `text`. `raw` is the string with its quotes, and `first` the line
/// that it starts on. If escapes break or join lines, each is the first.
pub fn template_lines(raw: &str, text: &str, first: usize) -> Vec<usize> {
    let body = ["\"\"\"", "'''"].iter().find_map(|quotes| raw.strip_prefix(quotes)).unwrap_or_default();
    // A line break after the opening quotes is not part of the text.
    let starts_below = body.starts_with('\n') || body.starts_with("\r\n");
    let first = first + usize::from(starts_below);
    let line_breaks = raw.matches('\n').count() - usize::from(starts_below);
    let lines = text.split('\n').count();
    if lines == line_breaks + 1 { (first..first + lines).collect() } else { vec![first; lines] }
}

#[cfg(test)]
mod tests {
    use super::template_lines;

    fn check(raw: &str, expected: &[usize]) {
        let toml = format!("a = {raw}");
        let table: toml::Table = toml.parse().expect("TOML");
        let text = table["a"].as_str().expect("a string");
        assert_eq!(template_lines(raw, text, 5), expected, "{raw}");
    }

    #[test]
    fn maps_lines_to_the_file() {
        check("\"one\"", &[5]);
        check(r#""one\ntwo""#, &[5, 5]);
        check("'one\\n'", &[5]);
        check("\"\"\"one\ntwo\"\"\"", &[5, 6]);
        check("\"\"\"\none\ntwo\n\"\"\"", &[6, 7, 8]);
        check("'''\none\n\\n\n'''", &[6, 7, 8]);
        check("\"\"\"\none \\\n   two\nthree\"\"\"", &[6, 6]);
        check("\"\"\"\none \\\\\ntwo\"\"\"", &[6, 7]);
        check("\"\"\"\r\none\r\ntwo\"\"\"", &[6, 7]);
    }
}
