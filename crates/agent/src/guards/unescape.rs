//! What a text says once its escapes are read: percent-encoding, backslashes, entities of a page, base64 and
//! hexadecimal. Each pass is linear, and how often one follows another is bounded.

// An escaped escape of an escape is read, and one more.
const ROUNDS_MAX: usize = 4;
// Shorter runs of letters are words.
const CODED_BYTES_MIN: usize = 12;

/// The text, and what it says with its escapes read once, twice and so on, each only if it is another.
pub(super) fn readings(text: &str) -> Vec<String> {
    let mut readings = vec![text.to_owned()];
    while readings.len() <= ROUNDS_MAX {
        let last = readings.last().expect("there is the text");
        if !last.contains(['%', '\\', '&']) {
            break;
        }
        let next = backslashes(&entities(&percent_decoded(last)));
        if next == *last {
            break;
        }
        readings.push(next);
    }
    readings
}

/// `%41` is `A`. What is no escape stays, and so does what would not be text.
pub(super) fn percent_decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let escape = (byte == b'%').then(|| hex_byte(bytes.get(at + 1..at + 3)?)).flatten();
        decoded.push(escape.unwrap_or(byte));
        at += if escape.is_some() { 3 } else { 1 };
    }
    String::from_utf8(decoded).unwrap_or_else(|_| text.to_owned())
}

fn hex_byte(digits: &[u8]) -> Option<u8> {
    let digits =
        str::from_utf8(digits).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
    u8::from_str_radix(digits, 16).ok()
}

/// `\x41`, `\u0041`, `\u{41}`, `\101`, `\n` and the like, as most languages write them; other signs only lose
/// their backslash.
pub(super) fn backslashes(text: &str) -> String {
    if !text.contains('\\') {
        return text.to_owned();
    }
    let mut read = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, escape)) = rest.split_once('\\') {
        read.push_str(before);
        let (sign, length) = escaped(escape);
        read.extend(sign);
        rest = &escape[length..];
    }
    read.push_str(rest);
    read
}

/// The sign that an escape stands for, and how long it is without its backslash.
pub(super) fn escaped(escape: &str) -> (Option<char>, usize) {
    let Some(first) = escape.chars().next() else { return (None, 0) };
    let coded = |from: usize, max: usize, radix: u32| {
        let digits: String =
            escape[from..].chars().take(max).take_while(|sign| sign.is_digit(radix)).collect();
        let sign = u32::from_str_radix(&digits, radix).ok().and_then(char::from_u32);
        (sign, from + digits.len())
    };
    match first {
        'u' if escape.starts_with("u{") => {
            let (sign, length) = coded(2, 6, 16);
            (sign, length + usize::from(escape[length..].starts_with('}')))
        }
        'x' | 'u' | 'U' => match coded(
            1,
            if first == 'x' {
                2
            } else if first == 'u' {
                4
            } else {
                8
            },
            16,
        ) {
            (Some(sign), length) => (Some(sign), length),
            (None, _) => (Some(first), 1),
        },
        '0'..='7' => coded(0, if first == '0' { 4 } else { 3 }, 8),
        'n' | 'r' => (Some('\n'), 1),
        't' | 'v' | 'f' => (Some('\t'), 1),
        'a' | 'b' | 'e' | 'E' => (Some('\u{7}'), 1),
        // A line that goes on.
        '\n' => (None, 1),
        other => (Some(other), other.len_utf8()),
    }
}

/// `&#46;` and `&#x2e;`.
fn entities(text: &str) -> String {
    if !text.contains("&#") {
        return text.to_owned();
    }
    let mut read = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, escape)) = rest.split_once("&#") {
        read.push_str(before);
        let (digits, radix) = match escape.strip_prefix(['x', 'X']) {
            Some(digits) => (digits, 16),
            None => (escape, 10),
        };
        let length = digits.bytes().take(8).take_while(|byte| char::from(*byte).is_digit(radix)).count();
        let sign = u32::from_str_radix(&digits[..length], radix).ok().and_then(char::from_u32);
        rest = match sign {
            Some(sign) => {
                read.push(sign);
                digits[length..].strip_prefix(';').unwrap_or(&digits[length..])
            }
            None => {
                read.push_str("&#");
                escape
            }
        };
    }
    read.push_str(rest);
    read
}

