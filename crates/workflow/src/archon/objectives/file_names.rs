//! Finds the names of Lean files at the head of a text. It never searches the rest of the text.

/// Keys of a list item whose value names the file of an objective: `**File:** A/B.lean`.
const FILE_KEYS: [&str; 6] = ["file", "files", "target", "target file", "path", "objective"];

/// Returns the names at the head of an item, or in its bold title, and whether they are bold or code.
pub(super) fn head_names(text: &str) -> (Vec<String>, bool) {
    let text = text.trim_start_matches("~~");
    let (names, is_marked) = leading_names(text);
    match titled_name(text).filter(|_| names.is_empty()) {
        Some(name) => (vec![name], true),
        None => (names, is_marked),
    }
}

/// Returns the names at the start of a text, and whether the first is bold or code. Commas, `and` and `&`
/// continue the enumeration.
pub(super) fn leading_names(text: &str) -> (Vec<String>, bool) {
    let (mut names, mut rest) = (Vec::new(), Some(text.trim_start()));
    while let Some(text) = rest {
        let (token, after) = split_token(text);
        let Some(name) = lean_name(token) else { break };
        names.push(name);
        rest = after_separator(after, token).map(str::trim_start);
    }
    (names, text.trim_start().starts_with(['*', '_', '`']))
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
pub(super) fn file_value(text: &str) -> Option<&str> {
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

pub(super) fn bold_title(text: &str) -> Option<&str> {
    text.strip_prefix("**")?.split_once("**").map(|(title, _)| title)
}
