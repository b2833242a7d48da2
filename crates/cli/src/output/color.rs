//! Colors for terminals. They add no information: without a terminal, with `NO_COLOR`, or on a terminal
//! without colors, the text is the same.

use super::out;
use std::env;
use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;

/// Marks the start of a color until the text is printed. It is random per process, so text from outside
/// cannot contain it.
static MARK: LazyLock<char> = LazyLock::new(|| {
    // Any private-use character of the last plane.
    let offset = RandomState::new().hash_one(()) % 0xfffd;
    char::from_u32(0x10_0001 + offset as u32).expect("all of them are characters")
});
// Ends a color.
const END: char = '0';

/// Returns the character that precedes the code of a color.
pub fn mark() -> char {
    *MARK
}

/// Returns the escape sequence for the code after a mark, or `None` if the code is unknown. It uses the
/// sixteen colors of the terminal's own palette.
pub fn sequence(code: char) -> Option<&'static str> {
    Some(match code {
        END => "\x1b[0m",
        'g' => "\x1b[32m",
        'b' => "\x1b[1;31m",
        'c' => "\x1b[33m",
        'o' => "\x1b[36m",
        'h' => "\x1b[1m",
        _ => return None,
    })
}

/// The meaning of a text, which decides its color.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    Good,
    Bad,
    /// Something that may need the user.
    Warning,
    /// Something in progress.
    Hint,
    Heading,
}

impl Style {
    fn code(self) -> char {
        match self {
            Style::Good => 'g',
            Style::Bad => 'b',
            Style::Warning => 'c',
            Style::Hint => 'o',
            Style::Heading => 'h',
        }
    }
}

/// Applies colors if the stream supports them.
#[derive(Clone, Copy, Debug)]
pub struct Colors {
    colored: bool,
}

impl Colors {
    pub fn stdout() -> Colors {
        Colors { colored: out::stdout_is_terminal() && is_enabled() }
    }

    pub fn stderr() -> Colors {
        Colors { colored: out::stderr_is_terminal() && is_enabled() }
    }

    pub fn plain() -> Colors {
        Colors { colored: false }
    }

    #[cfg(test)]
    pub fn colored() -> Colors {
        Colors { colored: true }
    }

    /// Wraps the text in color marks, which `out` converts to escape sequences.
    pub fn styled(self, text: &str, style: Option<Style>) -> String {
        match style.filter(|_| self.colored && !text.is_empty()) {
            Some(style) => format!("{0}{1}{text}{0}{END}", mark(), style.code()),
            None => text.to_owned(),
        }
    }
}

/// Returns whether colors are enabled: not with `NO_COLOR` (no-color.org) or on a dumb terminal.
pub fn is_enabled() -> bool {
    let is_disabled = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    !is_disabled && env::var_os("TERM").is_none_or(|term| term != "dumb")
}

#[cfg(test)]
mod tests {
    use super::{Colors, Style};
    use crate::output::out::sanitize;

    #[test]
    fn colors_surround_text() {
        let bad = Some(Style::Bad);
        assert_eq!(sanitize(&Colors::colored().styled("failed", bad)), "\x1b[1;31mfailed\x1b[0m");
        assert_eq!(Colors::colored().styled("failed", None), "failed");
        assert_eq!(Colors::colored().styled("", bad), "");
        assert_eq!(Colors::plain().styled("failed", bad), "failed");
    }
}
