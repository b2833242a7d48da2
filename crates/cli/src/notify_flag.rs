//! The channels of `--notify`. An unusable channel is rejected before anything starts, because a notification
//! that fails later reaches no person.

use crate::args::NotifyArgs;
use crate::failure::Failure;
use crate::shell_check;
use longhaul::{Channel, ChannelError};
use std::env;
use std::path::Path;

/// Rejects channels that cannot be used in this directory, or in any if there is none yet.
pub fn check(args: &NotifyArgs, cwd: Option<&Path>) -> Result<(), Failure> {
    args.notify.iter().try_for_each(|channel| check_channel(channel, cwd))
}

fn check_channel(text: &str, cwd: Option<&Path>) -> Result<(), Failure> {
    let unusable = |ChannelError { error, hint }| Failure::usage(format!("--notify: {error}"), hint);
    let channel: Channel = text.parse().map_err(unusable)?;
    channel.check(|name| env::var(name).ok()).map_err(unusable)?;
    let Channel::Command(command) = channel else { return Ok(()) };
    match shell_check::check_command(&command, cwd) {
        Some(reason) => Err(Failure::usage(
            format!("cannot use the notification command `{command}`: {reason}"),
            "name a shell command that runs in the working directory; it reads JSON from stdin",
        )),
        None => Ok(()),
    }
}
