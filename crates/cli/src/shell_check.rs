//! The user's own commands, as a shell takes them: what cannot be run is told before anything is started.

use std::path::Path;
use std::process::{Command, Stdio};

/// Why a command cannot be run in this directory; in no directory that is known yet, only what no shell can read.
pub fn check_command(command: &str, cwd: Option<&Path>) -> Option<String> {
    if command.trim().is_empty() {
        return Some("it is empty".to_owned());
    }
    let asks = |words: &[&str]| {
        let mut shell = Command::new("/bin/sh");
        shell.args(words).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if let Some(cwd) = cwd {
            shell.current_dir(cwd);
        }
        shell.status().is_ok_and(|status| status.success())
    };
    if !asks(&["-n", "-c", command]) {
        return Some("the shell cannot read it".to_owned());
    }
    let first = command.split_whitespace().next().unwrap_or_default();
    let is_plain = first.chars().all(|sign| sign.is_ascii_alphanumeric() || "._-/+".contains(sign));
    let is_there = || asks(&["-c", "command -v -- \"$1\"", "sh", first]);
    (cwd.is_some() && is_plain && !is_there()).then(|| format!("there is no program `{first}`"))
}
