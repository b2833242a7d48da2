//! Hosts in one spelling. The same host can be written in many ways: in capitals, in letters of full width, as
//! punycode, and an address as one number, in octal or inside of a longer address.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

// Longer is no host name (RFC 1035).
const HOST_BYTES_MAX: usize = 253;
/// Names that lead to the address which they begin with.
const NAMES_OF_ADDRESSES: [&str; 2] = [".nip.io", ".sslip.io"];

/// A name below this one is a page that is passed on, with the dots of its host as hyphens.
const TRANSLATOR: &str = ".translate.goog";

/// Letters with a mark of their own, by the mark that may follow the plain letter instead.
const COMPOSED: [(char, &str, &str); 8] = [
    ('\u{300}', "aeiou", "àèìòù"),
    ('\u{301}', "aeiouycnsz", "áéíóúýćńśź"),
    ('\u{302}', "aeiou", "âêîôû"),
    ('\u{303}', "ano", "ãñõ"),
    ('\u{308}', "aeiouy", "äëïöüÿ"),
    ('\u{30a}', "au", "åů"),
    ('\u{30c}', "csznredt", "čšžňřěďť"),
    ('\u{327}', "cs", "çş"),
];

/// A text in small letters, with the signs that a client takes for others replaced by those, and without the
/// signs that it leaves out (UTS 46).
pub(super) fn folded(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let mut folded = String::with_capacity(text.len());
    for sign in text.chars() {
        match plain(sign) {
            '\u{ad}' | '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{fe0f}' | '\u{feff}' => {}
            mark @ '\u{300}'..='\u{36f}' => {
                let composed = folded.pop().map(|letter| composed(letter, mark));
                folded.extend(composed.into_iter().flatten());
            }
            sign => folded.extend(sign.to_lowercase()),
        }
    }
    folded
}

fn composed(letter: char, mark: char) -> impl Iterator<Item = char> {
    let row = COMPOSED.iter().find(|(known, _, _)| *known == mark);
    let at =
        row.and_then(|(_, plain, whole)| Some((plain.chars().position(|known| known == letter)?, whole)));
    match at.and_then(|(at, whole)| whole.chars().nth(at)) {
        Some(whole) => [Some(whole), None],
        None => [Some(letter), Some(mark)],
    }
    .into_iter()
    .flatten()
}

/// The ASCII sign that another one stands for, if it does.
fn plain(sign: char) -> char {
    let code = u32::from(sign);
    let letter = |offset: u32, first: u8| char::from(first + u8::try_from(offset % 26).unwrap_or_default());
    match code {
        0x3002 | 0xff0e | 0xff61 => '.',
        // Full width.
        0xff01..=0xff5e => char::from_u32(code - 0xfee0).unwrap_or(sign),
        // In circles.
        0x24b6..=0x24cf => letter(code - 0x24b6, b'a'),
        0x24d0..=0x24e9 => letter(code - 0x24d0, b'a'),
        0x2460..=0x2468 => char::from_digit(code - 0x2460 + 1, 10).unwrap_or(sign),
        // Of mathematics: thirteen alphabets of 26 capitals and 26 small letters, then five rows of digits.
        0x1d400..=0x1d6a3 => letter(code - 0x1d400, b'a'),
        0x1d7ce..=0x1d7ff => char::from_digit((code - 0x1d7ce) % 10, 10).unwrap_or(sign),
        _ => sign,
    }
}

/// A host name in one spelling: labels on the wire are read. The text is folded.
pub(super) fn name(folded: &str) -> String {
    let folded = folded.trim_matches('.');
    if !folded.contains("xn--") || folded.len() > HOST_BYTES_MAX {
        return folded.to_owned();
    }
    let label = |label: &str| {
        let read = label.strip_prefix("xn--").and_then(punycode);
        read.unwrap_or_else(|| label.to_owned())
    };
    folded.split('.').map(label).collect::<Vec<_>>().join(".")
}

/// The host whose pages a translator passes on under a name of its own; the name itself if it is none of those.
pub(super) fn behind_translator(name: String) -> String {
    match name.strip_suffix(TRANSLATOR) {
        Some(label) => label.replace("--", "_").replace('-', ".").replace('_', "-"),
        None => name,
    }
}

/// Reads a label on the wire (RFC 3492); nothing if it is none.
fn punycode(label: &str) -> Option<String> {
    let (basic, coded) = label.rsplit_once('-').unwrap_or(("", label));
    let mut signs: Vec<char> = basic.chars().collect();
    let (mut code, mut at, mut bias) = (128_u32, 0_u32, 72_u32);
    let mut digits = coded.bytes();
    while digits.len() > 0 {
        let (before, mut weight) = (at, 1_u32);
        for step in 1.. {
            let digit = match digits.next()? {
                letter @ b'a'..=b'z' => u32::from(letter - b'a'),
                number @ b'0'..=b'9' => u32::from(number - b'0') + 26,
                _ => return None,
            };
            at = at.checked_add(digit.checked_mul(weight)?)?;
            let least = (36 * step as u32).saturating_sub(bias).clamp(1, 26);
            if digit < least {
                break;
            }
            weight = weight.checked_mul(36 - least)?;
        }
        let count = u32::try_from(signs.len()).ok()? + 1;
        let mut delta = (at - before) / if before == 0 { 700 } else { 2 };
        delta += delta / count;
        let mut steps = 0;
        while delta > 455 {
            delta /= 35;
            steps += 36;
        }
        bias = steps + 36 * delta / (delta + 38);
        code = code.checked_add(at / count)?;
        at %= count;
        signs.insert(at as usize, char::from_u32(code)?);
        at += 1;
    }
    Some(signs.into_iter().collect())
}

