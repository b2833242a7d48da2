//! Answers the agent's questions without a person: with the answers that the user prepared, or else with the
//! first option. An answer depends only on its question.

mod file;

use longhaul_core::AnsweredQuestion;
use std::cmp::Reverse;
use std::collections::BTreeMap;

// The agent's own instructions make it mark the recommended option with this suffix (Claude Code 2.1.330).
const RECOMMENDED: &str = "(recommended)";

/// Prepared answers by keywords of their questions. Without any, every question gets its default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answers {
    by_key: BTreeMap<String, String>,
}

/// A question of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question<'a> {
    /// The text of the question.
    pub text: &'a str,
    /// The options, best first. Empty for a question that takes free text.
    pub labels: Vec<&'a str>,
    /// Whether several options may be chosen.
    pub is_multiple: bool,
}

/// Prepared answers that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnswersError {
    /// An answer without a key, which would match every question.
    #[error("the answer `{0}` has no key")]
    NoKey(String),
    /// Not a valid answers file.
    #[error("{0}")]
    Unreadable(String),
    /// Two answers for the same key. Keys are case-insensitive.
    #[error("the key `{key}` has two answers, `{one}` and `{other}`")]
    Contradiction {
        /// The key.
        key: String,
        /// The first answer.
        one: String,
        /// The second answer.
        other: String,
    },
}

impl Answers {
    /// Creates answers from pairs of key and answer.
    pub fn new(pairs: impl IntoIterator<Item = (String, String)>) -> Result<Answers, AnswersError> {
        let mut by_key: BTreeMap<String, String> = BTreeMap::new();
        for (key, answer) in pairs {
            let (key, answer) = (key.trim().to_owned(), answer.trim().to_owned());
            if key.is_empty() {
                return Err(AnswersError::NoKey(answer));
            }
            let duplicate = by_key.iter().find(|(existing, _)| is_same(existing, &key));
            if let Some((_, one)) = duplicate.filter(|(_, one)| **one != answer) {
                return Err(AnswersError::Contradiction { key, one: one.clone(), other: answer });
            }
            by_key.insert(key, answer);
        }
        Ok(Answers { by_key })
    }

    /// Parses an answers file: one object of keys and answers, in JSON or in TOML. A list of strings chooses
    /// all of them.
    pub fn parse(text: &str) -> Result<Answers, AnswersError> {
        Answers::new(file::read(text).map_err(AnswersError::Unreadable)?)
    }

    /// Adds the answers of `others` for keys that are not set here.
    #[must_use]
    pub fn or_else(mut self, others: Answers) -> Answers {
        for (key, answer) in others.by_key {
            if !self.by_key.keys().any(|existing| is_same(existing, &key)) {
                self.by_key.insert(key, answer);
            }
        }
        self
    }

    /// Returns the answers as written, by key.
    pub fn entries(&self) -> &BTreeMap<String, String> {
        &self.by_key
    }

    /// Returns the answer to a question. A key that equals the question comes first, then the longest key
    /// within it, as the most specific one. Otherwise it is the first option, or empty.
    pub fn answer(&self, question: &Question<'_>) -> AnsweredQuestion {
        let (answer, key) = match self.find(question.text) {
            Some((key, answer)) => (resolve_labels(answer, question), Some(key.to_owned())),
            None => (question.labels.first().copied().unwrap_or_default().to_owned(), None),
        };
        AnsweredQuestion { question: question.text.to_owned(), answer, key }
    }

    fn find(&self, text: &str) -> Option<(&str, &str)> {
        if let Some((key, answer)) = self.by_key.get_key_value(text.trim()) {
            return Some((key, answer));
        }
        let text = text.to_lowercase();
        let matches = self.by_key.iter().filter(|(key, _)| text.contains(&key.to_lowercase()));
        // Of two keys of equal length the alphabetically first one, so that decoding the stream again gives
        // the same answer.
        let (key, answer) = matches.max_by_key(|(key, _)| (key.chars().count(), Reverse(*key)))?;
        Some((key, answer))
    }
}

/// Maps a user's answer to the option labels where they match. Other text is passed on unchanged.
fn resolve_labels(answer: &str, question: &Question<'_>) -> String {
    let label = |text: &str| find_label(text, &question.labels).unwrap_or(text).to_owned();
    // A label may hold a comma itself.
    if !question.is_multiple || find_label(answer, &question.labels).is_some() {
        return label(answer);
    }
    let parts = answer.split(',').map(str::trim).filter(|part| !part.is_empty());
    parts.map(label).collect::<Vec<_>>().join(", ")
}

fn find_label<'a>(text: &str, labels: &[&'a str]) -> Option<&'a str> {
    let mut whole = labels.iter().filter(|label| is_same(label, text));
    let mut without_marker = labels.iter().filter(|label| is_same(without_marker(label), text));
    whole.next().or_else(|| without_marker.next()).copied()
}

