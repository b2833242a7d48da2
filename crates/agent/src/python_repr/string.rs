//! Parses Python strings: in single or double quotes, one or three of them, with escapes and optional prefix
//! letters.

use std::str::Chars;

/// Parses the string that starts with this quote, after `prefix`. Returns it and the text after it.
pub(super) fn parse<'a>(text: &'a str, prefix: &str) -> Option<(String, &'a str)> {
    let is_raw = match prefix.to_ascii_lowercase().as_str() {
        "" | "u" | "b" => false,
        "r" | "br" | "rb" => true,
        _ => return None,
    };
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    let three: String = [quote; 3].iter().collect();
    let end = if text.starts_with(&three) { three } else { quote.to_string() };
    let mut string = String::new();
    let mut chars = text[end.len()..].chars();
    loop {
        if let Some(rest) = chars.as_str().strip_prefix(&end) {
            return Some((string, rest));
        }
        match chars.next()? {
            '\\' if is_raw => {
                string.push('\\');
                string.extend(chars.next());
            }
            '\\' => string.extend(escape(&mut chars)?),
            // Only triple quotes allow several lines.
            '\n' if end.len() == 1 => return None,
            c => string.push(c),
        }
    }
}

/// Parses an escape after its backslash. Returns `Some(None)` for a line continuation.
fn escape(chars: &mut Chars<'_>) -> Option<Option<char>> {
    let c = chars.next()?;
    let some_char = |c: char| Some(Some(c));
    match c {
        '\n' => Some(None),
        '\\' | '\'' | '"' => some_char(c),
        'n' => some_char('\n'),
        'r' => some_char('\r'),
        't' => some_char('\t'),
        'a' => some_char('\u{7}'),
        'b' => some_char('\u{8}'),
        'f' => some_char('\u{c}'),
        'v' => some_char('\u{b}'),
        'x' => code_point(chars, 2),
        'u' => code_point(chars, 4),
        'U' => code_point(chars, 8),
        '0'..='7' => {
            let more = chars.as_str().chars().take(2).take_while(|c| c.is_digit(8)).count();
            let digits = c.to_string() + &chars.by_ref().take(more).collect::<String>();
            some_char(char_from_code(u32::from_str_radix(&digits, 8).ok()?))
        }
        _ => None,
    }
}

fn code_point(chars: &mut Chars<'_>, digits: usize) -> Option<Option<char>> {
    let rest = chars.as_str();
    let number = rest.get(..digits).filter(|text| text.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
    *chars = rest[digits..].chars();
    let first = u32::from_str_radix(number, 16).ok()?;
    // Python may write the two halves of a surrogate pair as separate escapes.
    let low = rest.get(4..10).and_then(|rest| rest.strip_prefix("\\u")).filter(|_| digits == 4);
    let low =
        low.and_then(|low| u32::from_str_radix(low, 16).ok()).filter(|low| (0xdc00..0xe000).contains(low));
    match low.filter(|_| (0xd800..0xdc00).contains(&first)) {
        Some(low) => {
            *chars = rest[10..].chars();
            Some(Some(char_from_code(0x10000 + ((first - 0xd800) << 10) + (low - 0xdc00))))
        }
        None => Some(Some(char_from_code(first))),
    }
}

/// Converts a code point. Half of a surrogate pair is not a character.
fn char_from_code(number: u32) -> char {
    char::from_u32(number).unwrap_or(char::REPLACEMENT_CHARACTER)
}
