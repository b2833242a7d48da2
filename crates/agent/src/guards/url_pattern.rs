//! URL patterns of guards, as a user writes them: `[scheme://]host[:port][/path][?query]`.

use super::host::{ipv4, ipv6, name};
use super::paths::resolve_parts;
use crate::pattern::matches;
use percent_encoding::percent_decode_str;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

// A longer text is a mistake, such as a whole file.
const PATTERN_BYTES_MAX: usize = 1024;
// A shorter pattern would match almost any URL.
const WHOLE_CHARS_MIN: usize = 4;

/// A pattern that blocks a host or a part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UrlPattern {
    text: String,
    /// `None` for any web scheme, because they serve the same content.
    scheme: Option<String>,
    pub(super) host: Host,
    port: Option<u16>,
    /// The path without a slash at its end. Empty matches every path.
    path: String,
    /// Patterns that the query must all match.
    query: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Host {
    /// A name with its subdomains, or only the subdomains.
    Name {
        name: String,
        only_below: bool,
    },
    Address(IpAddr),
    /// Any host: the pattern applies to the whole URL as written.
    Any(String),
}

/// A URL within a text, in lower case. Its host already matches the pattern.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct UrlMention<'a> {
    pub(super) scheme: Option<&'a str>,
    pub(super) port: Option<u16>,
    /// Path and query as written.
    pub(super) target: &'a str,
}

/// An invalid URL pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UrlPatternError {
    /// The pattern is empty.
    #[error("an empty pattern blocks no URL; name a host, as in `example.com`")]
    Empty,
    /// The pattern has no host, or one that matches all hosts.
    #[error("`{0}` names no host; name one, as in `example.com` or `https://example.com/papers/*`")]
    NoHost(String),
    /// The host is invalid.
    #[error(
        "`{host}` in `{pattern}` is not a host; write it as in `example.com`, `*.example.com` or `192.0.2.1`"
    )]
    Host {
        /// The text in place of the host.
        host: String,
        /// The whole pattern.
        pattern: String,
    },
    /// The port is invalid.
    #[error("`{0}` names no port from 1 to 65535 after its host")]
    Port(String),
    /// The pattern contains spaces.
    #[error("`{0}` has spaces in it; each pattern is one URL, and a space in it is `%20`")]
    Spaces(String),
    /// The pattern is longer than any plausible URL.
    #[error("a pattern of more than {PATTERN_BYTES_MAX} bytes is not a URL")]
    Long,
    /// The pattern is an address range.
    #[error("`{0}` is a range of addresses; name single ones, or a host with a path")]
    Range(String),
}

impl FromStr for UrlPattern {
    type Err = UrlPatternError;

    fn from_str(text: &str) -> Result<UrlPattern, UrlPatternError> {
        let text = text.trim();
        let owned = || text.to_owned();
        if text.is_empty() {
            return Err(UrlPatternError::Empty);
        } else if text.len() > PATTERN_BYTES_MAX {
            return Err(UrlPatternError::Long);
        } else if text.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return Err(UrlPatternError::Spaces(owned()));
        }
        let folded = text.to_lowercase();
        if let Some(host) = parse_whole_url(&folded) {
            let (scheme, port, path, query) = (None, None, String::new(), Vec::new());
            return Ok(UrlPattern { text: owned(), scheme, host, port, path, query });
        }
        let (scheme, rest) = match folded.split_once("://") {
            Some((scheme, rest)) => (Some(scheme), rest),
            None => (None, folded.as_str()),
        };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, target) = rest.split_at(end);
        // A user name before the host is ignored.
        let authority = authority.rsplit('@').next().unwrap_or_default();
        let (host, port) = split_port(authority).ok_or_else(|| UrlPatternError::Port(owned()))?;
        let host = match parse_host(host) {
            Some(host) => host,
            None if host.trim_matches(['*', '.', '[', ']']).is_empty() => {
                return Err(UrlPatternError::NoHost(owned()));
            }
            None => return Err(UrlPatternError::Host { host: host.to_owned(), pattern: owned() }),
        };
        let is_length = |length: &str| !length.is_empty() && length.bytes().all(|byte| byte.is_ascii_digit());
        let range = target.strip_prefix('/').is_some_and(|length| length.len() < 4 && is_length(length));
        if scheme.is_none() && range && matches!(host, Host::Address(_)) {
            return Err(UrlPatternError::Range(owned()));
        }
        let (path, query) = split_target(target);
        Ok(UrlPattern {
            text: owned(),
            scheme: scheme.filter(|scheme| !is_web(scheme)).map(str::to_owned),
            host,
            port,
            path: path_pattern(&decode(path)),
            query: pairs(&decode(query)).map(str::to_owned).collect(),
        })
    }
}

impl UrlPattern {
    /// Returns whether the pattern blocks a URL on its host.
    pub(super) fn blocks(&self, mention: &UrlMention<'_>) -> bool {
        self.scheme.as_ref().is_none_or(|scheme| mention.scheme == Some(scheme))
            && self.port.is_none_or(|port| mention.has_port(port))
            && self.blocks_target(mention.target)
    }

    pub(super) fn port(&self) -> Option<u16> {
        self.port
    }

    /// Returns whether every URL of the host is blocked.
    pub(super) fn is_whole(&self) -> bool {
        self.scheme.is_none() && self.port.is_none() && self.path.is_empty() && self.query.is_empty()
    }

