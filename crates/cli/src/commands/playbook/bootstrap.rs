//! `longhaul playbook bootstrap`.

use crate::args::Global;
use crate::args::playbook::BootstrapArgs;
use crate::failure::Failure;

/// Carries out the command and returns its exit code.
pub fn bootstrap(_global: &Global, _args: &BootstrapArgs) -> Result<u8, Failure> {
    Err(Failure::unexpected("playbook bootstrap is not built yet"))
}
