//! `longhaul completions`: what a shell offers when a person presses Tab, from the command tree.

use crate::args::{Cli, CompletionsArgs};
use crate::failure::Failure;
use crate::{output, visible};
use clap::CommandFactory;

/// Carries out the command and returns its exit code.
pub fn completions(args: &CompletionsArgs) -> Result<u8, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut visible::tree(&Cli::command()), "longhaul", &mut script);
    output::print_text(&String::from_utf8_lossy(&script));
    Ok(0)
}
