//! Decodes the text of a call before guards search it: escapes, percent-encoding, quotes. Never evaluates
//! anything.

use percent_encoding::percent_decode_str;
use std::ops::RangeInclusive;

// Enough for an escape of an escape of an escape, and one more.
const ROUNDS_MAX: usize = 4;

/// Returns the text without quotes and backslashes, and every decoded form of it.
pub(super) fn decodings(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut add = |form: String| {
        if !found.contains(&form) {
            found.push(form);
        }
    };
    let mut decoded = text.to_owned();
    for _ in 0..=ROUNDS_MAX {
        add(without_quotes(&decoded));
        if decoded.contains('\\') {
            add(without_quotes(&without_escapes(&decoded, Backslash::Char)));
            add(without_quotes(&without_escapes(&decoded, Backslash::Slash)));
        } else if !decoded.contains('%') {
            break;
        }
        let next = without_escapes(&decoded, Backslash::Space);
        if next == decoded {
            break;
        }
        decoded = next;
    }
    found
}

/// Removes quotes and backslashes as a shell does.
fn without_quotes(text: &str) -> String {
    if !text.contains(['\'', '"', '\\']) {
        return text.to_owned();
    }
    let mut bare = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\'' | '"' => {}
            // `$'…'` and `$"…"` are quotes, too.
            '$' if chars.peek().is_some_and(|next| matches!(next, '\'' | '"')) => {}
            '\\' => {
                // A backslash at the end of a line joins it with the next.
                chars.next_if_eq(&'\n');
            }
            c => bare.push(c),
        }
    }
    bare
}

/// The meaning of a backslash that does not start the code of a character.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Backslash {
    /// Shells remove it.
    Char,
    /// Most programs read `\n` as white space, and regular expressions read `\b` as a boundary.
    Space,
    /// Browsers read it as a slash: `https:\\host`, `https://host\@other`.
    Slash,
}

/// Decodes one level of backslash escapes and percent-encoding.
fn without_escapes(text: &str, backslash: Backslash) -> String {
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, escape)) = rest.split_once('\\') {
        decoded.push_str(before);
        let (c, length) = decode_escape(escape, backslash);
        decoded.extend(c);
        rest = &escape[length..];
    }
    decoded.push_str(rest);
    if decoded.contains('%') {
        percent_decode_str(&decoded).decode_utf8_lossy().into_owned()
    } else {
        decoded
    }
}

/// Returns the character of an escape such as `x41`, `u0041`, `u{41}`, `101` or `n`, and its length in bytes.
fn decode_escape(escape: &str, backslash: Backslash) -> (Option<char>, usize) {
    let Some(first) = escape.chars().next() else { return (None, 0) };
    let numeric = |start: usize, digits: RangeInclusive<usize>, radix: u32| {
        let count =
            escape[start..].bytes().take(*digits.end()).take_while(|byte| char::from(*byte).is_digit(radix));
        let end = start + count.count();
        let code =
            u32::from_str_radix(&escape[start..end], radix).ok().filter(|_| digits.contains(&(end - start)));
        code.and_then(char::from_u32).map(|c| (Some(c), end))
    };
    let decoded = match first {
        'u' if escape.starts_with("u{") => numeric(2, 1..=6, 16)
            .map(|(c, length)| (c, length + usize::from(escape[length..].starts_with('}')))),
        'x' => numeric(1, 2..=2, 16),
        'u' => numeric(1, 4..=4, 16),
        'U' => numeric(1, 8..=8, 16),
        '0'..='7' => numeric(0, 1..=3, 8),
        '\n' => Some((None, 1)),
        'n' | 'r' | 't' | 'v' | 'f' | 'a' | 'b' | 'e' | 'E' if backslash == Backslash::Space => {
            Some((Some(' '), 1))
        }
        '\\' if backslash == Backslash::Slash => Some((Some('/'), 1)),
        _ if backslash == Backslash::Slash => Some((Some('/'), 0)),
        _ => None,
    };
    decoded.unwrap_or((Some(first), first.len_utf8()))
}

#[cfg(test)]
mod tests {
    use super::decodings;

    #[test]
    fn decodes_all_levels() {
        let check = |text: &str, expected: &[&str]| assert_eq!(decodings(text), expected, "{text}");
        check("plain", &["plain"]);
        check("a%2Eb", &["a%2Eb", "a.b"]);
        check("a%252Eb", &["a%252Eb", "a%2Eb", "a.b"]);
        check("%zz%41%", &["%zz%41%", "%zzA%"]);
        check(r"\x65\u0065\u{65}\145\U00000065", &["x65u0065u{65}145U00000065", "eeeee"]);
        check(r"https:\/\/a", &["https://a", "https:////a"]);
        check(r"https:\\a\@b\n", &["https:a@bn", "https:/a/@b/n", "https:a@b ", "https:/a@b ", "https: @b "]);
        check("e'x'\"\"$'a'm", &["exam"]);
        check("exa\\\nm", &["exam"]);
        check(r"\x\u\é", &["xué", "xu/é"]);
    }
}
