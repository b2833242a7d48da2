//! `longhaul playbook check`.

use crate::args::Global;
use crate::args::playbook::CheckArgs;
use crate::failure::Failure;

/// Carries out the command and returns its exit code.
pub fn check(_global: &Global, _args: &CheckArgs) -> Result<u8, Failure> {
    Err(Failure::unexpected("playbook check is not built yet"))
}
