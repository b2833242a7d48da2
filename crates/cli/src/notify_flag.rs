//! The channels of `--notify`: one that cannot be used is refused before anything is started, because a notification that
//! fails later reaches no person.

use crate::args::NotifyArgs;
use crate::failure::Failure;
use crate::shell_check;
use longhaul::{Channel, ChannelError};
use std::env;
use std::path::Path;

/// Refuses what cannot be called in this directory, or, where there is none yet, anywhere.
pub fn check(args: &NotifyArgs, cwd: Option<&Path>) -> Result<(), Failure> {
    args.notify.iter().try_for_each(|channel| check_channel(channel, cwd))
}

fn check_channel(text: &str, cwd: Option<&Path>) -> Result<(), Failure> {
    let unusable = |ChannelError { error, hint }| Failure::usage(format!("--notify: {error}"), hint);
    let channel: Channel = text.parse().map_err(unusable)?;
    channel.check(|name| env::var(name).ok()).map_err(unusable)?;
    let Channel::Command(command) = channel else { return Ok(()) };
    match shell_check::check_command(&command, cwd) {
        Some(why) => Err(Failure::usage(
            format!("notify by `{command}`: {why}"),
            "name a command that runs in the directory of the work, as a shell takes it; it reads JSON on its stdin",
        )),
        None => Ok(()),
    }
}
