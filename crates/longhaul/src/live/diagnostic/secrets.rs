//! Removes secrets from texts: the values of variables that are named like a secret, and likely keys. An
//! agent's stderr may contain either.

use crate::Environment;
use longhaul_store::redact;
use std::env;

// A shorter value is a switch. Hiding it would break up ordinary words.
const CHARS_MIN: usize = 6;
const NAME_PARTS: [&str; 6] = ["KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL", "AUTH"];

pub(super) struct Secrets {
    /// Names and values, the longest value first, because one may contain another.
    values: Vec<(String, String)>,
}

impl Secrets {
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
        let values = self.values.iter();
        redact(&values.fold(text.to_owned(), |text, (name, value)| text.replace(value, &format!("[{name}]"))))
    }
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
        check("x-api-key: sk-ant-api03-A_b-9.", "x-api-key: [a key was here].");
        check("", "");
    }
}
