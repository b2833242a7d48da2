//! Checks the user's own commands before anything starts, as a shell would run them.

use std::path::Path;
use std::process::{Command, Stdio};

/// Returns the reason why a command cannot run in this directory. Without a directory it only checks the
/// syntax.
pub fn check_command(command: &str, cwd: Option<&Path>) -> Option<String> {
    if command.trim().is_empty() {
        return Some("it is empty".to_owned());
    }
    let succeeds = |words: &[&str]| {
        let mut shell = Command::new("/bin/sh");
        shell.args(words).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if let Some(cwd) = cwd {
            shell.current_dir(cwd);
        }
        shell.status().is_ok_and(|status| status.success())
    };
    if !succeeds(&["-n", "-c", command]) {
        return Some("the shell cannot parse it".to_owned());
    }
    let first = command.split_whitespace().next().unwrap_or_default();
    let is_plain = first.chars().all(|c| c.is_ascii_alphanumeric() || "._-/+".contains(c));
    let exists = || succeeds(&["-c", "command -v -- \"$1\"", "sh", first]);
    (cwd.is_some() && is_plain && !exists()).then(|| format!("there is no program `{first}`"))
}
