//! The only place that writes to stdout and stderr. A model, a repository or a file may have written what is printed, so
//! text loses what a terminal would obey: control characters, and characters that change the direction of text. Colors
//! are marks of `paint` until they get here.

use super::color;
use super::envelope_text::is_control_like;
use std::borrow::Cow;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::OnceLock;

/// The first error of stdout. A closed pipe is none: its reader has seen enough.
static FAILED: OnceLock<io::Error> = OnceLock::new();

/// Why something that was printed did not reach stdout: a full disk, for example.
pub fn stdout_error() -> Option<&'static io::Error> {
    FAILED.get()
}

/// Whether a person sees stdout.
pub fn stdout_is_terminal() -> bool {
    stdout().is_terminal()
}

/// Whether a person sees stderr.
pub fn stderr_is_terminal() -> bool {
    stderr().is_terminal()
}

/// Stdout, to ask about it.
#[expect(clippy::disallowed_methods, reason = "this module is where it is written to")]
pub fn stdout() -> impl Write + IsTerminal + AsFd {
    io::stdout()
}

/// Stderr, to ask about it.
#[expect(clippy::disallowed_methods, reason = "this module is where it is written to")]
pub fn stderr() -> impl Write + IsTerminal + AsFd {
    io::stderr()
}

/// Prints text on stdout.
pub fn print(text: &str) {
    // An error is kept for the end of the command.
    let _ = printer().write_all(text.as_bytes());
}

/// Prints text on stderr. A terminal that went away takes none; the run goes on.
pub fn say(text: &str) {
    let _ = stderr().write_all(shown(text).as_bytes());
}

/// Draws on the terminal at stderr. `frame` moves its cursor: only harmless text may be in it.
pub fn draw(frame: &str) -> io::Result<()> {
    stderr().write_all(frame.as_bytes())
}

/// A writer of text on stdout.
pub fn printer() -> Filter<Stdout> {
    Filter::new(Stdout)
}

/// A writer of bytes on stdout, which change only if a person sees them.
pub fn printer_of_bytes() -> Box<dyn Write> {
    if stdout_is_terminal() { Box::new(printer()) } else { Box::new(Stdout) }
}

/// A copy of stdout for a thread of its own.
pub fn clone_stdout() -> io::Result<OwnedFd> {
    stdout().as_fd().try_clone_to_owned()
}

/// The text as a terminal may have it, in color where `paint` says so.
pub fn shown(text: &str) -> Cow<'_, str> {
    let marker = color::mark();
    if !text.chars().any(|c| is_control_like(c) || c == marker) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c == marker {
            out += chars.next().and_then(color::sequence).unwrap_or_default();
        } else if !is_control_like(c) {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// The same JSON, with unruly characters escaped. Outside of strings JSON has none.
pub fn harmless_json(json: &str) -> Cow<'_, str> {
    // Line breaks and tabs are unruly nowhere; other control characters are escaped already.
    if !json.chars().any(is_control_like) {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        match is_control_like(c) {
            // All of them are below U+10000.
            true => out += &format!("\\u{:04x}", u32::from(c)),
            false => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// Stdout as it is. It keeps its first error.
pub struct Stdout;

fn kept<T>(result: io::Result<T>) -> io::Result<T> {
    result.inspect_err(|error| {
        if !matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::Interrupted) {
            let _ = FAILED
                .set(error.raw_os_error().map_or_else(|| error.kind().into(), io::Error::from_raw_os_error));
        }
    })
}

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut stdout = stdout();
        let length = kept(stdout.write(bytes))?;
        // Otherwise an error of the last line would be found by nobody.
        kept(stdout.flush())?;
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Passes text on as `shown` returns it.
pub struct Filter<W> {
    to: W,
    /// The beginning of a character whose end has not come yet.
    partial: Vec<u8>,
}

impl<W> Filter<W> {
    pub fn new(to: W) -> Filter<W> {
        Filter { to, partial: Vec::new() }
    }
}

impl<W: Write> Write for Filter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.partial.extend_from_slice(bytes);
        let end = end_of_last_char(&self.partial);
        let written = self.to.write_all(shown(&String::from_utf8_lossy(&self.partial[..end])).as_bytes());
        self.partial.drain(..end);
        written.map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Where the last whole character ends. Invalid bytes are characters too.
fn end_of_last_char(bytes: &[u8]) -> usize {
    let last = bytes.utf8_chunks().last().map_or(&[][..], |chunk| chunk.invalid());
    let is_cut = str::from_utf8(last).is_err_and(|error| error.error_len().is_none());
    if is_cut { bytes.len() - last.len() } else { bytes.len() }
}

#[cfg(test)]
mod tests {
    use super::{Filter, harmless_json, shown};
    use crate::output::color::{Colors, Style};
    use std::io::Write;

    #[test]
    fn text_cannot_control_a_terminal() {
        for (text, safe) in [
            ("two\n\tlines", "two\n\tlines"),
            ("\x1b[2J\x1b]0;title\x07a\rb\u{9b}31m\x7f", "[2J]0;titleab31m"),
            ("a\u{202e}b\u{2066}c\u{200f}d\u{61c}e", "abcde"),
            // What would be a color, if its mark could be guessed.
            ("\u{100000}1x\u{100000}0", "\u{100000}1x\u{100000}0"),
        ] {
            assert_eq!(shown(text), safe);
        }
        let painted = Colors::coloured().styled("a\x1b[0mb", Some(Style::Bad));
        assert_eq!(shown(&painted), "\x1b[1;31ma[0mb\x1b[0m");
    }

    #[test]
    fn json_stays_the_same_value() {
        let value = serde_json::json!({ "a\u{202e}": ["\u{9b}\u{7f}\u{1b}\u{61c} é 日", "\n"] });
        let harmless = harmless_json(&value.to_string()).into_owned();
        assert_eq!(harmless, shown(&harmless));
        assert_eq!(serde_json::from_str::<serde_json::Value>(&harmless).expect("JSON"), value);
    }

    #[test]
    fn characters_are_whole_wherever_writes_are_cut() {
        let text = "é\u{9b}日\u{202e}😀\x1b[m".as_bytes();
        for cut in 0..text.len() {
            let mut filter = Filter::new(Vec::new());
            for part in [&text[..cut], &text[cut..], b"\xff", b"x"] {
                filter.write_all(part).expect("a vector takes all");
            }
            assert_eq!(String::from_utf8(filter.to).expect("text"), "é日😀[m\u{fffd}x", "cut at {cut}");
        }
    }
}