/// Removes the marker of the recommended option from a label.
fn without_marker(label: &str) -> &str {
    let start = label.len().checked_sub(RECOMMENDED.len()).filter(|start| label.is_char_boundary(*start));
    match start.map(|start| label.split_at(start)) {
        Some((plain, marker)) if marker.eq_ignore_ascii_case(RECOMMENDED) => plain.trim_end(),
        Some(_) | None => label,
    }
}

fn is_same(one: &str, other: &str) -> bool {
    one.to_lowercase() == other.to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::{Answers, AnswersError, Question};

    const DATABASE: Question<'static> =
        Question { text: "Which database should we use?", labels: Vec::new(), is_multiple: false };

    fn answers(pairs: &[(&str, &str)]) -> Result<Answers, AnswersError> {
        Answers::new(pairs.iter().map(|(key, answer)| ((*key).to_owned(), (*answer).to_owned())))
    }

    fn check(pairs: &[(&str, &str)], question: &Question<'_>, expected: (&str, Option<&str>)) {
        let found = answers(pairs).expect("the answers agree").answer(question);
        assert_eq!((found.answer.as_str(), found.key.as_deref()), expected, "{pairs:?} {question:?}");
    }

    #[test]
    fn most_specific_key_answers() {
        let question = Question { labels: vec!["Postgres", "SQLite"], ..DATABASE };
        let exact = "Which database should we use?";
        check(&[(exact, "SQLite"), ("database", "Postgres")], &question, ("SQLite", Some(exact)));
        check(&[("DATABASE", "SQLite")], &question, ("SQLite", Some("DATABASE")));
        check(
            &[("base", "Postgres"), ("which database", "SQLite")],
            &question,
            ("SQLite", Some("which database")),
        );
        check(&[("should", "SQLite"), ("databa", "Postgres")], &question, ("Postgres", Some("databa")));
        check(
            &[("größe", "1")],
            &Question { text: "Welche GRÖSSE, welche GRÖßE?", ..DATABASE },
            ("1", Some("größe")),
        );
        // The key is in the question, not the question in the key.
        check(&[("Which database should we use? Say it!", "SQLite")], &question, ("Postgres", None));
    }

    #[test]
    fn unanswered_question_gets_default() {
        check(
            &[],
            &Question { labels: vec!["Postgres (Recommended)", "SQLite"], ..DATABASE },
            ("Postgres (Recommended)", None),
        );
        check(&[("git", "Yes")], &DATABASE, ("", None));
        // An empty answer counts too.
        check(
            &[("database", "")],
            &Question { labels: vec!["Postgres"], ..DATABASE },
            ("", Some("database")),
        );
    }

    #[test]
    fn answers_map_to_option_labels() {
        let maps = |answer: &str, labels: &[&'static str], is_multiple: bool, expected: &str| {
            let question = Question { labels: labels.to_vec(), is_multiple, ..DATABASE };
            check(&[("database", answer)], &question, (expected, Some("database")));
        };
        maps("sqlite", &["Postgres", "SQLite"], false, "SQLite");
        maps("postgres", &["Postgres (Recommended)", "SQLite"], false, "Postgres (Recommended)");
        maps("postgres", &["Postgres (Recommended)", "postgres"], false, "postgres");
        maps("MySQL, but only here", &["Postgres", "SQLite"], false, "MySQL, but only here");
        maps("auth,LOGS", &["Auth", "Cache", "Logs"], true, "Auth, Logs");
        maps("auth, metrics,", &["Auth", "Cache"], true, "Auth, metrics");
        maps("both, please", &["Both, please", "None"], true, "Both, please");
        maps("auth,logs", &["Auth", "Logs"], false, "auth,logs");
        maps("é", &["É", "e"], false, "É");
    }

    #[test]
    fn rejects_contradictions() {
        let two = |one: &str, other: &str| answers(&[("git", one), ("Git", other)]).map(drop);
        assert_eq!(two("Yes", "Yes"), Ok(()));
        let contradiction =
            AnswersError::Contradiction { key: "Git".into(), one: "Yes".into(), other: "No".into() };
        assert_eq!(two("Yes", "No"), Err(contradiction));
        assert_eq!(answers(&[(" ", "Yes")]).map(drop), Err(AnswersError::NoKey("Yes".into())));
    }

    #[test]
    fn flags_override_file() {
        let (flags, file) = (answers(&[("Git", "No")]), answers(&[("git", "Yes"), ("depth", "3")]));
        let both = flags.expect("they agree").or_else(file.expect("they agree"));
        assert_eq!(both, answers(&[("Git", "No"), ("depth", "3")]).expect("they agree"));
    }
}
