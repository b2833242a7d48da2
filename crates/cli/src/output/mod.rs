//! All output for people and programs: data on stdout, messages on stderr.

pub mod color;
mod color_mark;
pub mod conversation;
pub mod envelope;
pub mod envelope_text;
pub mod events;
pub mod lifecycle;
pub mod live;
pub mod openclawpack;
pub mod out;
pub mod pager;
pub mod phrases;
pub mod progress;
pub mod region;
pub mod result_event;
pub mod stream;
pub mod table;
pub mod time;
pub mod usage;
pub mod workflow_text;
pub mod wrap;

pub use out::print as print_text;

use crate::args::{GlobalArgs, OutputFormat};
use color::{Colors, Style};
use envelope::Envelope;
use longhaul_core::Moment;
use result_event::ResultEvent;
use serde::Serialize;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Whether only errors are printed on stderr.
static QUIET: AtomicBool = AtomicBool::new(false);

/// Returns the output format: the one that a flag names, or else JSON for a harness at a pipe, or else text.
pub fn format(global: &GlobalArgs) -> OutputFormat {
    global.output_format.unwrap_or(if global.pipes_json && !out::stdout_is_terminal() {
        OutputFormat::Json
    } else {
        OutputFormat::Text
    })
}

/// Prints the envelope of a command without a finished run. The stream of a command that drives a run ends with
/// a result event instead.
pub fn print_without_run(global: &GlobalArgs, envelope: Envelope) {
    if global.is_openclawpack {
        return print_envelope(global, &envelope, String::new);
    }
    match format(global) {
        OutputFormat::StreamJson if global.pipes_json => {
            print_text(&line(&ResultEvent::from_envelope(envelope)));
        }
        format => print_json(format, &envelope),
    }
}

pub fn print_error(error: &str, hint: Option<&str>) {
    print_labeled("error", Style::Bad, error, hint);
}

/// Prints the output of a command on stdout: an object for programs, text for people.
pub fn print_output(global: &GlobalArgs, value: &impl Serialize, text: impl FnOnce() -> String) {
    match format(global) {
        OutputFormat::Text => print_text(&text()),
        format => print_json(format, value),
    }
}

/// Prints an envelope on stdout: in the form that openclawpack has, if the program was called by that name, or else
/// as an object for programs and a text for people.
pub fn print_envelope<R: Serialize>(
    global: &GlobalArgs,
    envelope: &Envelope<R>,
    text: impl FnOnce() -> String,
) {
    if !global.is_openclawpack {
        return print_output(global, envelope, text);
    }
    match format(global) {
        OutputFormat::Text => print_text(&openclawpack::text(envelope)),
        OutputFormat::Json | OutputFormat::StreamJson => print_text(&openclawpack::json(envelope)),
    }
}

/// Prints an object on one line in `stream-json`, else indented.
pub fn print_json(format: OutputFormat, value: &impl Serialize) {
    print_text(&json(format, value));
}

pub fn json(format: OutputFormat, value: &impl Serialize) -> String {
    match format {
        OutputFormat::StreamJson => line(value),
        OutputFormat::Json | OutputFormat::Text => pretty(value),
    }
}

pub fn pretty(value: &impl Serialize) -> String {
    let json = serde_json::to_string_pretty(value).expect("output has only string keys");
    out::harmless_json(&json).into_owned() + "\n"
}

pub fn line(value: &impl Serialize) -> String {
    let json = serde_json::to_string(value).expect("output has only string keys");
    out::harmless_json(&json).into_owned() + "\n"
}

/// Returns the current time of the calendar clock. It is for display only.
pub fn now() -> Moment {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Moment(since.as_millis() as u64)
}

/// Returns the width for tables in characters: that of the terminal, or else of a page.
pub fn width() -> usize {
    terminal_size(out::stdout()).map_or(wrap::COLUMNS, |(width, _)| width)
}

/// Returns the columns and rows of a terminal, or `None` if this is no terminal or its width is unknown.
pub fn terminal_size(terminal: impl AsFd) -> Option<(usize, usize)> {
    let size = rustix::termios::tcgetwinsize(terminal).ok().filter(|size| size.ws_col > 0)?;
    Some((usize::from(size.ws_col), usize::from(size.ws_row)))
}

/// Hides messages other than errors, as `--quiet` asks for.
pub fn set_quiet() {
    QUIET.store(true, Ordering::Relaxed);
}

/// Prints a warning and its hint on stderr, unless `--quiet` is set. The command continues.
pub fn print_warning(warning: &str, hint: Option<&str>) {
    if !QUIET.load(Ordering::Relaxed) {
        print_labeled("warning", Style::Warning, warning, hint);
    }
}

fn print_labeled(word: &str, style: Style, text: &str, hint: Option<&str>) {
    let colors = Colors::stderr();
    out::print_stderr(&format!("{} {text}\n", colors.styled(&format!("{word}:"), Some(style))));
    if let Some(hint) = hint {
        out::print_stderr(&format!("  {} {hint}\n", colors.styled("hint:", Some(Style::Hint))));
    }
}

/// Prints a message on stderr, unless `--quiet` is set.
pub fn print_status(text: &str) {
    if !QUIET.load(Ordering::Relaxed) {
        out::print_stderr(&format!("{text}\n"));
    }
}
