//! Removes likely secrets from text for a judge or for a diagnostic file.
//!
//! The list of patterns is short and fixed, and guarantees nothing: a secret of another form stays in the text.

use regex::Regex;
use std::sync::LazyLock;

/// Keys of APIs, each with the minimum length after its prefix. A key does not start inside a word.
const KEYS: &str = r"(?x)
    (^|[^\p{Alphabetic}\p{N}])
    (
        sk-ant-[A-Za-z0-9_-]+
        | (sk-proj-|sk_live_|rk_live_|glpat-|xox[bp]-|AKIA)[A-Za-z0-9_-]{16,}
        | (github_pat_|gh[posu]_)[A-Za-z0-9_-]{20,}
        | hf_[A-Za-z0-9_-]{24,}
        | AIza[A-Za-z0-9_-]{30,}
    )";
/// A shorter word after `Bearer` is not a token.
const TOKENS: &str = r"(?i)bearer\ [a-z0-9._~+/=-]{16,}";
/// A truncated key has no end marker: all text after it may belong to it.
const PRIVATE_KEYS: &str =
    r"(?s)-----BEGIN [^-]{0,53}PRIVATE KEY-----.*?(-----END [^-]{0,53}PRIVATE KEY-----|\z)";

static SECRETS: LazyLock<[(Regex, &str); 3]> = LazyLock::new(|| {
    [
        (PRIVATE_KEYS, "[a private key was here]"),
        (TOKENS, "Bearer [a token was here]"),
        (KEYS, "${1}[a key was here]"),
    ]
    .map(|(pattern, text)| (Regex::new(pattern).expect("the pattern is valid"), text))
});

/// Returns the text without likely secrets.
pub fn redact(text: &str) -> String {
    SECRETS.iter().fold(text.to_owned(), |text, (pattern, replacement)| {
        pattern.replace_all(&text, *replacement).into_owned()
    })
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
