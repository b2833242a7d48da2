//! `longhaul playbook show`.

use crate::args::Global;
use crate::args::playbook::ShowPlaybookArgs;
use crate::failure::Failure;

/// Carries out the command and returns its exit code.
pub fn show(_global: &Global, _args: &ShowPlaybookArgs) -> Result<u8, Failure> {
    Err(Failure::unexpected("playbook show is not built yet"))
}
