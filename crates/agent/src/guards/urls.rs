//! Finds the blocked URLs that a text names. A blocked host matches as a whole word or as the end of one
//! after a dot: `www.example.com`, not `notexample.com` and not `example.com.evil.org`. Never visits a URL.

use super::host::{ipv4, ipv6, name, short_ipv4};
use super::url_pattern::{Host, UrlMention, UrlPattern};
use crate::snapshot::truncate_to_bytes;
use std::collections::BTreeMap;
use std::net::IpAddr;

// The context of a host beyond this length does not matter.
const PREFIX_BYTES_MAX: usize = 512;
const TARGET_BYTES_MAX: usize = 1280;
// Maximum number of comparisons with patterns in one text.
const COMPARED_MAX: usize = 2_000;
// Ports that a command can name separately from their host.
const PORTS_MAX: usize = 16;
/// Device paths of shells and awk, followed by the host and the port.
const DEVICES: [&str; 4] = ["/dev/tcp/", "/dev/udp/", "/tcp/0/", "/udp/0/"];

#[derive(Debug, Default)]
pub(super) struct Urls<'a> {
    names: BTreeMap<&'a str, Vec<&'a UrlPattern>>,
    addresses: BTreeMap<IpAddr, Vec<&'a UrlPattern>>,
    /// Patterns for whole URLs.
    whole: Vec<&'a UrlPattern>,
}

/// A host within a text.
struct Word<'t> {
    host: &'t str,
    /// The part of the same word before the host: `https://user@`.
    prefix: &'t str,
    rest: &'t str,
    is_version: bool,
}

impl<'a> Urls<'a> {
    pub(super) fn new(patterns: &'a [UrlPattern]) -> Urls<'a> {
        let mut urls = Urls::default();
        for pattern in patterns {
            match &pattern.host {
                Host::Name { name, .. } => urls.names.entry(name).or_default().push(pattern),
                Host::Address(address) => urls.addresses.entry(*address).or_default().push(pattern),
                Host::Any(_) => urls.whole.push(pattern),
            }
        }
        urls
    }

    /// Returns the first pattern that the text names. In a command, a host without a dot counts as a word.
    pub(super) fn find(&self, text: &str, is_command: bool) -> Option<&'a UrlPattern> {
        let text = &text.to_lowercase();
        self.find_host(text, is_command).or_else(|| self.find_ipv6(text)).or_else(|| self.find_whole(text))
    }