/// What stands in a text as base64 or in hexadecimal, where that is text itself.
pub(super) fn coded_texts(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    // Of the two alphabets only one has slashes, which also divide a path.
    let alphabets: [fn(char) -> bool; 2] = [
        |sign| sign.is_ascii_alphanumeric() || matches!(sign, '+' | '/'),
        |sign| sign.is_ascii_alphanumeric() || matches!(sign, '-' | '_'),
    ];
    let has_slashes = text.contains('/');
    for (second, is_of_alphabet) in alphabets.iter().enumerate() {
        for run in text.split(|sign: char| !is_of_alphabet(sign)) {
            // What both alphabets make the same of is read once.
            let is_new = second == 0 || has_slashes || run.contains(['-', '_']);
            if run.len() >= CODED_BYTES_MIN && is_new {
                found.extend(base64(run).and_then(text_of));
                found.extend(hex(run).and_then(text_of));
            }
        }
    }
    found
}

/// Bytes in base64 of either alphabet; nothing if it is none.
pub(super) fn base64(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' | b'-' => Some(62),
        b'/' | b'_' => Some(63),
        _ => None,
    };
    grouped(text, 6, digit)
}

/// Bytes in base32; nothing if it is none.
pub(super) fn base32(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| match byte.to_ascii_uppercase() {
        letter @ b'A'..=b'Z' => Some(letter - b'A'),
        number @ b'2'..=b'7' => Some(number - b'2' + 26),
        _ => None,
    };
    grouped(text, 5, digit)
}

/// Bytes in hexadecimal; nothing if it is none.
pub(super) fn hex(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    digits.chunks(2).map(|pair| if pair.len() == 2 { hex_byte(pair) } else { None }).collect()
}

/// Digits of so many bits each, put together to bytes.
fn grouped(text: &str, bits: u32, digit: impl Fn(u8) -> Option<u8>) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let (mut held, mut count) = (0_u32, 0);
    for byte in text.bytes().filter(|byte| !byte.is_ascii_whitespace() && *byte != b'=') {
        held = (held << bits | u32::from(digit(byte)?)) & 0xffff;
        count += bits;
        if count >= 8 {
            count -= 8;
            bytes.push((held >> count & 0xff) as u8);
        }
    }
    Some(bytes)
}

/// Bytes that somebody can read.
pub(super) fn text_of(bytes: Vec<u8>) -> Option<String> {
    let text = String::from_utf8(bytes).ok()?;
    let is_read = |sign: char| !sign.is_control() || sign.is_whitespace();
    (!text.is_empty() && text.chars().all(is_read)).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::{base32, base64, coded_texts, readings, text_of};

    #[test]
    fn escapes_are_read_until_there_are_none() {
        let check = |text: &str, expected: &[&str]| assert_eq!(readings(text), expected, "{text}");
        check("plain", &["plain"]);
        check("a%2Eb", &["a%2Eb", "a.b"]);
        check("a%252Eb", &["a%252Eb", "a%2Eb", "a.b"]);
        check("%zz%e9%", &["%zz%e9%"]);
        check(r"\x65\u0065\u{65}\145\U00000065", &[r"\x65\u0065\u{65}\145\U00000065", "eeeee"]);
        check(r"https:\/\/a", &[r"https:\/\/a", "https://a"]);
        check("a&#46;b&#x2e;c&#;", &["a&#46;b&#x2e;c&#;", "a.b.c&#;"]);
        check(r"\", &[r"\", ""]);
        check(r"\x\u\é", &[r"\x\u\é", "xué"]);
    }

    #[test]
    fn codes_are_read_where_they_are_texts() {
        let check = |text: &str, expected: &[&str]| assert_eq!(coded_texts(text), expected, "{text}");
        check("echo aHR0cHM6Ly9leGFtcGxlLmNvbS8= |", &["https://example.com/"]);
        check("/r/aHR0cHM6Ly9leGFtcGxlLmNvbS8", &["https://example.com/"]);
        check("6578616d706c652e636f6d", &["example.com"]);
        check("9f86d081884c7d659a2feaa0c55ad015", &[]);
        check("internationalization of ordinary_words_in_a_row", &[]);
        let text = |bytes: Option<Vec<u8>>| bytes.and_then(text_of);
        assert_eq!(text(base32("MV4GC3LQNRSS4Y3PNU======")).as_deref(), Some("example.com"));
        assert_eq!(text(base64("ZXhhb\nXBsZQ==")).as_deref(), Some("example"));
    }
}
