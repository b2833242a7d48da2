//! Colors for terminals. They add no information: without a terminal, with `NO_COLOR`, or on a terminal
//! without colors, the text is the same.

use super::color_mark::{END, mark};
use super::out;
use std::env;

/// The meaning of a text, which decides its color. Its code follows a color mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Style {
    Good = b'g',
    Bad = b'b',
    /// Something that may need the user.
    Warning = b'c',
    /// Something in progress.
    Hint = b'o',
    Heading = b'h',
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
            Some(style) => format!("{0}{1}{text}{0}{END}", mark(), char::from(style as u8)),
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