/// An address of four parts, each decimal, octal or hexadecimal, as the system's own reader takes them; of fewer
/// where `short` says that it can be nothing else.
pub(super) fn ipv4(text: &str, short: bool) -> Option<Ipv4Addr> {
    if !text.starts_with(|sign: char| sign.is_ascii_digit()) {
        return None;
    }
    let text = text.strip_suffix('.').unwrap_or(text);
    let parts = text.split('.').map(number).collect::<Option<Vec<u32>>>()?;
    let (last, first) = parts.split_last()?;
    if first.len() > 3 || (first.len() < 3 && !short) || first.iter().any(|part| *part > 255) {
        return None;
    }
    let room = 8 * (4 - u32::try_from(first.len()).ok()?);
    if room < 32 && *last >= 1 << room {
        return None;
    }
    let places = first.iter().zip([24, 16, 8]).map(|(part, place)| part << place);
    Some(Ipv4Addr::from(places.sum::<u32>() + last))
}

fn number(text: &str) -> Option<u32> {
    match text.strip_prefix("0x") {
        Some(digits) if !digits.is_empty() => u32::from_str_radix(digits, 16).ok(),
        Some(_) => Some(0),
        None if text.len() > 1 && text.starts_with('0') => u32::from_str_radix(text, 8).ok(),
        None => text.parse().ok(),
    }
}

/// An address of eight groups, without brackets; one that stands for a shorter address is that one.
pub(super) fn ipv6(text: &str) -> Option<IpAddr> {
    let text = text.split('%').next().unwrap_or(text);
    let address: Ipv6Addr = text.parse().ok()?;
    let inside = match address.segments() {
        [0, 0, 0, 0, 0, 0xffff | 0, high, low] if high != 0 => Some((high, low)),
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => Some((high, low)),
        _ => None,
    };
    Some(match inside {
        Some((high, low)) => Ipv4Addr::from(u32::from(high) << 16 | u32::from(low)).into(),
        None => address.into(),
    })
}

/// The address that a name leads to because it says so.
pub(super) fn named_address(name: &str) -> Option<Ipv4Addr> {
    let inside = NAMES_OF_ADDRESSES.iter().find_map(|end| name.strip_suffix(end))?;
    let labels: Vec<&str> = inside.rsplit('.').take(4).collect();
    let dotted = labels.iter().rev().copied().collect::<Vec<_>>().join(".");
    let dashed = labels.first().map(|label| label.replace('-', "."));
    ipv4(&dotted, false).or_else(|| ipv4(&dashed?, false))
}

#[cfg(test)]
mod tests {
    use super::{behind_translator, folded, ipv4, ipv6, name, named_address};

    #[test]
    fn names_have_one_spelling() {
        let check = |text: &str, expected: &str| assert_eq!(name(&folded(text)), expected, "{text}");
        check("EXAMPLE.Com.", "example.com");
        check("ｅｘａｍｐｌｅ。ｃｏｍ", "example.com");
        check("ⓔⓧⓐⓜⓟⓛⓔ.𝐜𝐨𝐦", "example.com");
        check("exam\u{ad}ple\u{200b}.com", "example.com");
        check("xn--bcher-kva.example", "bücher.example");
        check("BU\u{308}CHER.example", "bücher.example");
        check("xn--mnchen-3ya.de", "münchen.de");
        check("xn--fiqs8s", "中国");
        check("xn--.example", "xn--.example".trim_start_matches("xn--"));
        check("xn--\u{e9}", "xn--\u{e9}");
        check("ехample.com", "ехample.com");
    }

    #[test]
    fn addresses_have_one_value() {
        let check = |text: &str, short: bool, expected: Option<&str>| {
            assert_eq!(ipv4(text, short).map(|address| address.to_string()).as_deref(), expected, "{text}");
        };
        check("203.0.113.7", false, Some("203.0.113.7"));
        check("0313.0.0x71.07", false, Some("203.0.113.7"));
        check("3405803783", true, Some("203.0.113.7"));
        check("3405803783", false, None);
        check("203.28935", true, Some("203.0.113.7"));
        check("0xcb007107", true, Some("203.0.113.7"));
        check("1.2.3.4.5", true, None);
        check("1.2.3.256", true, None);
        check("1.2.3.4rc1", true, None);
        check("99999999999", true, None);
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(ipv6(text).map(|address| address.to_string()).as_deref(), expected, "{text}");
        };
        check("::ffff:203.0.113.7", Some("203.0.113.7"));
        check("64:ff9b::cb00:7107", Some("203.0.113.7"));
        check("2001:0DB8:0:0:0:0:0:7%eth0", Some("2001:db8::7"));
        check("::1", Some("::1"));
        check("12:30:07", None);
        assert_eq!(
            behind_translator("my--site-example-com.translate.goog".to_owned()),
            "my-site.example.com"
        );
        let address = |text: &str| named_address(text).map(|address| address.to_string());
        assert_eq!(address("www.203.0.113.7.nip.io").as_deref(), Some("203.0.113.7"));
        assert_eq!(address("203-0-113-7.sslip.io").as_deref(), Some("203.0.113.7"));
    }
}
