//! Keeps secrets out of texts: values of the environment that are named like secrets, and what looks like a key of an
//! API. What an agent prints on its standard error may hold either.

use crate::Environment;
use std::env;

// A value this short is a switch; hidden, it would tear holes in words.
const CHARS_MIN: usize = 6;
/// How the names of secrets end, or what is in them.
const NAMED: [&str; 6] = ["KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL", "AUTH"];
/// How keys begin, whoever has them.
const KEYS: [&str; 3] = ["sk-ant-", "ghp_", "github_pat_"];

/// What must not be in a text.
pub(super) struct Secrets {
    /// Names and values, the longest value first: one may be a part of another.
    values: Vec<(String, String)>,
}

impl Secrets {
    /// Those that an agent is started with.
    pub(super) fn new(environment: &Environment) -> Secrets {
        let ours = env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
        Secrets::among(ours.chain(environment.set.clone()))
    }

    fn among(variables: impl Iterator<Item = (String, String)>) -> Secrets {
        let is_secret = |name: &str| NAMED.iter().any(|part| name.to_ascii_uppercase().contains(part));
        let mut values: Vec<_> =
            variables.filter(|(name, value)| is_secret(name) && value.chars().count() >= CHARS_MIN).collect();
        values.sort_by_key(|(_, value)| std::cmp::Reverse(value.len()));
        Secrets { values }
    }

    /// The text with names in the places of secrets.
    pub(super) fn hidden_in(&self, text: &str) -> String {
        let named = self
            .values
            .iter()
            .fold(text.to_owned(), |text, (name, value)| text.replace(value.as_str(), &format!("[{name}]")));
        KEYS.iter().fold(named, |text, begin| without_keys(&text, begin))
    }
}

/// The text without what begins like a key and goes on as one.
fn without_keys(text: &str, begin: &str) -> String {
    let mut parts = text.split(begin);
    let mut kept = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest =
            part.trim_start_matches(|letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter));
        kept.push_str("[a key]");
        kept.push_str(rest);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::Secrets;

    #[test]
    fn secrets_are_hidden() {
        let variables = [
            ("ANTHROPIC_API_KEY", "abc-def-ghi"),
            ("PROXY_AUTH", "abc-def-ghi-jkl"),
            ("HOME", "/home/somebody"),
            ("TOKEN_COUNT", "12"),
        ];
        let secrets =
            Secrets::among(variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        let check = |text: &str, expected: &str| assert_eq!(secrets.hidden_in(text), expected);
        check("key abc-def-ghi, abc-def-ghi-jkl", "key [ANTHROPIC_API_KEY], [PROXY_AUTH]");
        check("in /home/somebody, 12 times", "in /home/somebody, 12 times");
        check("x-api-key: sk-ant-api03-A_b-9.", "x-api-key: [a key].");
        check("sk-ant-1 sk-ant-2", "[a key] [a key]");
        check("", "");
    }
}
