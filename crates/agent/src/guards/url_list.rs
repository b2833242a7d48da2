//! Reads a list of URL patterns from a file: plain lines, JSON, or the subset of YAML that a list needs.

use super::url_pattern::{UrlPattern, UrlPatternError};
use serde_json::Value;

/// Keys under which a list may be stored.
const KEYS: [&str; 3] = ["blocked_urls", "urls", "patterns"];

const NO_LIST: &str = "it has no list of strings named `blocked_urls`, `urls` or `patterns`";

/// Parses the patterns of a file.
///
/// # Errors
/// Returns a message for the user, which states the line unless the file is JSON.
pub fn url_patterns(text: &str) -> Result<Vec<UrlPattern>, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let is_address =
        || text.lines().next().is_some_and(|line| line.contains("]:") || line.trim_end().ends_with(']'));
    match text.trim_start().chars().next() {
        Some('{') => json(text),
        // An address of eight groups starts like this, too.
        Some('[') if serde_json::from_str::<Value>(text).is_ok() || !is_address() => json(text),
        Some(_) if is_yaml(text) => yaml(text),
        Some(_) | None => lines(text),
    }
}

fn json(text: &str) -> Result<Vec<UrlPattern>, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| format!("it is not JSON: {error}"))?;
    let list = match &value {
        Value::Array(list) => list,
        value => KEYS.iter().find_map(|key| value.get(key)?.as_array()).ok_or(NO_LIST)?,
    };
    list.iter().map(|value| pattern(value.as_str().ok_or(NO_LIST)?)).collect()
}

fn lines(text: &str) -> Result<Vec<UrlPattern>, String> {
    let patterns: Vec<UrlPattern> =
        numbered_lines(text).map(|(line, text)| pattern_of_line(line, text)).collect::<Result<_, _>>()?;
    if patterns.is_empty() { Err("it contains no pattern".to_owned()) } else { Ok(patterns) }
}

fn pattern(text: &str) -> Result<UrlPattern, String> {
    text.parse().map_err(|error: UrlPatternError| error.to_string())
}

fn pattern_of_line(line: usize, text: &str) -> Result<UrlPattern, String> {
    pattern(text).map_err(|error| format!("line {line}: {error}"))
}

/// Returns the nonempty lines without comments, with their numbers.
fn numbered_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let bare = |line: &'_ str| line.split(" #").next().unwrap_or_default().trim_end().len();
    let lines = text.lines().enumerate().map(move |(index, line)| (index + 1, &line[..bare(line)]));
    lines.filter(|(_, line)| {
        !line.trim().is_empty() && !line.trim_start().starts_with('#') && line.trim() != "---"
    })
}

/// Returns whether the text is YAML. No URL starts with one of the keys, a list item, or a key without a
/// value.
fn is_yaml(text: &str) -> bool {
    let first = numbered_lines(text).next().map(|(_, line)| line);
    first.is_some_and(|line| line.starts_with("- ") || line.ends_with(':') || key(line).is_some())
        || numbered_lines(text).any(|(_, line)| key(line).is_some_and(|(key, _)| KEYS.contains(&key)))
}

/// Splits `name:` and its value.
fn key(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':')?;
    let is_name = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    (is_name && (value.is_empty() || value.starts_with(' '))).then_some((key, value.trim()))
}

fn yaml(text: &str) -> Result<Vec<UrlPattern>, String> {
    let mut patterns = Vec::new();
    let mut is_in_list = numbered_lines(text).next().is_some_and(|(_, line)| line.starts_with("- "));
    let mut is_found = is_in_list;
    for (line, text) in numbered_lines(text) {
        let no_item = || format!("line {line}: expected `- ` and a pattern");
        if let Some((key, value)) = key(text) {
            is_in_list = KEYS.contains(&key);
            is_found |= is_in_list;
            if is_in_list && !value.is_empty() {
                let inner = value.strip_prefix('[').and_then(|value| value.strip_suffix(']'));
                let values = inner.ok_or_else(no_item)?.split(',').map(str::trim);
                for value in values.filter(|value| !value.is_empty()) {
                    patterns.push(pattern_of_line(line, unquoted(value))?);
                }
            }
        } else if is_in_list {
            let value = text.trim_start().strip_prefix("- ").ok_or_else(no_item)?;
            patterns.push(pattern_of_line(line, unquoted(value.trim()))?);
        }
    }
    if is_found { Ok(patterns) } else { Err(NO_LIST.to_owned()) }
}

fn unquoted(text: &str) -> &str {
    let inner = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote);
    inner('"').or_else(|| inner('\'')).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::url_patterns;

    #[test]
    fn parses_every_format() {
        let check = |text: &str, expected: &[&str]| {
            let patterns = url_patterns(text).expect(text);
            assert_eq!(patterns.iter().map(ToString::to_string).collect::<Vec<_>>(), expected, "{text}");
        };
        let two = ["a.test", "https://b.test/x/*"];
        check("# ours\na.test\n\nhttps://b.test/x/*  # theirs\n", &two);
        check("a.test\r\nhttps://b.test/x/*\r\n", &two);
        check("\u{feff}a.test\nhttps://b.test/x/*", &two);
        check("blocked_urls:\n  - a.test\n  - \"https://b.test/x/*\" # theirs\n", &two);
        check("---\nname: x\nlist:\n  - c.test\nurls:\n- a.test\n- 'https://b.test/x/*'\nother: 1\n", &two);
        check("patterns: [a.test, 'https://b.test/x/*']", &two);
        check("- a.test\n- https://b.test/x/*\n", &two);
        check(r#"["a.test", "https://b.test/x/*"]"#, &two);
        check(r#"{"blocked_urls": ["a.test", "https://b.test/x/*"]}"#, &two);
        check("[2001:db8::7]:80\na.test:8080/x", &["[2001:db8::7]:80", "a.test:8080/x"]);
        check("[2001:db8::7]", &["[2001:db8::7]"]);
        // An empty list is allowed if it is explicit.
        check("blocked_urls: []", &[]);
        check("[]", &[]);
    }

    #[test]
    fn reports_errors_with_line() {
        let check = |text: &str, expected: &str| {
            assert_eq!(url_patterns(text).expect_err(text), expected, "{text}");
        };
        let none = "it has no list of strings named `blocked_urls`, `urls` or `patterns`";
        let host = "names no host; name one, as in `example.com` or `https://example.com/papers/*`";
        check("", "it contains no pattern");
        check("# nothing\n", "it contains no pattern");
        check("name: x\nlist:\n  - a.test\n", none);
        check(r#"{"sites": ["a.test"]}"#, none);
        check(r#"{"urls": [1]}"#, none);
        check("[\"a.test\"", "it is not JSON: EOF while parsing a list at line 1 column 9");
        check("urls:\n  a.test\n", "line 2: expected `- ` and a pattern");
        check("urls: a.test\n", "line 1: expected `- ` and a pattern");
        check("a.test\n\n*\n", &format!("line 3: `*` {host}"));
        check("urls:\n  - http://\n", &format!("line 2: `http://` {host}"));
        check(r#"["*"]"#, &format!("`*` {host}"));
    }
}
