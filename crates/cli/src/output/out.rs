//! The only module that writes to stdout and stderr.
//!
//! Printed text may come from a model, a repository or a file. It therefore loses everything that a terminal
//! would interpret: control characters, and characters that change the direction of text. Colors are marks of
//! `color_mark` until they get here.

pub mod background;

use background::wait_for_room;

use super::color_mark;
use super::envelope_text::is_control_like;
use std::borrow::Cow;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::OnceLock;

/// The first error of stdout. A closed pipe is not an error: its reader has seen enough.
static FAILED: OnceLock<io::Error> = OnceLock::new();

/// Returns the error that kept output from reaching stdout, for example a full disk.
pub fn stdout_error() -> Option<&'static io::Error> {
    FAILED.get()
}

pub fn stdout_is_terminal() -> bool {
    stdout().is_terminal()
}

pub fn stderr_is_terminal() -> bool {
    stderr().is_terminal()
}

/// Returns stdout, mainly to query it.
#[expect(clippy::disallowed_methods, reason = "only this module writes to it")]
pub fn stdout() -> impl Write + IsTerminal + AsFd {
    io::stdout()
}

/// Returns stderr, mainly to query it.
#[expect(clippy::disallowed_methods, reason = "only this module writes to it")]
pub fn stderr() -> impl Write + IsTerminal + AsFd {
    io::stderr()
}

pub fn print(text: &str) {
    // An error is reported at the end of the command.
    let _ = printer().write_all(text.as_bytes());
}

/// Prints text on stderr. Errors are ignored, so the run continues without a terminal.
pub fn print_stderr(text: &str) {
    let _ = background::write(Stream::Stderr, sanitize(text).as_bytes());
}

pub fn printer() -> Filter<Stdout> {
    Filter::new(Stdout)
}

/// Returns a writer of bytes on stdout. They are sanitized only for a terminal.
pub fn printer_of_bytes() -> Box<dyn Write> {
    if stdout_is_terminal() { Box::new(printer()) } else { Box::new(Stdout) }
}

pub fn clone_stdout() -> io::Result<OwnedFd> {
    stdout().as_fd().try_clone_to_owned()
}

/// Sanitizes text for a terminal and converts color marks to escape sequences.
pub fn sanitize(text: &str) -> Cow<'_, str> {
    let marker = color_mark::mark();
    if !text.chars().any(|c| is_control_like(c) || c == marker) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c == marker {
            out += chars.next().and_then(color_mark::sequence).unwrap_or_default();
        } else if !is_control_like(c) {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// Escapes control-like characters in JSON. JSON contains them only in strings, so the value stays the same.
pub fn harmless_json(json: &str) -> Cow<'_, str> {
    // Line breaks and tabs are not control-like; other control characters are escaped already.
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

/// Unfiltered stdout. Its first error is stored in `FAILED`.
pub struct Stdout;

fn record_error<T>(result: io::Result<T>) -> io::Result<T> {
    result.inspect_err(|error| {
        if !matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::Interrupted) {
            let _ = FAILED
                .set(error.raw_os_error().map_or_else(|| error.kind().into(), io::Error::from_raw_os_error));
        }
    })
}

#[derive(Clone, Copy)]
enum Stream {
    Stdout,
    Stderr,
}

impl Stream {
    fn write(self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Stream::Stdout => {
                let mut stdout = stdout();
                // Without flushing, an error of the last line would be lost.
                let written = write_all(&mut stdout, bytes).and_then(|()| wait_for_room(|| stdout.flush()));
                record_error(written)
            }
            Stream::Stderr => write_all(&mut stderr(), bytes),
        }
    }
}

/// Writes to a stream that may be non-blocking.
pub fn write_all(to: &mut impl Write, mut rest: &[u8]) -> io::Result<()> {
    while !rest.is_empty() {
        match wait_for_room(|| to.write(rest))? {
            0 => return Err(ErrorKind::WriteZero.into()),
            written => rest = &rest[written..],
        }
    }
    Ok(())
}

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        background::write(Stream::Stdout, bytes).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Sanitizes text and forwards it.
pub struct Filter<W> {
    to: W,
    /// The bytes of an incomplete character.
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
        let written = self.to.write_all(sanitize(&String::from_utf8_lossy(&self.partial[..end])).as_bytes());
        self.partial.drain(..end);
        written.map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Returns the end of the last complete character. Invalid bytes count as characters.
fn end_of_last_char(bytes: &[u8]) -> usize {
    let last = bytes.utf8_chunks().last().map_or(&[][..], |chunk| chunk.invalid());
    let is_cut = str::from_utf8(last).is_err_and(|error| error.error_len().is_none());
    if is_cut { bytes.len() - last.len() } else { bytes.len() }
}

#[cfg(test)]
mod tests {
    use super::{Filter, harmless_json, sanitize};
    use crate::output::color::{Colors, Style};
    use std::io::Write;

    #[test]
    fn text_cannot_control_a_terminal() {
        for (text, safe) in [
            ("two\n\tlines", "two\n\tlines"),
            ("\x1b[2J\x1b]0;title\x07a\rb\u{9b}31m\x7f", "[2J]0;titleab31m"),
            ("a\u{202e}b\u{2066}c\u{200f}d\u{61c}e", "abcde"),
            // A color, if its mark could be guessed.
            ("\u{100000}1x\u{100000}0", "\u{100000}1x\u{100000}0"),
        ] {
            assert_eq!(sanitize(text), safe);
        }
        let colored = Colors::colored().styled("a\x1b[0mb", Some(Style::Bad));
        assert_eq!(sanitize(&colored), "\x1b[1;31ma[0mb\x1b[0m");
    }

    #[test]
    fn json_stays_the_same_value() {
        let value = serde_json::json!({ "a\u{202e}": ["\u{9b}\u{7f}\u{1b}\u{61c} é 日", "\n"] });
        let harmless = harmless_json(&value.to_string()).into_owned();
        assert_eq!(harmless, sanitize(&harmless));
        assert_eq!(serde_json::from_str::<serde_json::Value>(&harmless).expect("JSON"), value);
    }

    #[test]
    fn split_writes_keep_characters_whole() {
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
