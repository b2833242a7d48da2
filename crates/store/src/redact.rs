//! Removes likely secrets from text for a judge or for a diagnostic file.
//!
//! The list of patterns is short and fixed, and guarantees nothing: a secret of another form stays in the text.

use std::borrow::Cow;

/// Prefixes of keys, each with the minimum length of the rest.
const KEYS: &[(&str, usize)] = &[
    ("sk-ant-", 1),
    ("sk-proj-", 16),
    ("sk_live_", 16),
    ("rk_live_", 16),
    ("github_pat_", 20),
    ("ghp_", 20),
    ("gho_", 20),
    ("ghs_", 20),
    ("ghu_", 20),
    ("glpat-", 16),
    ("xoxb-", 16),
    ("xoxp-", 16),
    ("hf_", 24),
    ("AKIA", 16),
    ("AIza", 30),
];
/// A shorter word after `Bearer` is not a token.
const TOKEN_CHARS_MIN: usize = 16;
const KEY: &str = "[a key was here]";
const TOKEN: &str = "Bearer [a token was here]";
const PRIVATE_KEY: &str = "[a private key was here]";

/// Returns the text without likely secrets.
pub fn redact(text: &str) -> String {
    let text = without_private_keys(text);
    let text = without_tokens(&text);
    KEYS.iter().fold(text, |text, (prefix, rest)| Cow::Owned(without_keys(&text, prefix, *rest))).into_owned()
}

fn without_private_keys(text: &str) -> Cow<'_, str> {
    const BEGIN: &str = "-----BEGIN ";
    let mut output = String::new();
    let mut rest = text;
    while let Some(offset) = rest.find(BEGIN) {
        let (before, block) = rest.split_at(offset);
        output.push_str(before);
        let title = block[BEGIN.len()..].split("-----").next().unwrap_or_default();
        if title.len() > 64 || !title.ends_with("PRIVATE KEY") {
            output.push_str(BEGIN);
            rest = &block[BEGIN.len()..];
            continue;
        }
        output.push_str(PRIVATE_KEY);
        // A truncated key has no end marker: all text after it may belong to it.
        let end = format!("-----END {title}-----");
        rest = block.split_once(&end).map_or("", |(_, after)| after);
    }
    if output.is_empty() { Cow::Borrowed(rest) } else { Cow::Owned(output + rest) }
}

fn without_tokens(text: &str) -> Cow<'_, str> {
    const WORD: &str = "bearer ";
    let lower = text.to_ascii_lowercase();
    let mut output = String::new();
    let mut copied = 0;
    while let Some(offset) = lower[copied..].find(WORD).map(|offset| copied + offset) {
        let after = offset + WORD.len();
        let length = token_len(&text[after..], "._~+/=-");
        if length < TOKEN_CHARS_MIN {
            output.push_str(&text[copied..after]);
            copied = after;
        } else {
            output.push_str(&text[copied..offset]);
            output.push_str(TOKEN);
            copied = after + length;
        }
    }
    if output.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(output + &text[copied..]) }
}

fn without_keys(text: &str, prefix: &str, rest_min: usize) -> String {
    let mut output = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(offset) = rest.find(prefix) {
        let (before, key) = rest.split_at(offset);
        output.push_str(before);
        let length = token_len(&key[prefix.len()..], "_-");
        let is_inside_word = before.chars().next_back().is_some_and(char::is_alphanumeric);
        if length < rest_min || is_inside_word {
            output.push_str(prefix);
            rest = &key[prefix.len()..];
        } else {
            output.push_str(KEY);
            rest = &key[prefix.len() + length..];
        }
    }
    output + rest
}

/// Returns the length in bytes of the prefix that consists of ASCII letters, digits and these characters.
fn token_len(text: &str, punctuation: &str) -> usize {
    let ends = text.find(|c: char| !c.is_ascii_alphanumeric() && !punctuation.contains(c));
    ends.unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::redact;

    #[test]
    fn removes_likely_secrets() {
        let check = |text: &str, expected: &str| assert_eq!(redact(text), expected);
        check("nothing", "nothing");
        check("", "");
        check("export K=sk-ant-api03-abc_DEF-123", "export K=[a key was here]");
        check(
            "\"sk-ant-api03-abcdefgh\", \"sk-ant-api03-ijklmnop\"",
            "\"[a key was here]\", \"[a key was here]\"",
        );
        check("keys begin with sk-ant- or ghp_", "keys begin with sk-ant- or ghp_");
        check("task-anticipation", "task-anticipation");
        check("x-api-key: sk-ant-api03-A_b-9.", "x-api-key: [a key was here].");
        check("sk-ant-1 sk-ant-2", "[a key was here] [a key was here]");
        check("ghp_0123456789abcdefghijABCDEFGHIJ", "[a key was here]");
        check(
            "curl -H 'Authorization: Bearer abc.DEF-123_456~789' x",
            "curl -H 'Authorization: Bearer [a token was here]' x",
        );
        check("authorization: bearer 0123456789abcdef", "authorization: Bearer [a token was here]");
        check("the bearer of bad news, Bearer tokens", "the bearer of bad news, Bearer tokens");
        check(
            "a\n-----BEGIN OPENSSH PRIVATE KEY-----\nb3Blb\n-----END OPENSSH PRIVATE KEY-----\nz",
            "a\n[a private key was here]\nz",
        );
        check("a -----BEGIN PRIVATE KEY-----\nMIIE", "a [a private key was here]");
        check("-----BEGIN CERTIFICATE-----\nMIIE", "-----BEGIN CERTIFICATE-----\nMIIE");
        check("ß Bearer ÄÖ sk-ant-ß", "ß Bearer ÄÖ sk-ant-ß");
    }
}
