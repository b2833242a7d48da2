//! The user's own commands: checks and notifications. One that cannot run is rejected before anything starts,
//! because one that fails later verifies nothing and reaches no person.

use crate::args::NotifyArgs;
use crate::failure::Failure;
use crate::hints::channel_hint;
use longhaul::{Channel, ChannelError};
use std::env;
use std::path::Path;
use std::process::{Command, Stdio};

/// Rejects channels that cannot be used in this directory, or in any if there is none yet.
pub fn check_channels(args: &NotifyArgs, cwd: Option<&Path>) -> Result<(), Failure> {
    for text in &args.notify {
        let unusable =
            |error: ChannelError| Failure::usage(format!("--notify: {error}"), channel_hint(&error));
        let channel: Channel = text.parse().map_err(unusable)?;
        channel.check(|name| env::var(name).ok()).map_err(unusable)?;
        if let Channel::Command(command) = channel {
            let hint = "name a shell command that runs in the working directory; it reads JSON from stdin";
            check_command("notification command", &command, cwd, hint)?;
        }
    }
    Ok(())
}

/// Rejects a command that cannot run in this directory. Without a directory it only checks the syntax.
pub fn check_command(kind: &str, command: &str, cwd: Option<&Path>, hint: &str) -> Result<(), Failure> {
    match problem(command, cwd) {
        Some(reason) => Err(Failure::usage(format!("cannot use the {kind} `{command}`: {reason}"), hint)),
        None => Ok(()),
    }
}

fn problem(command: &str, cwd: Option<&Path>) -> Option<String> {
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
    let is_plain = first.chars().all(|c| c.is_ascii_alphanumeric() || "._-/+:".contains(c));
    let exists = || succeeds(&["-c", "command -v -- \"$1\"", "sh", first]);
    (cwd.is_some() && is_plain && !exists()).then(|| format!("there is no program `{first}`"))
}
