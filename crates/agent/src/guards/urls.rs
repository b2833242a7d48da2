//! Where a text names what is blocked. A text is cut into words of the signs that a host is made of; one that is a
//! blocked host, or is below one, is looked at with what stands around it. So `notexample.com` and
//! `example.com.evil.org` are other hosts, and `/srv/example.com` is a file.

use super::host::{behind_translator, folded, ipv4, ipv6, name, named_address};
use super::url_pattern::{Host, Mention, UrlPattern, is_web};
use std::collections::BTreeMap;
use std::net::IpAddr;

// What stands around a host and is longer changes nothing about it.
const BEFORE_BYTES_MAX: usize = 512;
const TARGET_BYTES_MAX: usize = 1280;
// Between two strings that are added to each other there is not much.
const ADDED_BYTES_MAX: usize = 64;

/// Devices of a shell and of awk whose next parts are a host and a port.
const DEVICES: [&str; 8] = [
    "/dev/tcp/",
    "/dev/udp/",
    "/inet/tcp/0/",
    "/inet/udp/0/",
    "/inet4/tcp/0/",
    "/inet4/udp/0/",
    "/inet6/tcp/0/",
    "/inet6/udp/0/",
];

/// The blocked URLs of a run, by host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Urls {
    names: BTreeMap<String, Vec<UrlPattern>>,
    addresses: BTreeMap<IpAddr, Vec<UrlPattern>>,
    /// Those for URLs as a whole.
    anywhere: Vec<UrlPattern>,
}

/// Who reads a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    /// A program that takes hosts and URLs as they come: `curl example.com/x`.
    pub(super) is_client: bool,
    /// Ports that stand beside the host as words of their own: `nc example.com 80`.
    pub(super) ports: Vec<u16>,
}

/// What stands around a host.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Around<'a> {
    /// A URL's own host.
    Url { scheme: Option<&'a str> },
    /// A name that may be one.
    Bare,
    /// A device of the shell.
    Device,
    /// A part of something else.
    Nothing,
}

impl Urls {
    pub(super) fn new(patterns: &[UrlPattern]) -> Urls {
        let mut urls = Urls::default();
        for pattern in patterns {
            match &pattern.host {
                Host::Name { name, .. } => urls.names.entry(name.clone()).or_default().push(pattern.clone()),
                Host::Address(address) => urls.addresses.entry(*address).or_default().push(pattern.clone()),
                Host::Anywhere(_) => urls.anywhere.push(pattern.clone()),
            }
        }
        urls
    }

    /// What is blocked of that which a text names as it stands.
    pub(super) fn named_in(&self, text: &str, place: &Place) -> Option<&UrlPattern> {
        let folded = folded(text);
        self.longer_addresses(&folded, place)
            .or_else(|| words(&folded).find_map(|(start, end)| self.named_by(&folded, start, end, place)))
            .or_else(|| self.whole_in(&folded, place))
    }

    /// What is blocked of URLs as a whole.
    fn whole_in(&self, text: &str, place: &Place) -> Option<&UrlPattern> {
        if self.anywhere.is_empty() {
            return None;
        }
        let urls = text.split(is_divider).filter(|word| place.is_client || is_url(word));
        urls.filter(|url| url.len() <= BEFORE_BYTES_MAX + TARGET_BYTES_MAX)
            .find_map(|url| self.anywhere.iter().find(|pattern| pattern.fits_whole(url)))
    }

    /// What is blocked that somebody searches for by its name: `*low*rank*adaptation*`.
    pub(super) fn searched_for(&self, query: &str) -> Option<&UrlPattern> {
        let query = folded(query);
        self.anywhere.iter().find(|pattern| pattern.fits_whole(&query))
    }