    /// Returns the host if it is blocked as a whole, so that a search can exclude it.
    pub(super) fn as_whole_host(&self) -> Option<&str> {
        match &self.host {
            Host::Name { name, only_below: false } if self.is_whole() => Some(name),
            Host::Name { .. } | Host::Address(_) | Host::Any(_) => None,
        }
    }

    /// Returns whether the pattern applies to whole URLs and matches this one.
    pub(super) fn matches_whole(&self, url: &str) -> bool {
        match &self.host {
            // `git@host:path` is equivalent.
            Host::Any(pattern) => {
                let over_ssh = || !url.contains("://") && matches(pattern, &url.replacen(':', "/", 1));
                matches(pattern, url) || over_ssh()
            }
            Host::Name { .. } | Host::Address(_) => false,
        }
    }

    fn blocks_target(&self, target: &str) -> bool {
        if self.path.is_empty() && self.query.is_empty() {
            return true;
        }
        let (path, query) = split_target(target);
        let fits_path = |path: &str| {
            let path = path.strip_suffix(".git").unwrap_or(path);
            // A pattern with a query blocks one page, not the paths below it.
            matches(&self.path, path)
                || (self.query.is_empty() && matches(&format!("{}/*", self.path), path))
                || (!self.query.is_empty() && self.path.is_empty())
        };
        let fits_query = self.query.iter().all(|pattern| pairs(query).any(|pair| matches(pattern, pair)));
        fits_query && fits_path(&resolve_path(path))
    }
}

impl fmt::Display for UrlPattern {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)
    }
}

impl UrlMention<'_> {
    fn has_port(&self, port: u16) -> bool {
        match (self.port, self.scheme) {
            (Some(own_port), _) => own_port == port,
            (None, Some("http" | "ws")) => port == 80,
            (None, Some("https" | "wss")) => port == 443,
            (None, Some("ftp")) => port == 21,
            (None, Some("ssh" | "sftp")) => port == 22,
            // Without a scheme a client uses either port.
            (None, Some(_) | None) => matches!(port, 80 | 443),
        }
    }
}

/// Returns whether a scheme serves the same content as the other web schemes.
pub(super) fn is_web(scheme: &str) -> bool {
    matches!(scheme, "http" | "https" | "ws" | "wss")
}

/// Parses a pattern for whole URLs such as `*2401.00001*`: it starts with a star and does not name a host.
fn parse_whole_url(text: &str) -> Option<Host> {
    let is_below_host = || {
        let host = text.split(['/', '?', '#', ':']).next().unwrap_or_default();
        parse_host(host).is_some()
    };
    let char_count = text.chars().filter(|c| c.is_alphanumeric()).count();
    let is_whole = text.starts_with('*') && char_count >= WHOLE_CHARS_MIN && !is_below_host();
    is_whole.then(|| Host::Any(text.to_owned()))
}

fn split_port(authority: &str) -> Option<(&str, Option<u16>)> {
    let inside_brackets = authority.rfind(']').unwrap_or_default();
    match authority.rfind(':').filter(|index| *index >= inside_brackets) {
        // An address without brackets.
        Some(_) if !authority.starts_with('[') && authority.matches(':').count() > 1 => {
            Some((authority, None))
        }
        Some(index) => {
            let port = authority[index + 1..].parse().ok().filter(|port| *port > 0)?;
            Some((&authority[..index], Some(port)))
        }
        None => Some((authority, None)),
    }
}

fn parse_host(text: &str) -> Option<Host> {
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    if let Some(address) = ipv4(bare).or_else(|| ipv6(bare)) {
        return Some(Host::Address(address));
    }
    let (only_below, text) = match text.strip_prefix("*.") {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let name = name(text);
    let is_label = |label: &str| {
        let is_label_char = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
        !label.is_empty() && label.chars().all(is_label_char)
    };
    // Digits alone are an incomplete address.
    let is_number =
        name.rsplit('.').next().is_some_and(|label| label.bytes().all(|byte| byte.is_ascii_digit()));
    let is_name = !is_number && name.split('.').all(is_label);
    is_name.then(|| Host::Name { name: name.into_owned(), only_below })
}

/// Splits path and query. The part after `#` is ignored.
fn split_target(target: &str) -> (&str, &str) {
    let target = target.split('#').next().unwrap_or_default();
    target.split_once('?').unwrap_or((target, ""))
}

fn pairs(query: &str) -> impl Iterator<Item = &str> {
    query.split(['&', ';']).filter(|pair| !pair.is_empty())
}

/// Normalizes `/papers/*`, `/papers/` and `/papers`, which are equivalent: all block the paths below.
fn path_pattern(path: &str) -> String {
    let resolved = resolve_path(path);
    let mut path = resolved.as_str();
    while let Some(shorter) = path.strip_suffix("/*").or_else(|| path.strip_suffix('/')) {
        path = shorter;
    }
    path.strip_suffix(".git").unwrap_or(path).to_owned()
}

/// Resolves dots, double slashes and backslashes in a path.
fn resolve_path(path: &str) -> String {
    resolve_parts(path.split(['/', '\\'])).iter().flat_map(|part| ["/", part]).collect()
}

fn decode(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().to_lowercase()
}

#[cfg(test)]
mod tests;
