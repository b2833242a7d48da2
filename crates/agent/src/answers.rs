//! How an agent's questions are answered where nobody is there to be asked: by what a user wrote down before, and
//! else by the first thing that the agent offers. An answer is a matter of the question alone.

mod file;

use std::collections::BTreeMap;

// What agents put behind the label that they favour, by their own instructions (Claude Code 2.1.330).
const FAVOURED: &str = "(recommended)";

/// What a user answers, by what the questions are about. Without any, every question has its default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answers {
    by_key: BTreeMap<String, String>,
}

/// A question of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question<'a> {
    /// What is asked.
    pub text: &'a str,
    /// What it offers, best first; nothing where any text will do.
    pub labels: Vec<&'a str>,
    /// Whether more than one of them may be chosen.
    pub is_multiple: bool,
}

/// A question that was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenAnswer {
    /// What was asked.
    pub question: String,
    /// What was said; empty for nothing.
    pub answer: String,
    /// The key that fitted; nothing if none did, and the default was taken.
    pub key: Option<String>,
}

/// Answers that contradict each other, answer anything, or cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnswersError {
    /// It would fit every question.
    #[error("the answer `{0}` has no key")]
    NoKey(String),
    /// It is no text of answers.
    #[error("{0}")]
    Unreadable(String),
    /// Keys are compared without regard to case.
    #[error("the key `{key}` has two answers, `{one}` and `{other}`")]
    Contradiction {
        /// The key.
        key: String,
        /// The answer that came first.
        one: String,
        /// The one that came later.
        other: String,
    },
}

impl Answers {
    /// Answers by their keys.
    ///
    /// # Errors
    /// If a key is empty, or has two answers.
    pub fn new(pairs: impl IntoIterator<Item = (String, String)>) -> Result<Answers, AnswersError> {
        let mut by_key: BTreeMap<String, String> = BTreeMap::new();
        for (key, answer) in pairs {
            let (key, answer) = (key.trim().to_owned(), answer.trim().to_owned());
            if key.is_empty() {
                return Err(AnswersError::NoKey(answer));
            }
            let same = by_key.iter().find(|(known, _)| is_same(known, &key));
            if let Some((_, one)) = same.filter(|(_, one)| **one != answer) {
                return Err(AnswersError::Contradiction { key, one: one.clone(), other: answer });
            }
            by_key.insert(key, answer);
        }
        Ok(Answers { by_key })
    }

    /// Answers as they are written into a file: one object of keys and answers, in JSON or in TOML. A list of texts
    /// chooses all of them.
    ///
    /// # Errors
    /// If it is neither, an answer is no text, number or list of texts, or as for [`Answers::new`].
    pub fn parse(text: &str) -> Result<Answers, AnswersError> {
        Answers::new(file::read(text).map_err(AnswersError::Unreadable)?)
    }

    /// These, with what `others` say about other keys.
    #[must_use]
    pub fn or_else(mut self, others: Answers) -> Answers {
        for (key, answer) in others.by_key {
            if !self.by_key.keys().any(|known| is_same(known, &key)) {
                self.by_key.insert(key, answer);
            }
        }
        self
    }

    /// As they were written.
    pub fn entries(&self) -> &BTreeMap<String, String> {
        &self.by_key
    }

    /// The answer to a question: of the key that is the question; else of the longest that occurs in it, because it
    /// says most about what is asked; else the first of what is offered, or nothing.
    pub fn answer(&self, question: &Question<'_>) -> GivenAnswer {
        let (answer, key) = match self.find(question.text) {
            Some((key, answer)) => (chosen(answer, question), Some(key.to_owned())),
            None => (question.labels.first().copied().unwrap_or_default().to_owned(), None),
        };
        GivenAnswer { question: question.text.to_owned(), answer, key }
    }

    fn find(&self, text: &str) -> Option<(&str, &str)> {
        if let Some((key, answer)) = self.by_key.get_key_value(text.trim()) {
            return Some((key, answer));
        }
        let text = text.to_lowercase();
        let mut fitting = self.by_key.iter().filter(|(key, _)| text.contains(&key.to_lowercase()));
        // Of two that are equally long the first in the alphabet: who reads the stream again finds the same one.
        let first = fitting.next()?;
        let longest = fitting.fold(first, |longest, next| {
            if next.0.chars().count() > longest.0.chars().count() { next } else { longest }
        });
        Some((longest.0, longest.1))
    }
}