    /// What is blocked of that which a word names.
    fn named_by(&self, text: &str, start: usize, end: usize, place: &Place) -> Option<&UrlPattern> {
        let word = &text[start..end];
        let joined = word.strip_prefix('-').filter(|_| place.is_client).and_then(|word| word.get(1..));
        let blocked = |word: &str, start: usize, end: usize| {
            let patterns = self.patterns_for(word).chain(self.patterns_at(text, start, end, place));
            let mut patterns = patterns.peekable();
            patterns.peek()?;
            let mentions = mentions(text, start, end, place);
            let found = patterns.find(|pattern| mentions.iter().any(|mention| pattern.blocks(mention)));
            found.filter(|_| !is_added_to(text, start))
        };
        // `-xexample.com`: an option's letter is no part of the host.
        blocked(word, start, end).or_else(|| blocked(joined?, end - joined?.len(), end))
    }

    fn patterns_for<'a>(&'a self, word: &str) -> impl Iterator<Item = &'a UrlPattern> + use<'a> {
        let host = if self.names.is_empty() { String::new() } else { behind_translator(name(word)) };
        let mut found: Vec<&UrlPattern> = Vec::new();
        let mut rest = Some(host.as_str());
        while let Some(parent) = rest.filter(|parent| !parent.is_empty()) {
            for pattern in self.names.get(parent).into_iter().flatten() {
                let is_meant = match &pattern.host {
                    Host::Name { only_below, .. } => !only_below || parent.len() < host.len(),
                    Host::Address(_) | Host::Anywhere(_) => false,
                };
                found.extend(is_meant.then_some(pattern));
            }
            rest = parent.split_once('.').map(|(_, parent)| parent);
        }
        found.into_iter()
    }

    fn patterns_at<'a>(
        &'a self,
        text: &str,
        start: usize,
        end: usize,
        place: &Place,
    ) -> impl Iterator<Item = &'a UrlPattern> + use<'a> {
        let word = &text[start..end];
        let address = if self.addresses.is_empty() {
            None
        } else {
            let is_host = || match around(text, start, place) {
                Around::Url { .. } | Around::Device => true,
                Around::Bare => place.is_client && (start == 0 || text[..start].ends_with('@')),
                Around::Nothing => false,
            };
            let short = word.starts_with(|sign: char| sign.is_ascii_digit()) && is_host();
            ipv4(word, short).or_else(|| named_address(word))
        };
        address.and_then(|address| self.addresses.get(&IpAddr::from(address))).into_iter().flatten()
    }

    /// Addresses with colons, which are words of other signs.
    fn longer_addresses(&self, text: &str, place: &Place) -> Option<&UrlPattern> {
        if self.addresses.is_empty() {
            return None;
        }
        let is_of_address = |sign: char| sign.is_ascii_hexdigit() || matches!(sign, ':' | '.');
        let mut start = 0;
        for run in text.split_inclusive(|sign: char| !is_of_address(sign)) {
            let bare = run.trim_end_matches(|sign: char| !is_of_address(sign));
            let (begun, end) = (start, start + bare.len());
            start += run.len();
            // Of eight groups with a shorter address at its end.
            if bare.len() > 45 || bare.matches(':').count() < 2 {
                continue;
            }
            let patterns = ipv6(bare).and_then(|address| self.addresses.get(&address));
            let is_whole = !text[..begun].ends_with(|sign: char| sign.is_alphanumeric());
            let end = end + usize::from(text[end..].starts_with(']'));
            let begun = begun - usize::from(text[..begun].ends_with('['));
            let Some(patterns) = patterns.filter(|_| is_whole) else { continue };
            let mentions = mentions(text, begun, end, place);
            let found =
                patterns.iter().find(|pattern| mentions.iter().any(|mention| pattern.blocks(mention)));
            if found.is_some() {
                return found;
            }
        }
        None
    }
}

/// Whether a word is written like a URL: with a scheme, or beginning with a host.
fn is_url(word: &str) -> bool {
    let host = word.split(['/', '?', '#', ':']).next().unwrap_or_default();
    word.contains("://")
        || host.split_once('.').is_some_and(|(name, rest)| !name.is_empty() && !rest.is_empty())
}

