//! Long text on a terminal goes through a pager, as `git` and `jj` have it: `LONGHAUL_PAGER`, else `PAGER`, else `less`,
//! which shows what fits the screen and leaves. Where nobody looks at a terminal, and where there is no pager, text goes
//! straight to stdout.

use crate::args::Global;
use signal_hook::consts::SIGINT;
use std::env;
use std::io::{self, IsTerminal, Write};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What leaves at once where one screen is enough, keeps colours, and leaves the text there.
const LESS: &str = "FRX";

/// Where text goes; the pager is waited for when it is dropped.
pub struct Pager {
    /// The pager, until its input has ended.
    child: Option<Child>,
}

impl Pager {
    pub fn open(global: &Global) -> Pager {
        let wanted = !global.no_pager && io::stdout().is_terminal();
        let child = program().filter(|_| wanted).and_then(|program| start(&program));
        if child.is_some() {
            // Ctrl-C is the pager's, which stops what it does with it. If it cannot be had, it ends us both.
            let _ = signal_hook::flag::register(SIGINT, Arc::new(AtomicBool::new(false)));
        }
        Pager { child }
    }
}

impl Write for Pager {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.child.as_mut().and_then(|child| child.stdin.as_mut()) {
            Some(stdin) => stdin.write(bytes),
            None => io::stdout().write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self.child.as_mut().and_then(|child| child.stdin.as_mut()) {
            Some(stdin) => stdin.flush(),
            None => io::stdout().flush(),
        }
    }
}

impl Drop for Pager {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            drop(child.stdin.take());
            // It has the terminal until whoever reads has read.
            let _ = child.wait();
        }
    }
}

/// Prints text, through the pager where there is one.
pub fn page(global: &Global, text: &str) {
    // Nobody reads a closed pipe.
    let _ = Pager::open(global).write_all(text.as_bytes());
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
