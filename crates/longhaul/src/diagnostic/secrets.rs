//! Removes secrets from texts. It removes the values of variables that are named like a secret, and
//! everything with the prefix of an API key. An agent's stderr may contain either.

use crate::Environment;
use std::env;

// A shorter value is a switch. Hiding it would break up ordinary words.
const CHARS_MIN: usize = 6;
/// Parts of the names of secrets.
const NAME_PARTS: [&str; 6] = ["KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL", "AUTH"];
/// Prefixes of keys.
const KEY_PREFIXES: [&str; 3] = ["sk-ant-", "ghp_", "github_pat_"];

/// The secrets to hide in a text.
pub(super) struct Secrets {
    /// Names and values, the longest value first, because one may contain another.
    values: Vec<(String, String)>,
}

impl Secrets {
    /// Collects the secrets of an agent's environment.
    pub(super) fn new(environment: &Environment) -> Secrets {
        let inherited = env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
        Secrets::from_variables(inherited.chain(environment.set.clone()))
    }

    fn from_variables(variables: impl Iterator<Item = (String, String)>) -> Secrets {
        let is_secret = |name: &str| NAME_PARTS.iter().any(|part| name.to_ascii_uppercase().contains(part));
        let mut values: Vec<_> =
            variables.filter(|(name, value)| is_secret(name) && value.chars().count() >= CHARS_MIN).collect();
        values.sort_by_key(|(_, value)| std::cmp::Reverse(value.len()));
        Secrets { values }
    }

    /// Returns the text with each secret replaced by its name.
    pub(super) fn redact(&self, text: &str) -> String {
        let redacted = self
            .values
            .iter()
            .fold(text.to_owned(), |text, (name, value)| text.replace(value.as_str(), &format!("[{name}]")));
        KEY_PREFIXES.iter().fold(redacted, |text, prefix| redact_keys(&text, prefix))
    }
}

/// Replaces each key with this prefix.
fn redact_keys(text: &str, prefix: &str) -> String {
    let mut parts = text.split(prefix);
    let mut redacted = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || "-_".contains(c));
        redacted.push_str("[a key]");
        redacted.push_str(rest);
    }
    redacted
}

#[cfg(test)]
mod tests {
    use super::Secrets;

    #[test]
    fn hides_secrets() {
        let variables = [
            ("ANTHROPIC_API_KEY", "abc-def-ghi"),
            ("PROXY_AUTH", "abc-def-ghi-jkl"),
            ("HOME", "/home/user"),
            ("TOKEN_COUNT", "12"),
        ];
        let secrets = Secrets::from_variables(
            variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())),
        );
        let check = |text: &str, expected: &str| assert_eq!(secrets.redact(text), expected);
        check("key abc-def-ghi, abc-def-ghi-jkl", "key [ANTHROPIC_API_KEY], [PROXY_AUTH]");
        check("in /home/user, 12 times", "in /home/user, 12 times");
        check("x-api-key: sk-ant-api03-A_b-9.", "x-api-key: [a key].");
        check("sk-ant-1 sk-ant-2", "[a key] [a key]");
        check("", "");
    }
}