/// Words of the signs that a host is made of, without dots at their ends.
fn words(text: &str) -> impl Iterator<Item = (usize, usize)> {
    let is_of_host = |sign: char| sign.is_alphanumeric() || matches!(sign, '.' | '-' | '_');
    let mut at = 0;
    text.split(move |sign: char| !is_of_host(sign)).filter_map(move |word| {
        let start = word.as_ptr().addr() - text.as_ptr().addr();
        debug_assert!(start >= at);
        at = start;
        let trimmed = word.trim_start_matches('.');
        let start = start + word.len() - trimmed.len();
        let end = start + trimmed.trim_end_matches('.').len();
        (end > start).then_some((start, end))
    })
}

/// What a host that stands there is named as; nothing if it is no host there.
fn mentions<'a>(text: &'a str, start: usize, end: usize, place: &Place) -> Vec<Mention<'a>> {
    let behind = behind(text, end);
    match around(text, start, place) {
        Around::Nothing => Vec::new(),
        Around::Device => {
            let port = behind.strip_prefix('/').and_then(port);
            vec![Mention { scheme: None, port, target: "" }]
        }
        Around::Url { scheme } => {
            let authority = behind.split(['/', '?', '#', '\\']).next().unwrap_or_default();
            // A name and a password: the host comes behind them.
            if authority.contains('@') { Vec::new() } else { targets(scheme, behind, &[]) }
        }
        Around::Bare if behind.starts_with('@') && behind.len() > 1 => Vec::new(),
        // A name without a dot is a word like any other, unless somebody goes there.
        Around::Bare if !place.is_client && !text[start..end].contains('.') && !behind.starts_with(':') => {
            Vec::new()
        }
        Around::Bare => targets(None, behind, &place.ports),
    }
}

/// Ports and targets behind a host, with and without the signs that may belong to the text around it.
fn targets<'a>(scheme: Option<&'a str>, behind: &'a str, ports: &[u16]) -> Vec<Mention<'a>> {
    // A dot at the end of the host is no part of what is asked for.
    let behind = behind.trim_start_matches(['.', ']']);
    let (named, target) = match behind.strip_prefix(':') {
        Some(rest) => {
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            // Without digits it is a path, as for a copy over ssh.
            (port(rest), if digits == 0 { rest.trim_start_matches(':') } else { &rest[digits..] })
        }
        None => (None, behind),
    };
    let short = target.split([')', ']', ',', ';']).next().unwrap_or_default();
    // As in `git+https://host/owner/repository@branch`.
    let named_at = target.split('@').next().unwrap_or_default();
    let shortest = short.trim_end_matches(['.', ':', '!', '?', '*']);
    let mut found = Vec::new();
    for target in [target, short, shortest, named_at] {
        let ports = ports.iter().copied().map(Some).filter(|_| named.is_none());
        for port in [named].into_iter().chain(ports) {
            let mention = Mention { scheme, port, target };
            if !found.contains(&mention) {
                found.push(mention);
            }
        }
    }
    found
}

fn port(text: &str) -> Option<u16> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    text[..digits].parse().ok()
}

