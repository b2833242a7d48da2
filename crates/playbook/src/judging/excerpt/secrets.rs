//! What looks like a secret is left out of what a judge sees. The list is short and closed, and no guarantee: a secret in a
//! form that it does not know is told, as it was told to the model that wrote it down.

use std::borrow::Cow;

/// What keys begin with that say themselves what they are, and how much follows at the least.
const KEYS: &[(&str, usize)] = &[
    ("sk-ant-", 8),
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
/// A shorter word after `Bearer` is a word.
const TOKEN_CHARS_MIN: usize = 16;
const KEY: &str = "[a key was here]";
const TOKEN: &str = "Bearer [a token was here]";
const PRIVATE_KEY: &str = "[a private key was here]";

/// The text without what looks like a secret.
pub(super) fn without(text: &str) -> String {
    let text = without_private_keys(text);
    let text = without_tokens(&text);
    KEYS.iter().fold(text, |text, (prefix, rest)| Cow::Owned(without_keys(&text, prefix, *rest))).into_owned()
}

fn without_private_keys(text: &str) -> Cow<'_, str> {
    const BEGIN: &str = "-----BEGIN ";
    let mut told = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(BEGIN) {
        let (before, block) = rest.split_at(at);
        told.push_str(before);
        let title = block[BEGIN.len()..].split("-----").next().unwrap_or_default();
        if title.len() > 64 || !title.ends_with("PRIVATE KEY") {
            told.push_str(BEGIN);
            rest = &block[BEGIN.len()..];
            continue;
        }
        told.push_str(PRIVATE_KEY);
        // One that was cut has no end: all that follows may be a part of it.
        let end = format!("-----END {title}-----");
        rest = block.split_once(&end).map_or("", |(_, after)| after);
    }
    if told.is_empty() { Cow::Borrowed(rest) } else { Cow::Owned(told + rest) }
}

fn without_tokens(text: &str) -> Cow<'_, str> {
    const WORD: &str = "bearer ";
    let lower = text.to_ascii_lowercase();
    let mut told = String::new();
    let mut from = 0;
    while let Some(at) = lower[from..].find(WORD).map(|at| from + at) {
        let after = at + WORD.len();
        let length = run(&text[after..], "._~+/=-");
        if length < TOKEN_CHARS_MIN {
            told.push_str(&text[from..after]);
            from = after;
        } else {
            told.push_str(&text[from..at]);
            told.push_str(TOKEN);
            from = after + length;
        }
    }
    if told.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(told + &text[from..]) }
}

fn without_keys(text: &str, prefix: &str, rest_min: usize) -> String {
    let mut told = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(prefix) {
        let (before, key) = rest.split_at(at);
        told.push_str(before);
        let length = run(&key[prefix.len()..], "_-");
        let within_a_word = before.chars().next_back().is_some_and(char::is_alphanumeric);
        if length < rest_min || within_a_word {
            told.push_str(prefix);
            rest = &key[prefix.len()..];
        } else {
            told.push_str(KEY);
            rest = &key[prefix.len() + length..];
        }
    }
    told + rest
}

/// How many bytes of ASCII letters, digits and these signs a text begins with.
fn run(text: &str, signs: &str) -> usize {
    let ends = text.find(|sign: char| !sign.is_ascii_alphanumeric() && !signs.contains(sign));
    ends.unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::without;

    #[test]
    fn what_looks_like_a_secret() {
        let check = |text: &str, expected: &str| assert_eq!(without(text), expected);
        check("nothing", "nothing");
        check("", "");
        check("export K=sk-ant-api03-abc_DEF-123", "export K=[a key was here]");
        check(
            "\"sk-ant-api03-abcdefgh\", \"sk-ant-api03-ijklmnop\"",
            "\"[a key was here]\", \"[a key was here]\"",
        );
        check("keys begin with sk-ant- or ghp_", "keys begin with sk-ant- or ghp_");
        check("task-anticipation", "task-anticipation");
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
