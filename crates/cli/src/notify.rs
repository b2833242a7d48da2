//! The commands of `--notify`: one that cannot be called is refused before anything is started. Nobody would know.

use crate::args::NotifyArgs;
use crate::failure::Failure;
use crate::shell;
use std::path::Path;

/// Refuses what cannot be called in this directory, or, where there is none yet, anywhere.
pub fn check(args: &NotifyArgs, cwd: Option<&Path>) -> Result<(), Failure> {
    let flaw = args.notify.iter().find_map(|command| Some((command, shell::flaw(command, cwd)?)));
    match flaw {
        Some((command, why)) => Err(Failure::usage(
            format!("notify by `{command}`: {why}"),
            "name a command that runs in the directory of the work, as a shell takes it; it reads JSON on its stdin",
        )),
        None => Ok(()),
    }
}