/// What stands before a host, as far as it tells what the host is there.
fn around<'a>(text: &'a str, start: usize, place: &Place) -> Around<'a> {
    let before = before(text, start);
    if DEVICES.iter().any(|device| before.ends_with(device)) {
        return Around::Device;
    }
    let authority = before.rfind(['/', '\\', '?', '#']).map_or(0, |at| at + 1);
    let (outer, user) = before.split_at(authority);
    let slashes = outer.trim_end_matches(['/', '\\']);
    let count = outer.len() - slashes.len();
    let scheme = slashes.strip_suffix(':').map(last_word).filter(|scheme| !scheme.is_empty());
    let is_user = user.is_empty() || user.ends_with('@') || user.ends_with('.');
    // Two slashes in a path are one.
    let is_path = scheme.is_none() && slashes.ends_with(|sign: char| sign.is_alphanumeric() || sign == '.');
    if is_user && ((count >= 2 && !is_path) || (count == 1 && scheme.is_some_and(is_web))) {
        return match scheme {
            // Three slashes begin a path of this machine.
            Some("file") if count > 2 => Around::Nothing,
            scheme => Around::Url { scheme },
        };
    }
    if let Some(at) = before.find("://") {
        // Inside of another URL: a mirror, an archive or a redirector leads there.
        let is_way = is_web(last_word(&before[..at])) || !before.ends_with('/');
        return if is_way { Around::Bare } else { Around::Nothing };
    }
    if let Some(scheme) = before.strip_suffix(':').filter(|scheme| is_web(last_word(scheme))) {
        return Around::Url { scheme: Some(last_word(scheme)) };
    }
    if !before.ends_with(['/', '\\']) {
        return Around::Bare;
    }
    // A client takes `proxy.test/example.com` for a URL, and `./x` and `/x` for files.
    let first = before.split('/').next().unwrap_or_default();
    let (host, port) = first.split_once(':').unwrap_or((first, ""));
    let is_host = host.trim_matches('.').contains('.') && port.bytes().all(|byte| byte.is_ascii_digit());
    if place.is_client && is_host { Around::Bare } else { Around::Nothing }
}

/// `git+https` is had over `https`.
fn last_word(text: &str) -> &str {
    text.rsplit(|sign: char| !sign.is_ascii_alphanumeric()).next().unwrap_or_default()
}

fn before(text: &str, start: usize) -> &str {
    ending(&text[..start], BEFORE_BYTES_MAX).rsplit(is_divider).next().unwrap_or_default()
}

fn behind(text: &str, end: usize) -> &str {
    let rest = crate::glance::beginning(&text[end..], TARGET_BYTES_MAX);
    rest.split(is_divider).next().unwrap_or_default()
}

/// Whether a string of a program is added to another one there that makes it another name: `"my" + "example.com"`.
fn is_added_to(text: &str, start: usize) -> bool {
    let ends_name =
        |text: &str| text.ends_with(|sign: char| sign.is_alphanumeric() || matches!(sign, '-' | '_'));
    let quoted = |text: &str| {
        let text = ending(text, ADDED_BYTES_MAX);
        Some(text.strip_suffix('"').or_else(|| text.strip_suffix('\''))?.to_owned())
    };
    let before = &text[..start];
    if let Some(outside) = quoted(before) {
        let other = outside.trim_end().strip_suffix('+').and_then(|other| quoted(other.trim_end()));
        return other.is_some_and(|other| ends_name(&other));
    }
    let variable = before.strip_suffix('}').and_then(|before| {
        let name = ending(before, ADDED_BYTES_MAX).rsplit_once('{')?.1;
        let is_name =
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        is_name.then_some(name)
    });
    // Only what was set just before it: a search through all of a text for each host would take for ever.
    let set_to = |name: &str| {
        let near = ending(before, BEFORE_BYTES_MAX);
        let mut places = near.match_indices(name).map(|(at, _)| near[at + name.len()..].trim_start());
        places.find_map(|behind| {
            let value = behind.strip_prefix('=')?.trim_start();
            let quote = value.chars().next().filter(|sign| matches!(sign, '"' | '\'' | '`'))?;
            Some(ends_name(value[1..].split(quote).next()?))
        })
    };
    variable.and_then(set_to).unwrap_or_default()
}

/// The end of a text, of so many bytes at most.
fn ending(text: &str, bytes_max: usize) -> &str {
    let least = text.len().saturating_sub(bytes_max);
    let start = (least..=text.len()).find(|at| text.is_char_boundary(*at));
    &text[start.unwrap_or_default()..]
}

/// Signs that end a URL in whatever text it stands.
fn is_divider(sign: char) -> bool {
    sign.is_whitespace()
        || matches!(sign, '"' | '\'' | '`' | '<' | '>' | '{' | '}' | '|' | '(' | '[' | '^' | '\u{7}')
}
