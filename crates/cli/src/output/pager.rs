//! Long text on a terminal goes through a pager, as `git` and `jj` have it: `LONGHAUL_PAGER`, else `PAGER`, else `less`,
//! which shows what fits the screen and leaves. Where nobody looks at a terminal, and where there is no pager, text goes
//! straight to stdout.

use super::out::{self, Filter};
use crate::args::GlobalArgs;
use signal_hook::consts::SIGINT;
use std::env;
use std::io::{self, Write};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What leaves at once where one screen is enough, keeps colours, and leaves the text there.
const LESS: &str = "FRX";

/// A pager, which is waited for when it is dropped.
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
        // It has the terminal until whoever reads has read.
        let _ = self.0.wait();
    }
}

/// Opens the pager where there is one, and else stdout, for text.
pub fn open(global: &GlobalArgs) -> Box<dyn Write> {
    match pager(global) {
        Some(pager) => Box::new(Filter::new(pager)),
        None => Box::new(out::printer()),
    }
}

/// Opens the same for bytes, which change only if a person sees them.
pub fn open_for_bytes(global: &GlobalArgs) -> Box<dyn Write> {
    if out::stdout_is_terminal() { open(global) } else { out::printer_of_bytes() }
}

/// Prints text, through the pager where there is one.
pub fn page(global: &GlobalArgs, text: &str) {
    // An error is kept for the end of the command.
    let _ = open(global).write_all(text.as_bytes());
}

fn pager(global: &GlobalArgs) -> Option<Pager> {
    let is_wanted = !global.no_pager && out::stdout_is_terminal();
    let child = program().filter(|_| is_wanted).and_then(|program| start(&program))?;
    // Ctrl-C is the pager's, which stops what it does with it. If it cannot be had, it ends us both.
    let _ = signal_hook::flag::register(SIGINT, Arc::new(AtomicBool::new(false)));
    Some(Pager(child))
}

/// What the user pages by; nothing if that is `cat`, or nothing.
fn program() -> Option<String> {
    let named = ["LONGHAUL_PAGER", "PAGER"].iter().find_map(|name| env::var(name).ok());
    let program = named.unwrap_or_else(|| "less".to_owned());
    (!matches!(program.trim(), "" | "cat")).then_some(program)
}

/// The user's own words, as a shell takes them: `less -S`.
fn start(program: &str) -> Option<Child> {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", program]).stdin(Stdio::piped());
    if env::var_os("LESS").is_none() {
        shell.env("LESS", LESS);
    }
    let first = program.split_whitespace().next().unwrap_or_default();
    // A shell that does not find it would swallow the text.
    let there =
        Command::new("/bin/sh").args(["-c", "command -v -- \"$1\" > /dev/null", "sh", first]).status();
    there.is_ok_and(|status| status.success()).then(|| shell.spawn().ok()).flatten()
}
