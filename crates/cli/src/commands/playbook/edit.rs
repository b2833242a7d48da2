//! `longhaul playbook edit`.

use crate::args::Global;
use crate::args::playbook::EditArgs;
use crate::failure::Failure;

/// Carries out the command and returns its exit code.
pub fn edit(_global: &Global, _args: &EditArgs) -> Result<u8, Failure> {
    Err(Failure::unexpected("playbook edit is not built yet"))
}
