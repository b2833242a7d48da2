//! `longhaul playbook status`.

use crate::args::Global;
use crate::args::playbook::PlaybookStatusArgs;
use crate::failure::Failure;

/// Carries out the command and returns its exit code.
pub fn status(_global: &Global, _args: &PlaybookStatusArgs) -> Result<u8, Failure> {
    Err(Failure::unexpected("playbook status is not built yet"))
}
