//! Colours for whoever looks at a terminal. They say nothing that the words do not: what is piped, what `NO_COLOR` is set
//! for, and what goes to a terminal that has none, is the same text without them.

use std::env;
use std::io::{self, IsTerminal};

/// What something means to a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// It went well.
    Good,
    /// It did not.
    Bad,
    /// It may want somebody.
    Care,
    /// It goes on.
    Going,
    /// It is a heading.
    Heading,
}

impl Meaning {
    /// The sixteen colours that every terminal has, as its user has chosen them.
    fn code(self) -> &'static str {
        match self {
            Meaning::Good => "32",
            Meaning::Bad => "1;31",
            Meaning::Care => "33",
            Meaning::Going => "36",
            Meaning::Heading => "1",
        }
    }
}

/// A stream as it shows what is meant.
#[derive(Clone, Copy, Debug)]
pub struct Paint {
    coloured: bool,
}

impl Paint {
    /// For data, a pager in between or not.
    pub fn stdout() -> Paint {
        Paint { coloured: io::stdout().is_terminal() && is_wanted() }
    }

    /// For talk.
    pub fn stderr() -> Paint {
        Paint { coloured: io::stderr().is_terminal() && is_wanted() }
    }

    /// No colours, whoever looks.
    pub fn plain() -> Paint {
        Paint { coloured: false }
    }

    /// Colours, whoever looks.
    #[cfg(test)]
    pub fn coloured() -> Paint {
        Paint { coloured: true }
    }

    /// The text as it is shown: as long as it was, for who counts characters before.
    pub fn as_meant(self, text: &str, meaning: Option<Meaning>) -> String {
        match meaning.filter(|_| self.coloured && !text.is_empty()) {
            Some(meaning) => format!("\x1b[{}m{text}\x1b[0m", meaning.code()),
            None => text.to_owned(),
        }
    }
}

/// Unless the user has said otherwise (no-color.org), or the terminal cannot.
pub fn is_wanted() -> bool {
    let says_no = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    !says_no && env::var_os("TERM").is_none_or(|term| term != "dumb")
}

#[cfg(test)]
mod tests {
    use super::{Meaning, Paint};

    #[test]
    fn colours_are_around_the_words_alone() {
        let bad = Some(Meaning::Bad);
        assert_eq!(Paint::coloured().as_meant("failed", bad), "\x1b[1;31mfailed\x1b[0m");
        assert_eq!(Paint::coloured().as_meant("failed", None), "failed");
        assert_eq!(Paint::coloured().as_meant("", bad), "");
        assert_eq!(Paint::plain().as_meant("failed", bad), "failed");
    }
}
