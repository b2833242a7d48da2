//! `longhaul playbook install`.

use crate::args::Global;
use crate::args::playbook::InstallArgs;
use crate::failure::Failure;

/// Carries out the command and returns its exit code.
pub fn install(_global: &Global, _args: &InstallArgs) -> Result<u8, Failure> {
    Err(Failure::unexpected("playbook install is not built yet"))
}
