//! Colours for whoever looks at a terminal. They say nothing that the words do not: what is piped, what `NO_COLOR` is set
//! for, and what goes to a terminal that has none, is the same text without them.

use super::out;
use std::env;
use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;

/// Begins a color in text until it is printed. It differs in each process: a text from outside cannot contain it.
static MARK: LazyLock<char> = LazyLock::new(|| {
    // The private characters of the last plane.
    let place = RandomState::new().hash_one(()) % 0xfffd;
    char::from_u32(0x10_0001 + place as u32).expect("all of them are characters")
});
// The end of a color.
const END: char = '0';

/// The character before the sign of a color.
pub fn mark() -> char {
    *MARK
}

/// Returns the escape sequence for the sign behind a mark: the sixteen colors that every terminal has, as its user has
/// chosen them.
pub fn sequence(sign: char) -> Option<&'static str> {
    Some(match sign {
        END => "\x1b[0m",
        'g' => "\x1b[32m",
        'b' => "\x1b[1;31m",
        'c' => "\x1b[33m",
        'o' => "\x1b[36m",
        'h' => "\x1b[1m",
        _ => return None,
    })
}

/// What something means to a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// It went well.
    Good,
    /// It did not.
    Bad,
    /// It may want somebody.
    Warning,
    /// It goes on.
    Hint,
    /// It is a heading.
    Heading,
}

impl Style {
    fn sign(self) -> char {
        match self {
            Style::Good => 'g',
            Style::Bad => 'b',
            Style::Warning => 'c',
            Style::Hint => 'o',
            Style::Heading => 'h',
        }
    }
}

/// A stream as it shows what is meant.
#[derive(Clone, Copy, Debug)]
pub struct Colors {
    coloured: bool,
}

impl Colors {
    /// For data, a pager in between or not.
    pub fn stdout() -> Colors {
        Colors { coloured: out::stdout_is_terminal() && is_enabled() }
    }

    /// For talk.
    pub fn stderr() -> Colors {
        Colors { coloured: out::stderr_is_terminal() && is_enabled() }
    }

    /// No colours, whoever looks.
    pub fn plain() -> Colors {
        Colors { coloured: false }
    }

    /// Colours, whoever looks.
    #[cfg(test)]
    pub fn coloured() -> Colors {
        Colors { coloured: true }
    }

    /// The text with its color, which `out` turns into an escape sequence.
    pub fn styled(self, text: &str, meaning: Option<Style>) -> String {
        match meaning.filter(|_| self.coloured && !text.is_empty()) {
            Some(meaning) => format!("{0}{1}{text}{0}{END}", mark(), meaning.sign()),
            None => text.to_owned(),
        }
    }
}

/// Unless the user has said otherwise (no-color.org), or the terminal cannot.
pub fn is_enabled() -> bool {
    let says_no = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    !says_no && env::var_os("TERM").is_none_or(|term| term != "dumb")
}

#[cfg(test)]
mod tests {
    use super::{Colors, Style};
    use crate::output::out::shown;

    #[test]
    fn colours_are_around_the_words_alone() {
        let bad = Some(Style::Bad);
        assert_eq!(shown(&Colors::coloured().styled("failed", bad)), "\x1b[1;31mfailed\x1b[0m");
        assert_eq!(Colors::coloured().styled("failed", None), "failed");
        assert_eq!(Colors::coloured().styled("", bad), "");
        assert_eq!(Colors::plain().styled("failed", bad), "failed");
    }
}
