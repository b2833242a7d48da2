//! `longhaul playbook inject`.

use crate::args::Global;
use crate::args::playbook::InjectArgs;
use crate::failure::Failure;

/// Carries out the command and returns its exit code.
pub fn inject(_global: &Global, _args: &InjectArgs) -> Result<u8, Failure> {
    Err(Failure::unexpected("playbook inject is not built yet"))
}
