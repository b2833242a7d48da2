//! Reads an answers file: one object of keys and answers, in JSON or in TOML.

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use std::fmt;

/// Reads the keys and answers of a file, including repeated keys in JSON. Errors state the position.
pub(super) fn read(text: &str) -> Result<Vec<(String, String)>, String> {
    // No TOML document starts like this.
    let pairs: Result<Pairs, String> = if text.trim_start().starts_with('{') {
        serde_json::from_str(text).map_err(|error| error.to_string())
    } else {
        toml::from_str(text).map_err(|error| error.to_string().trim_end().to_owned())
    };
    let pairs = pairs?.0.into_iter();
    pairs.map(|(key, answer)| answer.text(&key).map(|answer| (key, answer))).collect()
}

/// An object with repeated keys: a map would keep only the last of two answers.
struct Pairs(Vec<(String, AnswerValue)>);

#[derive(Deserialize)]
#[serde(untagged)]
enum AnswerValue {
    Text(String),
    Whole(i64),
    Number(f64),
    Choices(Vec<String>),
    Other(serde::de::IgnoredAny),
}

impl AnswerValue {
    fn text(self, key: &str) -> Result<String, String> {
        match self {
            AnswerValue::Text(text) => Ok(text),
            AnswerValue::Whole(number) => Ok(number.to_string()),
            AnswerValue::Number(number) => Ok(number.to_string()),
            AnswerValue::Choices(choices) => Ok(choices.join(", ")),
            AnswerValue::Other(_) => {
                Err(format!("the answer to `{key}` is neither a string, a number nor a list of strings"))
            }
        }
    }
}

impl<'de> Deserialize<'de> for Pairs {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct PairsVisitor;
        impl<'de> Visitor<'de> for PairsVisitor {
            type Value = Pairs;
            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("an object of keys and answers")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }
        input.deserialize_map(PairsVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn json_and_toml_are_equivalent() {
        let expected =
            [("Which database?", "SQLite"), ("depth", "3"), ("features", "Auth, Logs"), ("rate", "0.5")]
                .map(|(key, answer)| (key.to_owned(), answer.to_owned()));
        let check = |text: &str| {
            let mut found = read(text).expect("it can be read");
            // The TOML parser sorts the keys.
            found.sort();
            assert_eq!(found, expected, "{text}");
        };
        check(r#" {"Which database?": "SQLite", "depth": 3, "rate": 0.5, "features": ["Auth", "Logs"]}"#);
        check("\"Which database?\" = \"SQLite\"\ndepth = 3\nrate = 0.5\nfeatures = [\"Auth\", \"Logs\"]\n");
        assert_eq!(read(""), Ok(Vec::new()));
    }

    #[test]
    fn rejects_invalid_answers() {
        let check = |text: &str, expected: &str| {
            let error = read(text).expect_err("it is refused");
            assert!(error.contains(expected), "{text}: {error}");
        };
        check("- git: Yes", "TOML parse error at line 1");
        check("{\"git\": ", "EOF while parsing");
        check("git = true", "the answer to `git` is neither a string");
        check("{\"git\": null}", "the answer to `git` is neither a string");
        check("[git]\nmain = \"Yes\"", "the answer to `git` is neither a string");
        check("git = \"Yes\"\ngit = \"No\"", "duplicate key");
    }
}
