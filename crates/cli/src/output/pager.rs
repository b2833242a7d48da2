//! Sends long text through a pager if stdout is a terminal, as `git` and `jj` do: `LONGHAUL_PAGER`, else
//! `PAGER`, else `less`, which exits at once if the text fits the screen. Without a terminal or a pager, text
//! goes straight to stdout.

use super::out::{self, Filter};
use crate::args::{GlobalArgs, OutputFormat};
use serde::Serialize;
use signal_hook::consts::SIGINT;
use std::env;
use std::io::{self, Write};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Options for `less`: exit at once if one screen is enough, keep colors, and leave the text on the screen.
const LESS: &str = "FRX";

/// A running pager. Dropping it waits for it to exit.
struct Pager(Child);

impl Write for Pager {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.stdin.as_mut().map_or(Ok(bytes.len()), |stdin| stdin.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.stdin.as_mut().map_or(Ok(()), Write::flush)
    }
}

impl Drop for Pager {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        // The pager has the terminal until the user quits it.
        let _ = self.0.wait();
    }
}

/// Opens the pager for text, or stdout if there is no pager.
pub fn open(global: &GlobalArgs) -> Box<dyn Write> {
    match pager(global) {
        Some(pager) => Box::new(Filter::new(pager)),
        None => Box::new(out::printer()),
    }
}

/// Opens the pager for bytes, or stdout. Bytes are sanitized only for a terminal.
pub fn open_for_bytes(global: &GlobalArgs) -> Box<dyn Write> {
    if out::stdout_is_terminal() { open(global) } else { out::printer_of_bytes() }
}

/// Prints the output of a command: an object for programs, paged text for people.
pub fn page_output(global: &GlobalArgs, value: &impl Serialize, text: impl FnOnce() -> String) {
    match super::format(global) {
        OutputFormat::Text => match text() {
            // No pager waits for a key because of one line.
            line if line.lines().count() < 2 => super::print_text(&line),
            text => page(global, &text),
        },
        format => super::print_json(format, value),
    }
}

pub fn page(global: &GlobalArgs, text: &str) {
    // An error is reported at the end of the command.
    let _ = open(global).write_all(text.as_bytes());
}

fn pager(global: &GlobalArgs) -> Option<Pager> {
    let is_enabled = !global.no_pager && out::stdout_is_terminal();
    let child = program().filter(|_| is_enabled).and_then(|program| start(&program))?;
    // Ctrl-C is for the pager. If registration fails, Ctrl-C ends both processes.
    let _ = signal_hook::flag::register(SIGINT, Arc::new(AtomicBool::new(false)));
    Some(Pager(child))
}

/// Returns the user's pager, or `None` if it is `cat` or empty.
fn program() -> Option<String> {
    let named = ["LONGHAUL_PAGER", "PAGER"].iter().find_map(|name| env::var(name).ok());
    let program = named.unwrap_or_else(|| "less".to_owned());
    (!matches!(program.trim(), "" | "cat")).then_some(program)
}

/// Starts a pager command in a shell, as in `less -S`.
fn start(program: &str) -> Option<Child> {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", program]).stdin(Stdio::piped());
    if env::var_os("LESS").is_none() {
        shell.env("LESS", LESS);
    }
    let first = program.split_whitespace().next().unwrap_or_default();
    // A shell that cannot find the program would discard the text.
    let lookup =
        Command::new("/bin/sh").args(["-c", "command -v -- \"$1\" > /dev/null", "sh", first]).status();
    lookup.is_ok_and(|status| status.success()).then(|| shell.spawn().ok()).flatten()
}
