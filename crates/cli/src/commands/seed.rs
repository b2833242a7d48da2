//! `longhaul seed`: what a fresh session would be told of a run's work. It changes nothing.

use super::run::failure;
use crate::args::SeedArgs;
use crate::failure::Failure;
use crate::{home, output};
use longhaul::{RunError, seed_of};

/// Carries out the command and returns its exit code.
pub fn seed(args: &SeedArgs) -> Result<u8, Failure> {
    let dir = home::find_run(&home::locate()?, &args.run)?;
    let seed = seed_of(&dir, args.seed_tokens).map_err(|error| failure(RunError::Refused(error)))?;
    output::print_text(&seed);
    Ok(0)
}
