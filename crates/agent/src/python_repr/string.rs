//! Strings as Python writes them: in single or double quotes, one or three of them, with escapes, and perhaps with
//! letters before them.

use std::str::Chars;

/// Reads the string that begins with this quote; `prefix` is what stood before it. Tells how long it was, with its
/// quotes; otherwise where it went wrong.
pub(super) fn read(text: &str, prefix: &str) -> Result<(String, usize), usize> {
    let is_raw = match prefix.to_ascii_lowercase().as_str() {
        "" | "u" | "b" => false,
        "r" | "br" | "rb" => true,
        _ => return Err(0),
    };
    let quote = text.chars().next().filter(|sign| matches!(sign, '\'' | '"')).ok_or(0_usize)?;
    let three: String = [quote; 3].iter().collect();
    let end = if text.starts_with(&three) { three } else { quote.to_string() };
    let mut string = String::new();
    let mut signs = text[end.len()..].chars();
    loop {
        let at = text.len() - signs.as_str().len();
        if signs.as_str().starts_with(&end) {
            return Ok((string, at + end.len()));
        }
        match signs.next().ok_or(at)? {
            '\\' if is_raw => {
                string.push('\\');
                string.extend(signs.next());
            }
            '\\' => string.extend(escaped(&mut signs).ok_or(at)?),
            // Only three quotes hold more than a line.
            '\n' if end.len() == 1 => return Err(at),
            sign => string.push(sign),
        }
    }
}

/// What stands behind a backslash; nothing for the end of a line that goes on.
fn escaped(signs: &mut Chars<'_>) -> Option<Option<char>> {
    let sign = signs.next()?;
    let plain = |sign: char| Some(Some(sign));
    match sign {
        '\n' => Some(None),
        '\\' | '\'' | '"' => plain(sign),
        'n' => plain('\n'),
        'r' => plain('\r'),
        't' => plain('\t'),
        'a' => plain('\u{7}'),
        'b' => plain('\u{8}'),
        'f' => plain('\u{c}'),
        'v' => plain('\u{b}'),
        'x' => numbered(signs, 2),
        'u' => numbered(signs, 4),
        'U' => numbered(signs, 8),
        '0'..='7' => {
            let more = signs.as_str().chars().take(2).take_while(|sign| sign.is_digit(8)).count();
            let digits = sign.to_string() + &signs.by_ref().take(more).collect::<String>();
            plain(of_number(u32::from_str_radix(&digits, 8).ok()?))
        }
        _ => None,
    }
}

fn numbered(signs: &mut Chars<'_>, digits: usize) -> Option<Option<char>> {
    let rest = signs.as_str();
    let number = rest.get(..digits).filter(|text| text.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
    *signs = rest[digits..].chars();
    let first = u32::from_str_radix(number, 16).ok()?;
    // Python keeps the two halves of a sign apart where it read them so.
    let low = rest.get(4..10).and_then(|rest| rest.strip_prefix("\\u")).filter(|_| digits == 4);
    let low =
        low.and_then(|low| u32::from_str_radix(low, 16).ok()).filter(|low| (0xdc00..0xe000).contains(low));
    match low.filter(|_| (0xd800..0xdc00).contains(&first)) {
        Some(low) => {
            *signs = rest[10..].chars();
            Some(Some(of_number(0x10000 + ((first - 0xd800) << 10) + (low - 0xdc00))))
        }
        None => Some(Some(of_number(first))),
    }
}

/// Half of a sign is none.
fn of_number(number: u32) -> char {
    char::from_u32(number).unwrap_or(char::REPLACEMENT_CHARACTER)
}