    /// Returns the pattern for whole URLs that a search names: `*low*rank*adaptation*`.
    pub(super) fn find_search(&self, query: &str) -> Option<&'a UrlPattern> {
        let query = query.to_lowercase();
        self.whole.iter().find(|pattern| pattern.matches_whole(&query)).copied()
    }

    fn find_host(&self, text: &str, is_command: bool) -> Option<&'a UrlPattern> {
        if self.names.is_empty() && self.addresses.is_empty() {
            return None;
        }
        let is_host_char = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_') || is_ignored(c);
        let (mut context, mut last, mut compared, mut ports) = (0, 0, 0, None);
        for (start, end) in words(text, is_host_char) {
            // A context starts after the last divider, so that no text is read twice, however long a word is.
            if let Some(divider) = text[last..start].rfind(starts_context) {
                context = last + divider + 1;
            }
            last = end;
            let word = Word::new(text, context, start, end);
            let patterns = self.patterns(&word);
            if patterns.is_empty() || !word.is_host(is_command) {
                continue;
            }
            if let Some(pattern) = patterns.iter().find(|pattern| pattern.is_whole()) {
                return Some(pattern);
            }
            // Beyond this, comparing takes longer than an agent waits.
            compared += patterns.len();
            if compared > COMPARED_MAX {
                return patterns.first().copied();
            }
            let ports = if is_command && !word.is_in_url() {
                ports.get_or_insert_with(|| numbers(text))
            } else {
                &Vec::new()
            };
            let found = word.find(&patterns, ports);
            if found.is_some() {
                return found;
            }
        }
        None
    }

    fn find_whole(&self, text: &str) -> Option<&'a UrlPattern> {
        if self.whole.is_empty() {
            return None;
        }
        let urls = text.split(ends_url).filter(|word| word.len() <= PREFIX_BYTES_MAX + TARGET_BYTES_MAX);
        urls.filter(|word| is_url(word))
            .find_map(|url| self.whole.iter().find(|pattern| pattern.matches_whole(url)).copied())
    }

    /// Returns the patterns for a host and for the hosts above it.
    fn patterns(&self, word: &Word<'_>) -> Vec<&'a UrlPattern> {
        let mut found: Vec<&'a UrlPattern> = Vec::new();
        if !self.addresses.is_empty() && word.host.starts_with(char::is_numeric) && !word.is_version {
            let is_number_host = word.is_in_url() || word.is_in_device();
            let address = if is_number_host { short_ipv4(word.host) } else { ipv4(word.host) };
            found.extend(address.and_then(|address| self.addresses.get(&address)).into_iter().flatten());
        }
        if self.names.is_empty() {
            return found;
        }
        // Options can have the host joined to them: `-xexample.com`.
        let option = word.host.strip_prefix('-').and_then(|option| option.get(1..));
        let host = name(option.unwrap_or(word.host));
        let mut rest = Some(host.as_ref());
        while let Some(parent) = rest {
            for pattern in self.names.get(parent).into_iter().flatten() {
                let includes = match &pattern.host {
                    Host::Name { only_below, .. } => !only_below || parent.len() < host.len(),
                    Host::Address(_) | Host::Any(_) => false,
                };
                found.extend(includes.then_some(pattern));
            }
            rest = parent.split_once('.').map(|(_, parent)| parent);
        }
        found
    }

    fn find_ipv6(&self, text: &str) -> Option<&'a UrlPattern> {
        if self.addresses.is_empty() {
            return None;
        }
        words(text, |c| c.is_alphanumeric() || matches!(c, ':' | '.' | '%')).find_map(|(start, end)| {
            // Eight groups, the last two as IPv4, and a zone. `:` ends a sentence, too.
            let address = text[start..end].trim_end_matches('.');
            if address.len() > 64 || address.matches(':').count() < 2 {
                return None;
            }
            let patterns = self.addresses.get(&ipv6(address)?)?;
            let is_bracketed = text[..start].ends_with('[') && text[end..].starts_with(']');
            let (start, end) = (start - usize::from(is_bracketed), end + usize::from(is_bracketed));
            let context = text[..start].rfind(starts_context).map_or(0, |divider| divider + 1);
            Word::new(text, context, start, end).find(patterns, &[])
        })
    }
}