/// A user's answer in the agent's words, as far as it has any: what it offers is known by its labels. Other words are
/// passed on as they are.
fn chosen(answer: &str, question: &Question<'_>) -> String {
    let label = |words: &str| label_of(words, &question.labels).unwrap_or(words).to_owned();
    // A label may hold a comma itself.
    if !question.is_multiple || label_of(answer, &question.labels).is_some() {
        return label(answer);
    }
    let parts = answer.split(',').map(str::trim).filter(|part| !part.is_empty());
    parts.map(label).collect::<Vec<_>>().join(", ")
}

fn label_of<'a>(words: &str, labels: &[&'a str]) -> Option<&'a str> {
    let mut whole = labels.iter().filter(|label| is_same(label, words));
    let mut plain = labels.iter().filter(|label| is_same(plain(label), words));
    whole.next().or_else(|| plain.next()).copied()
}

/// A label without the mark of the one that the agent favours.
fn plain(label: &str) -> &str {
    let start = label.len().checked_sub(FAVOURED.len()).filter(|start| label.is_char_boundary(*start));
    match start.map(|start| label.split_at(start)) {
        Some((plain, marker)) if marker.eq_ignore_ascii_case(FAVOURED) => plain.trim_end(),
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
    fn a_question_is_answered_by_the_key_that_says_most_about_it() {
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
    fn a_question_without_an_answer_has_its_default() {
        check(
            &[],
            &Question { labels: vec!["Postgres (Recommended)", "SQLite"], ..DATABASE },
            ("Postgres (Recommended)", None),
        );
        check(&[("git", "Yes")], &DATABASE, ("", None));
        // Nothing is an answer too.
        check(
            &[("database", "")],
            &Question { labels: vec!["Postgres"], ..DATABASE },
            ("", Some("database")),
        );
    }

    #[test]
    fn an_answer_is_said_in_the_words_that_are_offered() {
        let says = |answer: &str, labels: &[&'static str], is_multiple: bool, expected: &str| {
            let question = Question { labels: labels.to_vec(), is_multiple, ..DATABASE };
            check(&[("database", answer)], &question, (expected, Some("database")));
        };
        says("sqlite", &["Postgres", "SQLite"], false, "SQLite");
        says("postgres", &["Postgres (Recommended)", "SQLite"], false, "Postgres (Recommended)");
        says("postgres", &["Postgres (Recommended)", "postgres"], false, "postgres");
        says("MySQL, but only here", &["Postgres", "SQLite"], false, "MySQL, but only here");
        says("auth,LOGS", &["Auth", "Cache", "Logs"], true, "Auth, Logs");
        says("auth, metrics,", &["Auth", "Cache"], true, "Auth, metrics");
        says("both, please", &["Both, please", "None"], true, "Both, please");
        says("auth,logs", &["Auth", "Logs"], false, "auth,logs");
        says("é", &["É", "e"], false, "É");
    }

    #[test]
    fn answers_that_contradict_each_other_are_refused() {
        let two = |one: &str, other: &str| answers(&[("git", one), ("Git", other)]).map(drop);
        assert_eq!(two("Yes", "Yes"), Ok(()));
        let contradiction =
            AnswersError::Contradiction { key: "Git".into(), one: "Yes".into(), other: "No".into() };
        assert_eq!(two("Yes", "No"), Err(contradiction));
        assert_eq!(answers(&[(" ", "Yes")]).map(drop), Err(AnswersError::NoKey("Yes".into())));
    }

    #[test]
    fn some_answers_hold_before_others() {
        let (flags, file) = (answers(&[("Git", "No")]), answers(&[("git", "Yes"), ("depth", "3")]));
        let both = flags.expect("they agree").or_else(file.expect("they agree"));
        assert_eq!(both, answers(&[("Git", "No"), ("depth", "3")]).expect("they agree"));
    }
}
