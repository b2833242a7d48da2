//! `longhaul playbook learn`.

use crate::args::Global;
use crate::args::playbook::LearnArgs;
use crate::failure::Failure;

/// Carries out the command and returns its exit code.
pub fn learn(_global: &Global, _args: &LearnArgs) -> Result<u8, Failure> {
    Err(Failure::unexpected("playbook learn is not built yet"))
}
