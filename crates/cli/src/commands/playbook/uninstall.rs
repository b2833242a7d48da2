//! `longhaul playbook uninstall`.

use crate::args::Global;
use crate::args::playbook::UninstallArgs;
use crate::failure::Failure;

/// Carries out the command and returns its exit code.
pub fn uninstall(_global: &Global, _args: &UninstallArgs) -> Result<u8, Failure> {
    Err(Failure::unexpected("playbook uninstall is not built yet"))
}
