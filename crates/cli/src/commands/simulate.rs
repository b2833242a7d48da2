//! `longhaul simulate`: what a policy does under faults, as distributions.

use crate::args::{Global, SimulateArgs};
use crate::failure::Failure;

/// Carries out the command and returns its exit code.
pub fn simulate(_global: &Global, _args: &SimulateArgs) -> Result<u8, Failure> {
    Err(Failure::unexpected("simulate: being built"))
}