impl<'t> Word<'t> {
    /// `context` is the start of the word that the host is part of.
    fn new(text: &'t str, context: usize, start: usize, end: usize) -> Word<'t> {
        let earliest = context.max(start.saturating_sub(PREFIX_BYTES_MAX));
        let context = (earliest..start).find(|index| text.is_char_boundary(*index)).unwrap_or(start);
        Word {
            host: &text[start..end],
            prefix: &text[context..start],
            rest: truncate_to_bytes(&text[end..], TARGET_BYTES_MAX),
            // `tool==1.2.3.4`.
            is_version: text[..start].ends_with("=="),
        }
    }

    /// Returns the first pattern that blocks the URL, on its own port or on a separate one: `nc example.com
    /// 443`.
    fn find<'a>(&self, patterns: &[&'a UrlPattern], ports: &[u16]) -> Option<&'a UrlPattern> {
        let ports = || ports.iter().copied().map(Some);
        patterns.iter().copied().find(|pattern| {
            let separate_ports = ports().filter(|_| pattern.port().is_some());
            [None]
                .into_iter()
                .chain(separate_ports)
                .any(|port| self.mentions(port).iter().any(|mention| pattern.blocks(mention)))
        })
    }

    fn is_in_url(&self) -> bool {
        self.prefix.ends_with("//") || self.prefix.ends_with('@')
    }

    fn is_in_device(&self) -> bool {
        DEVICES.iter().any(|device| self.prefix.ends_with(device))
    }

    fn is_host(&self, is_command: bool) -> bool {
        let ends_authority = |c: char| matches!(c, '/' | '?' | '#' | '\\') || ends_url(c);
        let authority = self.rest.split(ends_authority).next().unwrap_or_default();
        let is_user = authority.split_once('@').is_some_and(|(_, host)| host.contains('.'));
        // `x.com(1)` is a page of the manual or a call of a function.
        let is_function = self.rest.starts_with('(') && !self.is_in_url();
        let is_named = self.host.trim_matches('.').contains('.')
            || self.is_in_url()
            || self.is_in_device()
            || self.rest.strip_prefix(':').is_some_and(|port| port.starts_with(|c: char| c.is_ascii_digit()))
            || (is_command && (self.prefix.is_empty() || self.prefix.starts_with('-')));
        is_named && !is_user && !is_function && (self.is_in_device() || !self.is_in_local_path())
    }

    /// `/srv/example.com` and `sites/example.com` are local paths; `proxy.test/example.com` is a URL.
    fn is_in_local_path(&self) -> bool {
        if self.prefix.starts_with("file:") {
            return true;
        } else if self.prefix.ends_with("//") || !self.prefix.contains(['/', '\\']) {
            return false;
        }
        let first = self.prefix.split(['/', '\\']).next().unwrap_or_default();
        let is_relative = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
        matches!(first, "." | ".." | "~") || first.chars().all(is_relative)
    }

    /// Returns the possible URLs: with and without characters that may belong to the surrounding text.
    fn mentions(&self, separate_port: Option<u16>) -> Vec<UrlMention<'t>> {
        // `git+https` is `https`.
        let scheme = self.prefix.rsplit_once("://").map(|(scheme, _)| scheme);
        let scheme = scheme.and_then(|scheme| scheme.rsplit(|c: char| !c.is_ascii_alphanumeric()).next());
        let after = self.rest.split(ends_url).next().unwrap_or_default();
        // `/dev/tcp/host/80`.
        let port_of_device = if self.is_in_device() { after.strip_prefix('/').and_then(port) } else { None };
        let (own_port, target) = match after.trim_start_matches('.').strip_prefix(':') {
            Some(rest) => {
                let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
                // Without digits it is a path, as in a copy over ssh.
                (port(rest), if digits == 0 { rest.trim_start_matches(':') } else { &rest[digits..] })
            }
            None => (port_of_device, after),
        };
        let short = target.split(['(', ')', ']', ',', ';', '&']).next().unwrap_or_default();
        let shortest = short.trim_end_matches(['.', ':', '!', '?', '*']);
        // As in `git+https://host/owner/repository@branch`.
        let revision = target.split('@').next().unwrap_or_default();
        let mention = |target| UrlMention { scheme, port: own_port.or(separate_port), target };
        [target, short, shortest, revision].map(mention).into()
    }
}

/// Returns the positions of the words of a text, without dots at their ends.
fn words(text: &str, is_word_char: impl Fn(char) -> bool) -> impl Iterator<Item = (usize, usize)> {
    text.split(move |c: char| !is_word_char(c)).filter_map(|word| {
        let bare = word.trim_matches('.');
        let start = bare.as_ptr().addr() - text.as_ptr().addr();
        (!bare.is_empty()).then_some((start, start + bare.len()))
    })
}

fn numbers(text: &str) -> Vec<u16> {
    text.split_whitespace().filter_map(|word| word.parse().ok()).take(PORTS_MAX).collect()
}

fn port(text: &str) -> Option<u16> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    text[..digits].parse().ok()
}

/// Returns whether a word has a scheme or starts with a host.
fn is_url(word: &str) -> bool {
    let host = word.split(['/', '?', '#', ':']).next().unwrap_or_default();
    word.contains("://")
        || host.split_once('.').is_some_and(|(name, rest)| !name.is_empty() && !rest.is_empty())
}

/// Returns whether UTS 46 ignores or combines a character, or maps it to a dot.
fn is_ignored(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{300}'..='\u{36f}'
        | '\u{3002}' | '\u{ff0e}' | '\u{ff61}')
}

/// Returns whether a URL can start after this character.
fn starts_context(c: char) -> bool {
    ends_url(c) || matches!(c, '=' | ',' | ';' | '&' | '?' | '(')
}

/// Returns whether a character ends a URL in any kind of text.
fn ends_url(c: char) -> bool {
    c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '<' | '>' | '{' | '}' | '|' | '[' | '^' | '\u{7}')
}
