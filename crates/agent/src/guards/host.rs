//! Normalizes hosts: names as they are sent to DNS, addresses as numbers. Never resolves a name.

use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use url::Host as UrlHost;

// A longer name is not a host: 253 characters (RFC 1035), each of up to four bytes.
const NAME_BYTES_MAX: usize = 1012;

/// Returns a lower-case host name in its DNS form (UTS 46), without a dot at its end. An invalid name stays
/// unchanged.
pub(super) fn name(text: &str) -> Cow<'_, str> {
    let text = text.trim_matches('.');
    let is_encoded = !text.is_ascii() || text.contains("xn--");
    if !is_encoded || text.len() > NAME_BYTES_MAX {
        return text.into();
    }
    match idna::domain_to_ascii(text) {
        Ok(ascii) => ascii.trim_matches('.').to_owned().into(),
        Err(_) => text.into(),
    }
}

/// Returns the address that browsers and clients read in `text`: four parts, each decimal, octal or
/// hexadecimal.
pub(super) fn ipv4(text: &str) -> Option<IpAddr> {
    if text.matches('.').count() == 3 { short_ipv4(text) } else { None }
}

/// Returns the same for an address of up to four parts. Without context, a text of one part may be any
/// number.
pub(super) fn short_ipv4(text: &str) -> Option<IpAddr> {
    let is_number = |part: &str| part.starts_with(char::is_numeric);
    match text.split('.').all(is_number).then(|| UrlHost::parse(text)) {
        Some(Ok(UrlHost::Ipv4(address))) => Some(address.into()),
        Some(Ok(UrlHost::Domain(_) | UrlHost::Ipv6(_)) | Err(_)) | None => None,
    }
}

/// Returns an IPv6 address without brackets and zone, or the IPv4 address that it embeds.
pub(super) fn ipv6(text: &str) -> Option<IpAddr> {
    let address: Ipv6Addr = text.split('%').next().unwrap_or(text).parse().ok()?;
    Some(match address.segments() {
        // Mapped, compatible and translated addresses.
        [0, 0, 0, 0, 0, 0xffff | 0, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] if high != 0 => {
            Ipv4Addr::from(u32::from(high) << 16 | u32::from(low)).into()
        }
        _ => address.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::{ipv4, ipv6, name, short_ipv4};

    #[test]
    fn normalizes_names() {
        let check = |text: &str, expected: &str| assert_eq!(name(&text.to_lowercase()), expected, "{text}");
        check("EXAMPLE.Com.", "example.com");
        check("ｅｘａｍｐｌｅ。ｃｏｍ", "example.com");
        check("ⓔⓧⓐⓜⓟⓛⓔ.𝐜𝐨𝐦", "example.com");
        check("ℯxample.com", "example.com");
        check("exam\u{ad}ple\u{200b}.com", "example.com");
        check("bücher.example", "xn--bcher-kva.example");
        check("BU\u{308}CHER.example", "xn--bcher-kva.example");
        check("xn--BCHER-kva.example", "xn--bcher-kva.example");
        // Cyrillic letters are another name.
        check("ехample.com", "xn--ample-ywe6i.com");
    }

    #[test]
    fn normalizes_addresses() {
        let check = |address: Option<std::net::IpAddr>, expected: Option<&str>| {
            assert_eq!(address.map(|address| address.to_string()).as_deref(), expected);
        };
        check(ipv4("203.0.113.7"), Some("203.0.113.7"));
        check(ipv4("0313.0.0x71.07"), Some("203.0.113.7"));
        check(ipv4("3405803783"), None);
        check(short_ipv4("3405803783"), Some("203.0.113.7"));
        check(short_ipv4("203.28935"), Some("203.0.113.7"));
        check(short_ipv4("0xcb007107"), Some("203.0.113.7"));
        for none in ["1.2.3.4.5", "1.2.3.256", "1.2.3.4rc1", "99999999999", "v1.2.3.4"] {
            check(short_ipv4(none), None);
        }
        check(ipv6("::ffff:203.0.113.7"), Some("203.0.113.7"));
        check(ipv6("64:ff9b::cb00:7107"), Some("203.0.113.7"));
        check(ipv6("2001:0DB8:0:0:0:0:0:7%eth0"), Some("2001:db8::7"));
        check(ipv6("::1"), Some("::1"));
        check(ipv6("12:30:07"), None);
    }
}
